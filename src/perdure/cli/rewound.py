"""How `undo` and `checkpoint restore` say what they brought back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from perdure.cli.screen import dim, fancy, glyphs, notes, row, safe, say, tell
from perdure.cli.target import Target
from perdure.jsonable import to_jsonable
from perdure.model import RevertResult

_SHOWN: Final = 12


def show_rewound(target: Target, rewound: RevertResult, *, dry_run: bool) -> None:
    """In a pipe: reverted, removed or skipped, the number, and why it was skipped."""
    if target.json:
        target.answer(to_jsonable(rewound) | {"done": bool(rewound.batch)})
        return
    if fancy():
        _sentences(rewound, dry_run=dry_run)
    else:
        for number in rewound.reverted:
            row("reverted", number)
        for number in rewound.removed:
            row("removed", number)
        for left in rewound.skipped:
            row("skipped", left.number, left.reason)
    notes(rewound.notes)
    if rewound.batch:
        tell(dim(f"take it back: {target.hint('undo', rewound.batch)}"))
    elif dry_run:
        tell(dim("nothing was changed"))


def _sentences(rewound: RevertResult, *, dry_run: bool) -> None:
    # Not "restored": as it was may well be forgotten.
    if rewound.reverted:
        verb, was = "Would put" if dry_run else "Put", "as it was" if len(rewound.reverted) == 1 else "as they were"
        say(f"{verb} {counted(len(rewound.reverted))} back {was}: {_numbers(rewound.reverted)}")
    if rewound.removed:
        verb = "Would remove" if dry_run else "Removed"
        say(f"{verb} {counted(len(rewound.removed))}: {_numbers(rewound.removed)}")
    for left in rewound.skipped:
        say(f"Left #{left.number}: {safe(left.reason)}")


def counted(count: int) -> str:
    return "1 memory" if count == 1 else f"{count:,} memories"


def _numbers(numbers: Sequence[int]) -> str:
    shown = " ".join(f"#{number}" for number in numbers[:_SHOWN])
    return shown if len(numbers) <= _SHOWN else f"{shown} {glyphs().more}"

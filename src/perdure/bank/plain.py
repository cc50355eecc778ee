"""The plain pipeline: a block of learnings from the Markdown of a knowledge bank alone. It opens no database, asks no
model and needs nothing but the standard library, so that a session starts with its learnings whatever else is broken.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from perdure.bank.entries import CATEGORIES, CONFIDENCES, HEADINGS, TITLE, BankEntry, global_bank, local_bank, read_bank

DEFAULT_LIMIT: Final = 20
LAST_INJECTION: Final = ".last-injection.json"
# Entries of each category that come first, if there is room.
_FIRST_OF_EACH: Final = 3
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def plain_block(
    project: str | os.PathLike[str],
    folder: str | os.PathLike[str] | None = None,
    limit: int = DEFAULT_LIMIT,
    at: datetime | None = None,
) -> str:
    """The block of a session in this project; empty where there is nothing to show. `folder` is the global bank, which
    is told what was shown.
    """
    folder = global_bank() if folder is None else folder
    selected = plain_selection(project, folder, limit)
    if selected:
        note_injection(selected, Path(project), Path(folder), at)
    return render_block(selected)


def plain_selection(
    project: str | os.PathLike[str], folder: str | os.PathLike[str], limit: int = DEFAULT_LIMIT
) -> list[BankEntry]:
    """The entries that a session is shown, of the project's bank and of the global one."""
    local, shared = read_bank(local_bank(project)), read_bank(folder, is_global=True)
    return select(without_duplicates([*local.entries, *shared.entries]), limit)


def without_duplicates(entries: Iterable[BankEntry]) -> list[BankEntry]:
    """Of entries with the same description the one that was observed most often, the first of several such."""
    kept: dict[str, BankEntry] = {}
    for entry in entries:
        known = kept.get(entry.identity)
        if known is None or entry.observation_count > known.observation_count:
            kept[entry.identity] = entry
    return list(kept.values())


def select(entries: Iterable[BankEntry], limit: int) -> list[BankEntry]:
    """Pure: a few of each category where the limit allows that, then as many as fit, category by category."""
    ordered = sorted(entries, key=prominence, reverse=True)
    by_category = [[entry for entry in ordered if entry.category == name] for name in CATEGORIES]
    room = max(limit, 0)
    guaranteed = _FIRST_OF_EACH if room >= _FIRST_OF_EACH * sum(map(bool, by_category)) else 0
    first = [entry for some in by_category for entry in some[:guaranteed]]
    others = [entry for some in by_category for entry in some[guaranteed:]]
    return [*first, *others[: room - len(first)]]


def prominence(entry: BankEntry) -> tuple[int, int, float]:
    """What decides inside a category: observations, confidence, and how recent it is. A day on which an entry was last
    observed counts as a time; without one, what stands later in its file is newer.
    """
    observed = entry.observed_at
    recency = (observed - _EPOCH).total_seconds() if observed else float(entry.position)
    return entry.observation_count, CONFIDENCES.index(entry.confidence), recency


def render_block(entries: Sequence[BankEntry]) -> str:
    """Pure: each entry as it stands in its file, under the heading of its category."""
    if not entries:
        return ""
    lines = [TITLE, ""]
    for category, heading in HEADINGS.items():
        some = [entry for entry in entries if entry.category == category]
        lines += [heading] if some else []
        for entry in some:
            lines += [entry.header, *([entry.description] if entry.description else []), *entry.metadata, ""]
    return "\n".join([*lines, "---"])


def note_injection(entries: Sequence[BankEntry], project: Path, folder: Path, at: datetime | None = None) -> None:
    """Tell other tools what a session was shown last, where that can be written."""
    at = at or datetime.now(UTC)
    shared = sum(entry.is_global for entry in entries)
    told = {
        "timestamp": at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "project": project.absolute().name,
        "entries_injected": len(entries),
        "sources": {"local": len(entries) - shared, "global": shared},
        "entry_names": [entry.name for entry in entries],
    }
    with suppress(OSError, ValueError):
        folder.mkdir(parents=True, exist_ok=True)
        _put_note(folder, told)


def without_noted_names(folder: Path, names: Collection[str]) -> None:
    """Take these names out of what other tools were told, and remove what a killed process left of it."""
    for left in folder.glob(f"{LAST_INJECTION}.*"):
        left.unlink(missing_ok=True)
    path = folder / LAST_INJECTION
    told = json.loads(path.read_text(encoding="utf-8"))
    shown = [name for name in told["entry_names"] if name not in names]
    if shown != told["entry_names"] and not path.is_symlink():
        _put_note(folder, {**told, "entry_names": shown})


def _put_note(folder: Path, told: Mapping[str, object]) -> None:
    import tempfile

    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=folder, prefix=f"{LAST_INJECTION}.", delete=False
    ) as stream:
        json.dump(told, stream, indent=2)
    Path(stream.name).replace(folder / LAST_INJECTION)

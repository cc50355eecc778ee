"""`perdure capacity`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from perdure.cli.command import command, option
from perdure.cli.moments import age
from perdure.cli.screen import dim, fancy, row, safe, say
from perdure.cli.table import Column, show_table
from perdure.cli.target import Target, with_target
from perdure.clock import format_time
from perdure.jsonable import to_jsonable
from perdure.model import Capacity

_EXAMPLES = ("perdure capacity", "perdure capacity --max-items 1000", "perdure capacity --max-tokens 0 -n team")
_COLUMNS: Final = (
    Column("next to go", "bold cyan", number=True),
    Column("state"),
    Column("tier"),
    Column("importance", number=True),
    Column("tokens", number=True),
    Column("last used", "dim"),
)


@command("capacity", examples=_EXAMPLES)
@option("--max-items", type=int, metavar="COUNT", help="So many memories; 0: as the settings say.")
@option("--max-tokens", type=int, metavar="COUNT", help="So many tokens; 0: as the settings say.")
@with_target()
def main(target: Target, *, max_items: int | None, max_tokens: int | None) -> None:
    """Show how full a namespace is, and set its limits.

    A lower limit removes nothing by itself: the next write makes room. What goes is named by that write, and
    `restore` brings it back during its grace period. In a pipe each figure is one line, name and value; the memories
    that would go first follow as next, number, state, tier, importance, tokens, time of last use.
    """
    given = {name: value for name, value in (("max_items", max_items), ("max_tokens", max_tokens)) if value is not None}
    with target.memory() as memory:
        found = memory.capacity(**given)
    if target.json:
        target.answer(to_jsonable(found))
    elif fancy():
        _page(found)
    else:
        _rows(found)


def _rows(found: Capacity) -> None:
    for name in (
        "namespace", "item_count", "max_items", "tokens", "max_tokens", "token_counter", "version_count",
        "protected", "evicted_count",
    ):  # fmt: skip
        row(name, getattr(found, name))
    for name, value in found.importance_range.items():
        row(f"importance_range.{name}", f"{value:.2f}")
    for name, value in found.policy.items():
        row(f"policy.{name}", ",".join(map(str, value)) if isinstance(value, list) else value)
    for one in found.eviction_order:
        row(
            "eviction_order",
            one.number,
            one.state,
            one.tier,
            f"{one.importance:.2f}",
            one.tokens,
            format_time(one.last_used),
        )


def _page(found: Capacity) -> None:
    lines = list(_lines(found))
    wide = max(len(name) for name, _ in lines)
    for name, value in lines:
        say(f"{dim(name.ljust(wide))}  {safe(value)}")
    if found.eviction_order:
        say()
        show_table(
            _COLUMNS,
            [
                [f"#{one.number}", one.state, one.tier, f"{one.importance:.2f}", f"{one.tokens:,}", age(one.last_used)]
                for one in found.eviction_order
            ],
        )


def _lines(found: Capacity) -> Iterator[tuple[str, str]]:
    policy, importance = found.policy, found.importance_range
    yield "namespace", found.namespace
    yield "memories", _of(found.item_count, found.max_items)
    yield "tokens", f"{_of(found.tokens, found.max_tokens)}, counted by {found.token_counter}"
    yield "versions", f"{found.version_count:,}"
    yield "protected", f"{found.protected:,} (importance {policy['importance_high']} or more, critical, constitutional)"
    yield "evicted", f"{found.evicted_count:,} (kept for {policy['grace_days']} days)"
    yield "importance", ", ".join(f"{name} {value:.2f}" for name, value in importance.items())
    if policy["over"]:
        yield "full", "it holds more than it may; the next write makes room"


def _of(held: int, most: int | None) -> str:
    return f"{held:,}, no limit" if most is None else f"{held:,} of {most:,}"

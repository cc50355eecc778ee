"""`perdure stats`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from perdure.cli.command import command
from perdure.cli.moments import age
from perdure.cli.screen import dim, fancy, row, safe, say
from perdure.cli.table import Column, show_table
from perdure.cli.target import Target, with_target
from perdure.clock import format_time
from perdure.jsonable import to_jsonable
from perdure.store.port import NamespaceStats, StoreStats

_COLUMNS: Final = (
    Column("namespace", "bold cyan"),
    *(Column(name, number=True) for name in ("active", "forgotten", "other", "revisions", "no vector")),
    Column("newest", "dim"),
    Column("categories", fold=True),
)


@command("stats", examples=("perdure stats", "perdure stats --json | jq '.namespaces[].states'"))
@with_target()
def main(target: Target) -> None:
    """Count what is stored, by namespace.

    With --namespace only that one. In a pipe each figure is one line: namespace (empty for the store itself), name,
    value.
    """
    with target.memory() as memory:
        stats = memory.stats()
    shown = [one for one in stats.namespaces if not target.namespaces or one.name in target.namespaces]
    if target.json:
        target.answer(to_jsonable(stats) | {"namespaces": [to_jsonable(one) for one in shown]})
    elif fancy():
        _page(stats, shown)
    else:
        _rows(stats, shown)


def _rows(stats: StoreStats, shown: Sequence[NamespaceStats]) -> None:
    for name in ("path", "engine", "schema", "bytes"):
        row("", name, getattr(stats, name))
    for one in shown:
        for state, count in one.states.items():
            row(one.name, f"state.{state}", count)
        for category, count in one.categories.items():
            row(one.name, f"category.{category}", count)
        row(one.name, "revision_count", one.revision_count)
        row(one.name, "vectors_pending", one.vectors_pending)
        row(one.name, "oldest", one.oldest and format_time(one.oldest))
        row(one.name, "newest", one.newest and format_time(one.newest))


def _page(stats: StoreStats, shown: Sequence[NamespaceStats]) -> None:
    say(f"{dim('store')}   {safe(stats.path)}")
    say(f"{dim('engine')}  {safe(stats.engine)}, schema {stats.schema}, {_size(stats.bytes)}")
    if not shown:
        say("No memories yet.")
        return
    say()
    show_table(_COLUMNS, map(_cells, shown))


def _cells(one: NamespaceStats) -> list[str]:
    active, deleted = one.states.get("active", 0), one.states.get("deleted", 0)
    other = sum(one.states.values()) - active - deleted
    ranked = sorted(one.categories.items(), key=lambda item: (-item[1], item[0]))
    return [
        one.name,
        *(f"{count:,}" for count in (active, deleted, other, one.revision_count, one.vectors_pending)),
        age(one.newest) if one.newest else "",
        ", ".join(f"{category} {count:,}" for category, count in ranked),
    ]


def _size(count: int) -> str:
    power = min(max(count.bit_length() - 1, 0) // 10, 3)
    return f"{count / (1 << 10 * power):.{1 if power else 0}f} {('bytes', 'KiB', 'MiB', 'GiB')[power]}"

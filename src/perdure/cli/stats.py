"""`perdure stats`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from perdure.cli.command import command
from perdure.cli.common_options import Target
from perdure.cli.render import Column, Table, View
from perdure.cli.terminal import dim, safe
from perdure.cli.time_options import age
from perdure.clock import format_time
from perdure.jsonable import stats_document
from perdure.store.port import NamespaceStats, StoreStats

_COLUMNS: Final = (
    Column("namespace", "bold cyan"),
    *(Column(name, number=True) for name in ("active", "forgotten", "other", "revisions", "no vector")),
    Column("newest", "dim"),
    Column("categories", fold=True),
)


@command("stats", examples=("perdure stats", "perdure stats --json | jq '.namespaces[].states'"))
def main(target: Target) -> View:
    """Count what is stored, by namespace.

    With --namespace only that one. In a pipe each figure is one line: namespace (empty for the store itself), name,
    value.
    """
    with target.memory() as memory:
        stats = memory.stats()
    shown = [each for each in stats.namespaces if not target.namespaces or each.name in target.namespaces]
    return View(json=stats_document(stats, target.namespaces), lines=_page(stats, shown), rows=_rows(stats, shown))


def _rows(stats: StoreStats, shown: Sequence[NamespaceStats]) -> Iterator[Sequence[object]]:
    for name in ("path", "engine", "schema", "bytes"):
        yield "", name, getattr(stats, name)
    for each in shown:
        for state, count in each.states.items():
            yield each.name, f"state.{state}", count
        for category, count in each.categories.items():
            yield each.name, f"category.{category}", count
        yield each.name, "revision_count", each.revision_count
        yield each.name, "vectors_pending", each.vectors_pending
        yield each.name, "oldest", each.oldest and format_time(each.oldest)
        yield each.name, "newest", each.newest and format_time(each.newest)


def _page(stats: StoreStats, shown: Sequence[NamespaceStats]) -> Iterator[str | Table]:
    power = min(max(stats.bytes.bit_length() - 1, 0) // 10, 3)
    size = f"{stats.bytes / (1 << 10 * power):.{1 if power else 0}f} {('bytes', 'KiB', 'MiB', 'GiB')[power]}"
    yield f"{dim('store')}   {safe(stats.path)}"
    yield f"{dim('engine')}  {safe(stats.engine)}, schema {stats.schema}, {size}"
    if not shown:
        yield "No memories yet."
        return
    yield ""
    yield Table(_COLUMNS, map(_cells, shown))


def _cells(stats: NamespaceStats) -> list[str]:
    active, deleted = stats.states.get("active", 0), stats.states.get("deleted", 0)
    other = sum(stats.states.values()) - active - deleted
    ranked = sorted(stats.categories.items(), key=lambda item: (-item[1], item[0]))
    return [
        stats.name,
        *(f"{count:,}" for count in (active, deleted, other, stats.revision_count, stats.vectors_pending)),
        age(stats.newest) if stats.newest else "",
        ", ".join(f"{category} {count:,}" for category, count in ranked),
    ]

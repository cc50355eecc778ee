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


def _count(stats: NamespaceStats, *states: str) -> str:
    return f"{sum(stats.states.get(state, 0) for state in states):,}"


def _by_count(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


_COLUMNS: Final[tuple[Column[NamespaceStats], ...]] = (
    Column("namespace", lambda stats: stats.name, "bold cyan"),
    Column("active", lambda stats: _count(stats, "active"), number=True),
    Column("forgotten", lambda stats: _count(stats, "deleted"), number=True),
    Column("other", lambda stats: _count(stats, *set(stats.states) - {"active", "deleted"}), number=True),
    Column("revisions", lambda stats: f"{stats.revision_count:,}", number=True),
    Column("no vector", lambda stats: f"{stats.vectors_pending:,}", number=True),
    Column("newest", lambda stats: age(stats.newest) if stats.newest else "", "dim"),
    Column(
        "categories",
        lambda stats: ", ".join(f"{name} {count:,}" for name, count in sorted(stats.categories.items(), key=_by_count)),
        fold=True,
    ),
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
    power = min(max(stats.bytes.bit_length() - 1, 0) // 10, 3)
    size = f"{stats.bytes / (1 << 10 * power):.{1 if power else 0}f} {('bytes', 'KiB', 'MiB', 'GiB')[power]}"
    return View(
        json=stats_document(stats, target.namespaces),
        lines=[
            f"{dim('store')}   {safe(stats.path)}",
            f"{dim('engine')}  {safe(stats.engine)}, schema {stats.schema}, {size}",
            *(["", Table(_COLUMNS, shown)] if shown else ["No memories yet."]),
        ],
        rows=_rows(stats, shown),
    )


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

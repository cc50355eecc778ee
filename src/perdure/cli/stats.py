"""`perdure stats`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from perdure.cli.command import Target, command
from perdure.cli.render import Column, Table, View
from perdure.cli.terminal import dim, safe
from perdure.cli.time_options import age
from perdure.errors import NotFound
from perdure.jsonable import stats_document, to_jsonable
from perdure.store.stats import NamespaceStats, StoreStats

_MAX_NAMESPACES_NAMED: Final = 8


def _count(stats: NamespaceStats, state: str) -> str:
    return f"{stats.states.get(state, 0):,}"


def _unless_zero(number: int) -> str:
    return f"{number:,}" if number else ""


def _others(stats: NamespaceStats) -> int:
    return sum(count for state, count in stats.states.items() if state not in {"active", "deleted"})


def _categories(stats: NamespaceStats) -> str:
    ranked = sorted(stats.categories.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{category} {count:,}" for category, count in ranked)


_COLUMNS: Final[tuple[Column[NamespaceStats], ...]] = (
    Column("namespace", lambda stats: stats.name, "bold cyan"),
    Column("active", lambda stats: _count(stats, "active"), number=True),
    Column("forgotten", lambda stats: _count(stats, "deleted"), number=True),
    Column("other", lambda stats: _unless_zero(_others(stats)), number=True, optional=True),
    Column("revisions", lambda stats: f"{stats.revision_count:,}", number=True),
    Column("no vector", lambda stats: _unless_zero(stats.vectors_pending), number=True, optional=True),
    Column("newest", lambda stats: age(stats.newest) if stats.newest else "", "dim", fold=True),
    Column("categories", _categories, fold=True, optional=True),
)


@command("stats", examples=("perdure stats", "perdure stats --json | jq '.namespaces[].states'"))
def main(target: Target) -> View:
    """Count what is stored, by namespace.

    With --namespace only that one. In a pipe each figure is one line: name, value, and of a namespace its name.
    """
    with target.memory() as memory:
        stats = memory.stats()
    shown = [each for each in stats.namespaces if not target.namespaces or each.name in target.namespaces]
    if target.namespaces and not shown:
        known = ", ".join(each.name for each in stats.namespaces[:_MAX_NAMESPACES_NAMED]) or "none yet"
        raise NotFound(f"There is no namespace {target.namespaces[0]!r}.", remedy=f"Namespaces with memories: {known}.")
    power = min(max(stats.bytes.bit_length() - 1, 0) // 10, 3)
    size = f"{stats.bytes / (1 << 10 * power):.{1 if power else 0}f} {('bytes', 'KiB', 'MiB', 'GiB')[power]}"
    rows: list[Sequence[object]] = [
        ("path", stats.address),
        *((name, getattr(stats, name)) for name in ("engine", "schema", "bytes")),
    ]
    for each in shown:
        figures = {f"state.{state}": count for state, count in each.states.items()}
        figures |= {f"category.{category}": count for category, count in each.categories.items()}
        figures |= {name: getattr(each, name) for name in ("revision_count", "vectors_pending", "oldest", "newest")}
        rows += ((name, to_jsonable(value), each.name) for name, value in figures.items())
    return View(
        json=stats_document(stats, target.namespaces),
        lines=[
            f"{dim('store')}   {safe(stats.address)}",
            f"{dim('engine')}  {safe(stats.engine)}, schema {stats.schema}, {size}",
            *(f"{dim('model')}   {safe(line)}" for line in _models(stats)),
            *(["", Table(_COLUMNS, shown)] if shown else ["No memories yet."]),
        ],
        rows=rows,
    )


def _models(stats: StoreStats) -> Iterator[str]:
    """Whose vectors answer, whose are being made, and whose are left over."""
    pending = sum(each.vectors_pending for each in stats.namespaces)
    for each in sorted(stats.generations, key=lambda generation: not generation.serving):
        named = f"{each.generation.label}, {each.generation.dimensions} dimensions, {each.vectors:,} vectors"
        state = "answers" if each.serving else "in the making" if pending else "no longer used"
        yield f"{named}, {state}"
    if pending:
        yield f"{pending:,} memories wait for a vector: perdure work"

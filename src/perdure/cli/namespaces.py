"""`perdure namespaces`."""

from __future__ import annotations

from typing import Final

from perdure.cli.command import Target, command
from perdure.cli.render import Column, Table, View, empty_answer
from perdure.cli.time_options import age
from perdure.jsonable import to_jsonable
from perdure.store.stats import NamespaceStats

_COLUMNS: Final[tuple[Column[NamespaceStats], ...]] = (
    Column("namespace", lambda stats: stats.name, "bold cyan"),
    Column("memories", lambda stats: f"{stats.states.get('active', 0):,}", number=True),
    Column("newest", lambda stats: age(stats.newest) if stats.newest else "", "dim"),
)


@command("namespaces", examples=("perdure namespaces", "perdure namespaces | cut -f1"))
def main(target: Target) -> View:
    """List the namespaces of the store.

    In a pipe each namespace is one line: name, number of active memories, time of the newest one.
    """
    with target.memory() as memory:
        spaces = memory.stats().namespaces
    return View(
        json={"namespaces": to_jsonable(spaces)},
        lines=[Table(_COLUMNS, spaces)] if spaces else [],
        rows=[(each.name, each.states.get("active", 0), to_jsonable(each.newest)) for each in spaces],
        after=() if spaces else empty_answer("There is no memory here yet.", target.first_memory),
    )

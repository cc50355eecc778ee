"""A person vouches for a project, or no longer: what was imported from it is told everywhere, or in it alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from perdure.model import Record
from perdure.trusted_projects import distrust, names_of, trust
from perdure.values import value_class
from perdure.visibility import TOLD_IN, places_of

if TYPE_CHECKING:
    from perdure.memory import Memory

_PAGE = 1000


@value_class
class Vouched:
    """`project` is the folder in which it begins, `is_new` says whether it was otherwise before. `updated` memories
    have another trust now, and one undo of `batch` takes that back.
    """

    project: str
    trusted: bool
    is_new: bool
    updated: int = 0
    batch: str | None = None


def vouch(memories: list[Memory], project: str | os.PathLike[str]) -> Vouched:
    """Trust a project from now on, and what these memories hold of it already."""
    root, is_new = trust(project)
    own = set(names_of(project))

    def is_of_project(record: Record) -> bool:
        return not own.isdisjoint(places_of(record) or ())

    updated, batch = _set_trust(memories, "normal", is_of_project)
    return Vouched(str(root), trusted=True, is_new=is_new, updated=updated, batch=batch)


def vouch_no_longer(memories: list[Memory], project: str | os.PathLike[str]) -> Vouched:
    """What a person vouched for is of low trust again; what was imported since then stays as it is."""
    root, was_trusted = distrust(project)
    id, _ = names_of(project)

    def was_of_project(record: Record) -> bool:
        ids = record.metadata.get(TOLD_IN)
        return record.trust == "normal" and isinstance(ids, list) and id in ids

    updated, batch = _set_trust(memories, "low", was_of_project)
    return Vouched(str(root), trusted=False, is_new=was_trusted, updated=updated, batch=batch)


def _set_trust(memories: list[Memory], trust: str, is_meant: Callable[[Record], bool]) -> tuple[int, str | None]:
    if not memories:
        return 0, None
    count = 0
    with memories[0].batch() as batch:
        for memory in memories:
            for record in [record for record in _imported(memory) if is_meant(record)]:
                memory.update(record.number, trust=trust)
                count += 1
    return count, batch if count else None


def _imported(memory: Memory) -> Iterator[Record]:
    after: int | None = None
    while True:
        page = memory.list(limit=_PAGE, after=after, source="import")
        yield from page
        if (after := page.next) is None:
            return

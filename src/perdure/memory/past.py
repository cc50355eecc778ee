"""The verbs that look back."""

from __future__ import annotations

from datetime import datetime
from typing import Final, get_args

from perdure.clock import parse_time
from perdure.errors import NotFound, StoreDamaged, UnknownChoice, shown
from perdure.ids import MemoryId, parse_reference
from perdure.memory.core import Core, Reference
from perdure.model import Diff, Operation, Revision, Version
from perdure.store.port import LogFilter
from perdure.validation import check_int, check_single_line

MAX_LOG: Final = 1000
_MAX_VERSION: Final = 2**31
_MAX_SEQ: Final = 2**62


class Past(Core):
    def history(self, ref: Reference) -> list[Revision]:
        """Everything that ever happened to a memory, oldest first, also when it is forgotten. Of one that was erased,
        by its number or its id: what was done to it and when, without what it said.
        """
        store, reference = self._services.store, parse_reference(ref)
        try:
            return store.revisions(self._namespace, self._find(ref).number)
        except (NotFound, StoreDamaged):
            # The log may still hold what the record lost; by its number it can be read without the record.
            number = reference.number or self._erased(reference.id)
            lines = store.revisions(self._namespace, number) if number is not None else []
            if not lines:
                raise
            return lines

    def versions(self, ref: Reference) -> list[Version]:
        """The versions of a memory, oldest first: one for each time its words changed."""
        from perdure.lifecycle.versions import versions_of

        return versions_of(self.history(ref))

    def version(self, ref: Reference, n: int) -> Version:
        """One version of a memory, also of a forgotten one."""
        from perdure.lifecycle.versions import version_of

        return version_of(self.history(ref), check_int(n, "version", 1, _MAX_VERSION))

    def diff(self, ref: Reference, before: int | None = None, after: int | None = None) -> Diff:
        """What changed between two versions: by default from the one that `after` was made from, to the current."""
        from perdure.lifecycle.versions import difference

        first = None if before is None else check_int(before, "before", 1, _MAX_VERSION)
        second = None if after is None else check_int(after, "after", 1, _MAX_VERSION)
        return difference(self.history(ref), first, second)

    def log(
        self,
        *,
        batch: str | None = None,
        session: str | None = None,
        actor: str | None = None,
        operation: Operation | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        before: int | None = None,
        limit: int = 20,
    ) -> list[Revision]:
        """Who did what in this namespace, newest first. `before` is the `seq` of the last line of the page before."""
        if operation is not None and operation not in get_args(Operation):
            raise UnknownChoice(
                f"There is no operation {shown(operation)}.", remedy=f"Use one of {', '.join(get_args(Operation))}."
            )
        wanted = LogFilter(
            batch=None if batch is None else check_single_line(batch, "batch"),
            session=None if session is None else check_single_line(session, "session"),
            actor=None if actor is None else check_single_line(actor, "actor"),
            operation=operation,
            since=None if since is None else parse_time(since, "since"),
            until=None if until is None else parse_time(until, "until"),
            before=None if before is None else check_int(before, "before", 1, _MAX_SEQ),
        )
        return self._services.store.log(self._namespace, wanted, limit=check_int(limit, "limit", 1, MAX_LOG))

    def _erased(self, memory: MemoryId | None) -> int | None:
        """The number of a memory that only the log knows."""
        before: int | None = None
        while memory is not None:
            wanted = LogFilter(operation="erase", before=before)
            lines = self._services.store.log(self._namespace, wanted, limit=MAX_LOG)
            found = next((line.number for line in lines if line.memory == memory), None)
            if found is not None or len(lines) < MAX_LOG:
                return found
            before = lines[-1].seq
        return None

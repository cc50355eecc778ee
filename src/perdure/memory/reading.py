"""The verbs that read what is there now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Unpack

from perdure.draft import Filters, check_filters, check_namespaces, check_query, check_whole
from perdure.errors import NotFound, UnknownChoice
from perdure.ids import MAX_NUMBER
from perdure.memory.core import Core, Reference
from perdure.model import INDEXED_STATES, Page, Recall, Record
from perdure.store.port import StoreStats

MAX_LIMIT: Final = 100


class Reading(Core):
    def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        namespaces: Sequence[str] | None = None,
        recipe: str | None = None,
        **filters: Unpack[Filters],
    ) -> Recall:
        """The memories that answer the query best, each with its reasons. Never waits for a writer."""
        from perdure.recall.recipe import recipe_named

        parts = self._parts
        now = parts.author.clock()
        wanted = check_filters(filters, parts.settings.categories)
        if not set(wanted.states) <= set(INDEXED_STATES):
            raise UnknownChoice(
                f"Recall does not look into memories that are {', '.join(wanted.states)}.",
                remedy=f"It can look into {' and '.join(INDEXED_STATES)} ones; `list` shows all.",
            )
        found = parts.recaller().recall(
            check_query(query),
            [self._namespace] if namespaces is None else check_namespaces(namespaces),
            wanted,
            limit=check_whole(limit, "limit", 1, MAX_LIMIT),
            recipe=recipe_named(recipe or parts.settings.recipe),
            now=now,
        )
        parts.uses.recalled((hit.record for hit in found), now)
        return found

    def get(self, ref: Reference) -> Record:
        """One memory by its number, id, content hash or key."""
        record = self._find(ref)
        if record.state in {"deleted", "evicted", "expired"}:
            raise NotFound(
                f"Memory #{record.number} is {record.state}.",
                remedy=f"Bring it back with `perdure restore {record.number}`.",
            )
        self._parts.uses.accessed(record, self._parts.author.clock())
        return record

    def list(
        self, *, limit: int = 20, after: int | None = None, newest: bool = True, **filters: Unpack[Filters]
    ) -> Page:
        """Memories by number, newest first. `Page.next` is the `after` of the following page."""
        most = check_whole(limit, "limit", 1, MAX_LIMIT)
        if after is not None:
            check_whole(after, "after", 0, MAX_NUMBER)
        wanted = check_filters(filters, self._parts.settings.categories)
        records = self._parts.store.page(self._namespace, wanted, after=after, limit=most + 1, newest=newest)
        more = len(records) > most
        return Page(tuple(records[:most]), records[most - 1].number if more else None)

    def stats(self) -> StoreStats:
        """What the store holds, per namespace."""
        embedder = self._parts.embedder
        return self._parts.store.stats(embedder.generation if embedder else None)

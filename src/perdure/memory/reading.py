"""The verbs that read what is there, now or at an earlier time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, Unpack

from perdure.clock import parse_time
from perdure.errors import NotFound, UnknownChoice
from perdure.ids import MAX_NUMBER
from perdure.memory.core import Core, Reference
from perdure.model import INDEXED_STATES, Page, Recall, Record
from perdure.store.port import StoreStats
from perdure.validation import (
    Filters,
    check_bool,
    check_concepts,
    check_filters,
    check_int,
    check_namespaces,
    check_query,
)

if TYPE_CHECKING:
    from perdure.recall.recipe import Recipe

MAX_LIMIT: Final = 100
_GONE: Final = frozenset({"deleted", "evicted", "expired"})


class Reading(Core):
    def recall(  # noqa: PLR0913 - one for each thing a caller may decide
        self,
        query: str | None = None,
        *,
        concepts: Sequence[str] | None = None,
        limit: int = 10,
        namespaces: Sequence[str] | None = None,
        recipe: str | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        use_decay: bool | None = None,
        include_constitutional: bool = True,
        **filters: Unpack[Filters],
    ) -> Recall:
        """The memories that answer the query best, each with its reasons. Never waits for a writer.

        A "phrase" in quotation marks must stand in the memory word for word; a time in the query (`last week`) makes
        memories of that time count more. Each of two to five `concepts` must stand in it, too, and `Hit.concepts` says
        how often it does; without a query they are the query.

        `as_of` asks what was true at a time, of what is known now; `known_at` asks what was known at a time, in the
        words of then. Filters look at the memories as they were. An answer from the past counts as no use, shows none,
        and surfaces no constitutional memories.
        """
        found = self._recalled(
            query,
            concepts=concepts,
            limit=limit,
            namespaces=namespaces,
            recipe=recipe,
            as_of=as_of,
            known_at=known_at,
            use_decay=use_decay,
            include_constitutional=include_constitutional,
            filters=filters,
        )
        if as_of is None and known_at is None:
            self._services.usage.recalled((hit.record for hit in found), self._services.context.clock())
        return found

    def _recalled(  # noqa: PLR0913 - as recall
        self,
        query: str | None,
        *,
        concepts: Sequence[str] | None,
        limit: int,
        namespaces: Sequence[str] | None,
        recipe: str | None,
        as_of: datetime | str | None,
        known_at: datetime | str | None,
        use_decay: bool | None,
        include_constitutional: bool,
        filters: Filters,
    ) -> Recall:
        """What recall finds, before anything is counted as used."""
        from perdure.recall.query import SearchRequest

        services = self._services
        now = services.context.clock()
        true_at, known_by = _moment(as_of, "as_of"), _moment(known_at, "known_at")
        filter = check_filters(filters, services.settings.categories, true_at or known_by or now)
        if not set(filter.states) <= set(INDEXED_STATES):
            raise UnknownChoice(
                f"Recall does not look into memories that are {', '.join(filter.states)}.",
                remedy=f"It can look into {' and '.join(INDEXED_STATES)} ones; `list` shows all.",
            )
        names = [self._namespace] if namespaces is None else check_namespaces(namespaces)
        chosen = services.recipe(recipe or None)
        request = SearchRequest(
            query=None if query is None else check_query(query),
            concepts=tuple(check_concepts(concepts)),
            limit=check_int(limit, "limit", 1, MAX_LIMIT),
            namespaces=tuple(names),
            recipe=chosen,
            filter=filter,
            as_of=true_at,
            known_at=known_by,
            use_decay=_decays(chosen, asked=use_decay, usual=services.settings.decay),
            decay_exempt=tuple(services.settings.decay_exempt),
            now=now,
        )
        surfaced = check_bool(include_constitutional, "include_constitutional") and not request.is_past
        found = services.recaller().recall(request)
        always = self._constitutional(names) if surfaced else ()
        return replace(found, constitutional=always) if always else found

    def _constitutional(self, names: Sequence[str]) -> tuple[Record, ...]:
        from perdure.lifecycle.constitution import constitution

        return tuple(record for name in dict.fromkeys(names) for record in constitution(self._services, name).records)

    def get(self, ref: Reference, *, known_at: datetime | str | None = None) -> Record:
        """One memory by its number, id, content hash or key, as it is now or as it was at a time."""
        moment = _moment(known_at, "known_at")
        if moment is not None:
            return self._as_known(self._find(ref), moment)
        now = self._services.context.clock()
        record = self._present(ref, now)
        self._services.usage.accessed(record, now)
        return record

    def _present(self, ref: Reference, now: datetime) -> Record:
        record = self._find(ref)
        if record.state in _GONE:
            raise NotFound(
                f"Memory #{record.number} is {record.state}.",
                remedy=f"Bring it back with `perdure restore {record.number}`.",
            )
        if record.expires_at and record.expires_at <= now:
            raise NotFound(
                f"Memory #{record.number} expired on {record.expires_at:%Y-%m-%d}.",
                remedy=f"Bring it back with `perdure restore {record.number}`.",
            )
        return record

    def _as_known(self, record: Record, moment: datetime) -> Record:
        from perdure.recall.past import unused

        store = self._services.store
        seq = store.seq_at(self._namespace, moment)
        if record.seq > seq:
            line = store.states_at(self._namespace, [record.number], seq).get(record.number)
            if line is None or line.record is None:
                why = "was not known yet then" if line is None else "cannot be shown as it was: its text was not kept"
                raise NotFound(f"Memory #{record.number} {why}.", remedy=f"See `perdure history {record.number}`.")
            record = line.record
        expired = record.expires_at is not None and record.expires_at <= moment
        if record.state in _GONE or expired:
            raise NotFound(
                f"Memory #{record.number} was {'expired' if expired else record.state} then.",
                remedy=f"See `perdure history {record.number}`.",
            )
        return unused(record)

    def list(
        self,
        *,
        limit: int = 20,
        after: int | None = None,
        newest: bool = True,
        known_at: datetime | str | None = None,
        **filters: Unpack[Filters],
    ) -> Page:
        """Memories by number, newest first, as they are now or as they were at a time. `Page.next` is the `after` of
        the following page.
        """
        most = check_int(limit, "limit", 1, MAX_LIMIT)
        if after is not None:
            check_int(after, "after", 0, MAX_NUMBER)
        moment = _moment(known_at, "known_at")
        now = moment or self._services.context.clock()
        wanted = check_filters(filters, self._services.settings.categories, now)
        if wanted.states == ("active",):
            wanted = replace(wanted, unexpired_at=now)
        store, name = self._services.store, self._namespace
        if moment is None:
            records = store.page(name, wanted, after=after, limit=most + 1, newest=newest)
        else:
            from perdure.recall.past import page_at

            seq = store.seq_at(name, moment)
            records = page_at(store, name, wanted, seq, after=after, limit=most + 1, newest=newest)
        more = len(records) > most
        return Page(tuple(records[:most]), records[most - 1].number if more else None)

    def stats(self) -> StoreStats:
        """What the store holds, per namespace."""
        embedder = self._services.embedder
        return self._services.store.stats(embedder.generation if embedder else None)


def _moment(value: datetime | str | None, field: str) -> datetime | None:
    return None if value is None else parse_time(value, field)


def _decays(recipe: Recipe, *, asked: bool | None, usual: bool) -> bool:
    if asked is None:
        return usual
    if check_bool(asked, "use_decay") and not recipe.fades:
        raise UnknownChoice(
            f"The recipe {recipe.name} knows no decay.", remedy="Ask with recipe='tiered', or leave use_decay out."
        )
    return asked

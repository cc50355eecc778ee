"""The verb that makes one text of many memories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, Unpack

from perdure.errors import InvalidInput, InvalidReference, UnknownChoice
from perdure.ids import parse_reference
from perdure.memory.core import Core
from perdure.model import INDEXED_STATES, Filter, Record, Summary
from perdure.validation import Filters, check_filters, check_int, check_query

if TYPE_CHECKING:
    from perdure.lifecycle.summary import Material

MAX_SUMMARY_TOKENS: Final = 1_000_000

_PAGE: Final = 500
_LOOKED_AT: Final = 20_000
_FOUND: Final = 100
# Of what a search finds, the tail has little to do with the question: less than this share of the best match by
# words, and of the best by meaning.
_RELEVANT: Final = {"keyword": 0.25, "vector": 0.6}
# When there are more memories than are looked at, these are not the ones to miss.
_FIRST: Final = ("constitutional", "critical", "important")


class Summing(Core):
    def summarize(self, scope: str | None = None, *, token_limit: int = 500, **filters: Unpack[Filters]) -> Summary:
        """One text of at most `token_limit` tokens, made of the most telling sentences of all memories, or of those
        that `scope` (a question, some words, a key) and the filters find. Each line names the memory it comes from.
        """
        from perdure.lifecycle.summary import summarize

        services = self._services
        now = services.context.clock()
        limit = check_int(token_limit, "token_limit", 1, MAX_SUMMARY_TOKENS)
        wanted = check_filters(filters, services.settings.categories, now)
        if not set(wanted.states) <= set(INDEXED_STATES):
            raise UnknownChoice(
                f"A summary is not made of memories that are {', '.join(wanted.states)}.",
                remedy=f"It can be made of {' and '.join(INDEXED_STATES)} ones; `list` shows all.",
            )
        if scope is not None and not check_query(scope).strip():
            raise InvalidInput("The scope is empty.", remedy="Leave it out to summarise everything.")
        material, beyond = self._everything(wanted, now) if scope is None else (self._about(scope, wanted, now), 0)
        made = summarize(material, limit, services.tokens, now, beyond)
        services.usage.recalled(made.sources, now)
        return made

    def _everything(self, wanted: Filter, now: datetime) -> tuple[list[Material], int]:
        from perdure.lifecycle.summary import Material

        total = len(self._services.store.matching(self._namespace, wanted))
        looked_at: dict[int, Record] = {}
        for filter in _passes(wanted, everything=total <= _LOOKED_AT):
            for record in self._pages(filter):
                looked_at[record.number] = record
                if len(looked_at) == _LOOKED_AT:
                    break
        beyond = max(0, total - len(looked_at))
        return [Material(one) for one in looked_at.values() if _ordinary(one, wanted, now)], beyond

    def _pages(self, filter: Filter) -> Iterator[Record]:
        after: int | None = None
        while page := self._services.store.page(self._namespace, filter, after=after, limit=_PAGE, newest=True):
            yield from page
            after = page[-1].number

    def _about(self, scope: str, wanted: Filter, now: datetime) -> list[Material]:
        from perdure.lifecycle.summary import Material
        from perdure.recall.query import SearchRequest
        from perdure.recall.recipe import BALANCED

        request = SearchRequest(
            query=scope, namespaces=(self._namespace,), filter=wanted, limit=_FOUND, recipe=BALANCED, now=now
        )
        found = self._services.recaller().recall(request)
        best = max((hit.score for hit in found), default=0.0) or 1.0
        material = {record.number: Material(record) for record in self._named(scope) if _ordinary(record, wanted, now)}
        for hit in found:
            if any(hit.explain[name].normalised >= share for name, share in _RELEVANT.items() if name in hit.explain):
                material.setdefault(hit.record.number, Material(hit.record, hit.score / best))
        return list(material.values())

    def _named(self, scope: str) -> Sequence[Record]:
        """The memory of a key, which its own words need not repeat."""
        try:
            reference = parse_reference(scope)
        except InvalidReference:
            return ()
        return self._services.store.find(self._namespace, reference) if reference.key else ()


def _passes(wanted: Filter, *, everything: bool) -> list[Filter]:
    if everything or wanted.tier is not None:
        return [wanted]
    return [*(replace(wanted, tier=tier) for tier in _FIRST), wanted]


def _ordinary(record: Record, wanted: Filter, now: datetime) -> bool:
    """As recall: of active memories only what holds now, and what is deprecated only for those who ask for it."""
    if record.state not in wanted.states or (record.tier == "deprecated" and wanted.tier != "deprecated"):
        return False
    if wanted.states != ("active",):
        return True
    begun = record.valid_at is None or record.valid_at <= now
    return begun and not any(end is not None and end <= now for end in (record.invalid_at, record.expires_at))

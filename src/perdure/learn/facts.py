"""The facts that were learned of conversations, or told: what is known, and what was known before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from perdure.episodes.lookup import conversation_count
from perdure.ids import MemoryId, parse_reference
from perdure.learn.results import Fact
from perdure.lifecycle.lookup import list_page
from perdure.model import FACT_CATEGORIES, Record
from perdure.recall.query import SearchRequest, check_request
from perdure.recall.successors import current_facts
from perdure.visibility import is_visible, matches_filter

if TYPE_CHECKING:
    from perdure.services import Services
    from perdure.store.port import Reader
    from perdure.validation import Filters


def find_facts(
    services: Services, namespace: str, query: str | None, filters: Filters, *, limit: int, history: bool
) -> tuple[Fact, ...]:
    """Those that answer the query best, by the recipe `facts`, or without one the newest. With `history` also those
    that hold no more and that no other fact took the place of.
    """
    narrowed: Filters = {**filters, "category": filters.get("category") or FACT_CATEGORIES}
    if history:
        narrowed["states"] = ("active", "superseded")
    if query is None:
        records = list_page(services, namespace, narrowed, after=None, limit=limit, newest=True, known_at=None).records
    else:
        request = check_request(
            services, namespace, query, narrowed, limit=limit, recipe="facts", include_constitutional=False
        )
        answer = services.recaller().recall(request)
        services.usage.recalled(answer.relevant, request.now)
        with services.store.read(namespace) as reader:
            records = current_or_last(reader, request, [hit.record for hit in answer])
    with services.store.read(namespace) as reader:
        found = [
            Fact(record, len(record.evidence), tuple(earlier(reader, record)), conversation_count(reader, record))
            for record in records
        ]
    told = {record.id for fact in found for record in fact.earlier}
    return tuple(fact for fact in found if fact.record.id not in told)


def current_or_last(reader: Reader, request: SearchRequest, records: Sequence[Record]) -> list[Record]:
    """In the place of each that holds no more, what holds now and may be shown; if nothing does, itself."""
    current = current_facts(reader, [record for record in records if record.state == "superseded"])
    found: dict[MemoryId, Record] = {}
    for record in records:
        shown = [
            each
            for each in current.get(record.id, ())
            if is_visible(each, request.filter, request.now) and matches_filter(each, request.filter)
        ]
        found |= {each.id: each for each in shown or [record] if each.id not in found}
    return list(found.values())


def earlier(reader: Reader, record: Record) -> Iterator[Record]:
    """What a fact superseded, and what that superseded, the newest first."""
    known, left = {record.id}, [record]
    while left:
        found: Sequence[Record] = [
            each
            for one in left
            for id in one.supersedes
            for each in reader.find(parse_reference(id))
            if each.id not in known
        ]
        known.update(each.id for each in found)
        left = sorted(found, key=lambda each: (each.valid_at or each.created_at, each.number), reverse=True)
        yield from left

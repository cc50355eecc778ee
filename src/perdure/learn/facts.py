"""The facts that were learned of conversations, or told: what is known, and what was known before."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from perdure.episodes.lookup import conversation_count
from perdure.ids import MAX_NUMBER, MemoryId, parse_reference
from perdure.learn.people import People
from perdure.learn.results import Fact
from perdure.learn.rule_changes import names_known
from perdure.learn.rule_facts import topic_of
from perdure.lifecycle.lookup import list_page
from perdure.model import FACT_CATEGORIES, Record
from perdure.recall.query import SearchRequest, check_request
from perdure.recall.successors import current_facts
from perdure.text.preview import when
from perdure.validation import check_limit, check_single_line
from perdure.visibility import is_visible, matches_filter

if TYPE_CHECKING:
    from perdure.services import Services
    from perdure.store.port import Reader
    from perdure.validation import Filters

# Of the facts that answer a query, as many are looked at for those about one person.
MAX_FACTS_SEARCHED: Final = 1000


def find_facts(
    services: Services,
    namespace: str,
    query: str | None,
    filters: Filters,
    *,
    limit: int,
    history: bool,
    about: str | None = None,
) -> tuple[Fact, ...]:
    """Those that answer the query best, by the recipe `facts`, or without one the newest. With `history` also those
    that hold no more and that no other fact took the place of. With `about`, those of one person or thing alone, by
    category.
    """
    narrowed: Filters = {**filters, "category": filters.get("category") or FACT_CATEGORIES}
    if history:
        narrowed["states"] = ("active", "superseded")
    subject = None if about is None else check_single_line(about, "about")
    limit = check_limit(limit)
    # Whom a fact is about is known when it was read.
    read = limit if subject is None else MAX_NUMBER
    if query is None:
        records = list_page(services, namespace, narrowed, after=None, limit=read, newest=True, known_at=None).records
    else:
        request = check_request(
            services, namespace, query, narrowed, limit=min(read, MAX_FACTS_SEARCHED), recipe="facts",
            include_constitutional=False,
        )  # fmt: skip
        answer = services.recaller().recall(request)
        services.usage.recalled(answer.relevant, request.now)
        with services.store.read(namespace) as reader:
            records = current_or_last(reader, request, [hit.record for hit in answer])
    with services.store.read(namespace) as reader:
        if subject is not None:
            people = People(names_known(reader, None))
            records = facts_about(records, subject, people)
            records = (by_category(records, people) if query is None else records)[:limit]
        found = [
            Fact(record, len(record.evidence), tuple(earlier(reader, record)), conversation_count(reader, record))
            for record in records
        ]
    told = {record.id for fact in found for record in fact.earlier}
    return tuple(fact for fact in found if fact.record.id not in told)


def facts_about(records: Iterable[Record], name: str, people: People) -> list[Record]:
    """Those about a person, by whichever of their names, or about something that is theirs. What a model or a person
    wrote has no subject: it is about whom it names.
    """
    person = people.subject(name, "")
    named = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, people.names_of(person)))})(?!\w)", re.IGNORECASE)

    def is_about(record: Record) -> bool:
        topic = topic_of(record, people)
        if topic is None:
            return named.search(record.text) is not None
        owner, assisted = topic.subject.partition("'s ")[0], topic.subject.partition(" of ")[2]
        return person in {topic.subject, owner, assisted}

    return [record for record in records if is_about(record)]


def by_category(records: Sequence[Record], people: People) -> list[Record]:
    """The newest first, in each category; what fills the same slot stands together."""
    dated = sorted(records, key=lambda one: (when(one), one.number), reverse=True)
    first: dict[object, int] = {}
    for place, record in enumerate(dated):
        first.setdefault(topic_of(record, people) or record.id, place)
    order = {category: place for place, category in enumerate(FACT_CATEGORIES)}
    return sorted(dated, key=lambda one: (order.get(one.category or "", -1), first[topic_of(one, people) or one.id]))


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

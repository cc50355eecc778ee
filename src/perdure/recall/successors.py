"""What took the place of a learned fact answers in its stead.

Who asks where somebody lives means where they live now, and `moved to Tokyo` looks less like that question than `lives
in Osaka`. So a fact that holds no more passes its score on to the fact that superseded it, which also stands before the
messages that said what was true before. Those stay: they were said, and they are dated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.clock import format_time
from perdure.ids import LEARNED, MemoryId
from perdure.model import Hit, Record, Signal
from perdure.recall.near_duplicates import TOLD, LearnedWords
from perdure.text.words import terms
from perdure.visibility import is_visible, matches_filter

if TYPE_CHECKING:
    from perdure.recall.keyword_search import Key
    from perdure.recall.query import ParsedQuery, SearchRequest
    from perdure.recall.ranking import Ranked
    from perdure.store.port import Reader, Store

# So many times in a row may a fact have been superseded.
_MOST_STEPS: Final = 32
# A message that answers much better than the fact answers by something else that it said.
_NEARLY: Final = 0.75
# The share of a fact's words by which a message says it, where both are of the same moment.
_TOLD_THEN: Final = 0.5


class Successor(NamedTuple):
    """A fact that holds no more, how well it answers, and what holds instead of it."""

    before: Record
    relevance: float
    score: float
    current: Record
    namespace: int
    concepts: Mapping[str, int]


def find_successors(
    store: Store, request: SearchRequest, query: ParsedQuery, superseded: Sequence[Ranked]
) -> list[Successor]:
    """Of facts that hold no more, those that were superseded by one that may be shown, best first."""
    found: list[Successor] = []
    for namespace, name in enumerate(request.namespaces):
        ranked = {one.number: one for one in superseded if one.namespace == namespace}
        if not ranked:
            continue
        with store.read(name) as reader:
            facts = reader.fetch(list(ranked))
            current = current_facts(reader, facts)
        for fact in facts:
            if matches_rest(query, fact):
                continue
            relevance, score = ranked[fact.number].relevance, ranked[fact.number].score
            for record in current[fact.id]:
                concepts: Mapping[str, int] = query.required.counts(record) if query.required else {}
                shown = is_visible(record, request.filter, request.now) and matches_filter(record, request.filter)
                if shown and all(concepts.values()):
                    found.append(Successor(fact, relevance, score, record, namespace, concepts))
    return sorted(found, key=lambda one: -one.score)


def matches_rest(query: ParsedQuery, fact: Record) -> bool:
    """Whether the query asks for something else that the fact says: of `is 34, and has two pets` the age was
    superseded, and a question about pets is none about the age.
    """
    subject, value = fact.metadata.get("subject"), fact.metadata.get("value")
    before, found, behind = fact.text.partition(value) if isinstance(value, str) and value else (fact.text, "", "")
    if not behind:
        return False
    asked = set(query.stems).difference(terms(str(subject)))
    return len(asked.intersection(terms(behind))) > len(asked.intersection(terms(before + found)))


def current_facts(reader: Reader, facts: Iterable[Record]) -> dict[MemoryId, list[Record]]:
    """By the id of each fact: those that superseded it, or what did so, and that nothing superseded."""
    origins = {fact.id: {fact.id} for fact in facts}
    current: dict[MemoryId, list[Record]] = {fact: [] for fact in origins}
    left = origins
    for _ in range(_MOST_STEPS):
        links = reader.linked(list(left), ["supersedes"]) if left else []
        if not links:
            break
        newer = {record.id: record for record in reader.fetch([link.number for link in links])}
        following: dict[MemoryId, set[MemoryId]] = {}
        for link in links:
            record = newer.get(link.source)
            if record is None:
                continue
            for origin in left[link.target]:
                if record.state == "superseded":
                    following.setdefault(record.id, set()).add(origin)
                elif record not in current[origin]:
                    current[origin].append(record)
        left = following
    return current


def with_successors(hits: Mapping[Key, Hit], successors: Sequence[Successor]) -> dict[Key, Hit]:
    """The hits with what holds now: each at the place of what held before it, or higher, and before the messages that
    said it.
    """
    placed = dict(hits)
    for one in successors:
        key = (one.namespace, one.current.number)
        told = (hit.score for hit in hits.values() if hit.score * _NEARLY <= one.score and said(hit.record, one))
        score, own = max(one.score, *told, 0.0), placed.get(key)
        if own is not None and own.score >= score:
            continue
        gained = score - (own.score if own else 0.0)
        signal = Signal(one.score, None, gained, 1.0, gained, f"It took the place of #{one.before.number}.")
        explain = {**(own.explain if own else {}), "supersedes": signal}
        relevance = max(one.relevance, own.relevance if own else 0.0)
        placed[key] = Hit(one.current, relevance, score, explain, own.concepts if own else one.concepts)
    first = {(one.namespace, one.current.number) for one in successors}
    return dict(sorted(placed.items(), key=lambda item: (-item[1].score, item[0] not in first)))


def said(record: Record, one: Successor) -> bool:
    """Whether a message said what holds no more, before it was corrected."""
    fact, moment, corrected = one.before, record.valid_at, one.current.valid_at
    if record.source == LEARNED or moment is None or (corrected is not None and moment >= corrected):
        return False
    moments = fact.metadata.get("said_at")
    at_that_time = isinstance(moments, list) and format_time(moment) in moments
    return LearnedWords.of(record).says(LearnedWords.of(fact), _TOLD_THEN if at_that_time else TOLD)

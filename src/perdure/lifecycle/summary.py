"""One short text of many memories: their most telling sentences, word for word, each tied to its memory.

Two steps with a seam between them: `choose` says which sentences, `render` makes a text of them. Both are pure; a
language model that words a summary itself would take the place of the second.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from itertools import chain
from math import log1p
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from perdure import tiers
from perdure.errors import InvalidInput, InvalidReference
from perdure.ids import parse_reference
from perdure.model import Filter, Record, Summary
from perdure.store.paging import records
from perdure.text.sentences import sentences
from perdure.text.stopwords import STOPWORDS
from perdure.text.tokens import TokenCounter
from perdure.text.words import searchable, terms
from perdure.validation import check_filters, check_query
from perdure.visibility import is_visible

if TYPE_CHECKING:
    from perdure.services import Services

# The weight of each reason for a sentence; they add up to 1.
_IMPORTANCE: Final = 0.30
_TIER: Final = 0.20
_CONFIDENCE: Final = 0.10
_CENTRALITY: Final = 0.30
_RECENCY: Final = 0.10
# Factors: the sentence relates two things; its memory has a key; it is the first sentence of its memory.
_RELATION: Final = 1.4
_KEYED: Final = 1.2
_LEAD: Final = 1.15
# `she` means nothing without the sentence before.
_DANGLING: Final = 0.6
_PRONOUN: Final = re.compile(r"(?:he|she|it|they|this|that|these|those|his|her|its|their|there|here)\b", re.IGNORECASE)
# What a term is still worth each time it comes again; a sentence without any new term; a further sentence of a memory.
_REPEATED_TERM: Final = 0.6
_NOTHING_NEW: Final = 0.3
_SAME_MEMORY: Final = 0.8
_HALF_FRESH_DAYS: Final = 30.0

_MAX_MEMORIES: Final = 20_000
_MAX_HITS: Final = 100
# A hit belongs to the scope if it has at least this share of the best match by words, or of the best by meaning.
_RELEVANT: Final = {"keyword": 0.25, "vector": 0.6}
# When there are more memories than are looked at, those of these tiers are looked at first.
_FIRST_TIERS: Final = ("constitutional", "critical", "important")

_MAX_CHARACTERS: Final = 16_384
_MAX_SENTENCES: Final = 64
_MAX_SENTENCE: Final = 400
_MAX_MISSES: Final = 256
# A summary of fewer sentences is rendered to see whether one more fits.
_MAX_RENDERED_SENTENCES: Final = 32
_MORE: Final = "…"
_NO_GROUP: Final = "other"
_ENDED: Final = re.compile(r"[\W_]$")
_RELATIONSHIP: Final = "relationship"

Counting: TypeAlias = Callable[[str], int]


class Material(NamedTuple):
    """A memory to summarise, and how relevant it is for the scope, from 0 to 1."""

    record: Record
    relevance: float = 1.0


@dataclass(frozen=True, slots=True)
class Sentence:
    """`index` is its position in the memory, `weights` is the worth of each of its terms."""

    record: Record
    index: int
    text: str
    score: float
    weights: Mapping[str, float]


def summarize_namespace(
    services: Services, namespace: str, scope: str | None, limit: int, filters: Mapping[str, Any]
) -> Summary:
    """A summary of the memories that the scope and the filters find; its sources count as recalled."""
    now = services.context.clock()
    filter = check_filters(filters, services.settings.categories, now, refusal="A summary is not made of memories")
    if scope is not None and not check_query(scope).strip():
        raise InvalidInput("The scope is empty.", remedy="Leave it out to summarise everything.")
    material, beyond = gather(services, namespace, scope, filter, now)
    summary = summarize(material, limit, services.tokens, now, beyond)
    services.usage.recalled(summary.sources, now)
    return summary


def gather(
    services: Services, namespace: str, scope: str | None, filter: Filter, now: datetime
) -> tuple[list[Material], int]:
    """The memories to summarise: all of them, or those that the scope finds; and how many more there are."""
    store = services.store
    if scope is not None:
        named: Sequence[Record] = ()
        # The text of a memory need not repeat its key.
        with suppress(InvalidReference), store.read(namespace) as reader:
            reference = parse_reference(scope)
            named = reader.find(reference) if reference.key else ()
        material = {record.number: Material(record) for record in named if is_visible(record, filter, now)}
        hits = services.search(scope, namespace, filter, limit=_MAX_HITS, recipe="balanced")
        best = max((hit.score for hit in hits), default=0.0) or 1.0
        for hit in hits:
            if any(hit.explain[name].normalised >= share for name, share in _RELEVANT.items() if name in hit.explain):
                material.setdefault(hit.record.number, Material(hit.record, hit.score / best))
        return list(material.values()), 0
    with store.read(namespace) as reader:
        total = len(reader.numbers(filter))
    filters = [filter]
    if total > _MAX_MEMORIES and filter.tier is None:
        filters = [*(replace(filter, tier=tier) for tier in _FIRST_TIERS), filter]
    read: dict[int, Record] = {}
    for record in chain.from_iterable(records(store, namespace, each, newest=True) for each in filters):
        read[record.number] = record
        if len(read) == _MAX_MEMORIES:
            break
    return [Material(record) for record in read.values() if is_visible(record, filter, now)], max(0, total - len(read))


def summarize(
    material: Sequence[Material], limit: int, counter: TokenCounter, now: datetime, beyond: int = 0
) -> Summary:
    """`beyond` is how many more memories were in scope and not looked at."""
    count = counter.count
    ranked = rank(material, now)
    chosen = choose(ranked, limit, count)
    text = render(chosen)
    if not text and ranked:
        # Not even the best sentence fits: show as many of its words as there is room for.
        best = max(ranked, key=_order)
        for length in range(len(best.text) - 1, 0, -1):
            head = best.text[:length]
            if " " in head and best.text[length] != " ":
                continue
            line = _line(best.record, [head + _MORE])
            if count(line) <= limit:
                chosen, text = [best], line
                break
    sources = tuple({sentence.record.number: sentence.record for sentence in _by_group(chosen)}.values())
    omitted = len(material) - len(sources) + beyond
    return Summary(text, count(text) if text else 0, limit, sources, omitted, counter.name)


@cache
def stopword_terms() -> frozenset[str]:
    return frozenset(terms(" ".join(STOPWORDS)))


def telling_sentences(text: str) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """The sentences of a text, each with its position and its telling terms; of a long text the first ones."""
    stopwords = stopword_terms()
    for index, sentence in enumerate(sentences(text[:_MAX_CHARACTERS])[:_MAX_SENTENCES]):
        shown = sentence if len(sentence) <= _MAX_SENTENCE else sentence[:_MAX_SENTENCE].rstrip() + _MORE
        # A tuple keeps the order: sets of strings differ from one process to the next, and so would sums.
        telling = dict.fromkeys(term for term in terms(searchable(shown)) if term not in stopwords)
        yield index, shown, tuple(telling)


def rank(material: Iterable[Material], now: datetime) -> list[Sentence]:
    """Score every sentence: by its memory, by how central its terms are, by relations and by its position."""
    split = [(each, *sentence) for each in material for sentence in telling_sentences(each.record.text)]
    containing = Counter(term for *_, telling in split for term in telling)
    most = log1p(max(containing.values(), default=1))
    # The names that keys give to things, each as its terms, by the first of them: location:new_york under `new`.
    entities: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    for key in {each.record.key for each, *_ in split if each.record.key and not _is_relationship(each.record)}:
        if name := tuple(terms(searchable(key.partition(":")[2]))):
            entities[name[0]].add(name)
    ranked: list[Sentence] = []
    for (record, relevance), index, text, telling in split:
        # Shared terms make a sentence central; a term that no other sentence has says little about the whole.
        weights = {term: 0.25 + 0.75 * log1p(containing[term]) / most for term in telling}
        days = max(0.0, (now - (record.valid_at or record.updated_at)).total_seconds() / 86_400)
        score = (
            _IMPORTANCE * record.importance
            + _TIER * tiers.TIERS[record.tier].boost / tiers.MAX_BOOST
            + _CONFIDENCE * record.confidence
            + _CENTRALITY * (sum(weights.values()) / (len(weights) + 2))
            + _RECENCY * _HALF_FRESH_DAYS / (_HALF_FRESH_DAYS + days)
        )
        score *= relevance
        score *= _KEYED if record.key else 1.0
        named = {name for term in telling for name in entities.get(term, ()) if set(telling).issuperset(name)}
        score *= _RELATION if _is_relationship(record) or len(named) > 1 else 1.0
        if index == 0:
            score *= _LEAD
        elif _PRONOUN.match(text):
            score *= _DANGLING
        ranked.append(Sentence(record, index, text, score, weights))
    return ranked


def _is_relationship(record: Record) -> bool:
    return record.category == _RELATIONSHIP or (record.key or "").startswith(f"{_RELATIONSHIP}:")


def choose(ranked: Sequence[Sentence], limit: int, count: Counting) -> list[Sentence]:
    """The best sentences that fit, best first. A sentence counts less the more of it the chosen ones have said.

    The cost of a text is kept as a sum of parts, which is quick and mostly too high; when by that sum there is no room,
    the text is counted exactly.
    """
    ordered = sorted(ranked, key=_order, reverse=True)
    # The value of a sentence only ever shrinks, so only the first of the heap has to be valued again.
    heap = [(-sentence.score, index) for index, sentence in enumerate(ordered)]
    told_terms: Counter[str] = Counter()
    told_memories: Counter[int] = Counter()
    groups: set[str] = set()
    chosen: list[Sentence] = []
    room, exact, misses = limit, True, 0
    while heap and misses < _MAX_MISSES:
        _, index = heapq.heappop(heap)
        sentence = ordered[index]
        weights = sentence.weights
        # The share of the sentence that was not told yet, from 0 to 1.
        novelty = _SAME_MEMORY ** told_memories[sentence.record.number]
        if weights:
            new = sum(weight * _REPEATED_TERM ** told_terms[term] for term, weight in weights.items())
            novelty *= new / sum(weights.values())
            novelty *= _NOTHING_NEW if all(told_terms[term] for term in weights) else 1.0
        value = (-sentence.score * novelty, index)
        if heap and value > heap[0]:
            heapq.heappush(heap, value)
            continue
        record, group = sentence.record, _group(sentence.record)
        cost = count(sentence.text)
        cost += 0 if record.number in told_memories else count(_line(record, ()))
        cost += 0 if group in groups else count(f"{group}:\n")
        if cost > room and not exact:
            room, exact = limit - count(render(chosen)), True
        if cost > room and not (len(chosen) < _MAX_RENDERED_SENTENCES and count(render([*chosen, sentence])) <= limit):
            misses += 1
            continue
        room, exact = room - cost, False
        chosen.append(sentence)
        groups.add(group)
        told_terms.update(weights.keys())
        told_memories[record.number] += 1
    while chosen and count(render(chosen)) > limit:
        del chosen[-max(1, len(chosen) // 8) :]
    return chosen


def render(chosen: Sequence[Sentence]) -> str:
    """A readable text: grouped by the type of the key or the category, a line per memory with its date and number.

    No text of a memory can begin a line, so none can pass for a heading or for an instruction.
    """
    by_memory: dict[int, list[Sentence]] = {}
    for sentence in _by_group(chosen):
        by_memory.setdefault(sentence.record.number, []).append(sentence)
    groups: dict[str, list[str]] = {}
    for told in by_memory.values():
        record = told[0].record
        groups.setdefault(_group(record), []).append(_line(record, [sentence.text for sentence in told]))
    if list(groups) == [_NO_GROUP]:
        return "\n".join(groups[_NO_GROUP])
    return "\n".join(line for name, lines in groups.items() for line in (f"{name}:", *lines))


def _by_group(chosen: Sequence[Sentence]) -> list[Sentence]:
    """Groups in the order of their best sentence, sentences without a group last; inside a group by key and memory."""
    names = list(dict.fromkeys(_group(sentence.record) for sentence in chosen))
    order = {name: (name == _NO_GROUP, index) for index, name in enumerate(names)}
    return sorted(
        chosen, key=lambda one: (order[_group(one.record)], one.record.key or "", one.record.number, one.index)
    )


def _group(record: Record) -> str:
    return record.key.partition(":")[0] if record.key else record.category or _NO_GROUP


def _line(record: Record, texts: Sequence[str]) -> str:
    when = record.valid_at
    date = f"{when.day} {when:%B %Y}: " if when else ""
    earlier = "".join(f"{text} " if _ENDED.search(text) else f"{text}; " for text in texts[:-1])
    return f"- {date}{earlier}{''.join(texts[-1:])} (#{record.number})"


def _order(sentence: Sentence) -> tuple[float, int, int]:
    return sentence.score, -sentence.record.number, -sentence.index

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
from math import log1p
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from perdure import tiers
from perdure.errors import InvalidReference
from perdure.ids import parse_reference
from perdure.model import Filter, Record, Summary
from perdure.store.paging import records
from perdure.text.sentences import sentences
from perdure.text.stopwords import STOPWORDS
from perdure.text.tokens import TokenCounter
from perdure.text.words import searchable, terms
from perdure.visibility import is_visible

if TYPE_CHECKING:
    from perdure.services import Services

# How much each reason counts for a sentence; they add up to 1.
_IMPORTANCE: Final = 0.30
_TIER: Final = 0.20
_CONFIDENCE: Final = 0.10
_CENTRALITY: Final = 0.30
_RECENCY: Final = 0.10
# And what lifts it above its like: it says how two things relate; somebody gave it a key; its memory begins with it.
_RELATION: Final = 1.4
_KEYED: Final = 1.2
_LEAD: Final = 1.15
# What speaks against it: nobody knows who `she` is without the sentence before.
_DANGLING: Final = 0.6
_DANGLES: Final = re.compile(r"(?:he|she|it|they|this|that|these|those|his|her|its|their|there|here)\b", re.IGNORECASE)
# What a term that the summary has already is still worth, each time it comes again, and a sentence of such terms only.
_AGAIN: Final = 0.6
_NOTHING_NEW: Final = 0.3
# And a further sentence of a memory that spoke already.
_SAME: Final = 0.8
_HALF_FRESH_DAYS: Final = 30.0

_MOST_MEMORIES: Final = 20_000
_MOST_HITS: Final = 100
# A hit belongs to the scope if it has at least this share of the best match by words, or of the best by meaning.
_RELEVANT: Final = {"keyword": 0.25, "vector": 0.6}
# When there are more memories than are looked at, those of these tiers are looked at first.
_FIRST_TIERS: Final = ("constitutional", "critical", "important")

_LOOKED_AT: Final = 16_384
_SENTENCES_EACH: Final = 64
_LONGEST: Final = 400
_MISSES: Final = 256
# A summary of so few sentences is rendered to see whether one more fits.
_FEW: Final = 32
_MORE: Final = "…"
_OTHER: Final = "other"
_ENDED: Final = re.compile(r"[\W_]$")
_RELATIONSHIP: Final = "relationship"

Counting: TypeAlias = Callable[[str], int]


class Material(NamedTuple):
    """A memory to summarise, and how much it has to do with the scope, from 0 to 1."""

    record: Record
    relevance: float = 1.0


@dataclass(frozen=True, slots=True)
class Sentence:
    """`place` is its position in the memory, `weights` what each of its terms is worth."""

    record: Record
    place: int
    text: str
    score: float
    weights: Mapping[str, float]


class _Raw(NamedTuple):
    material: Material
    place: int
    text: str
    terms: tuple[str, ...]


def summarize(
    material: Sequence[Material], limit: int, counter: TokenCounter, now: datetime, beyond: int = 0
) -> Summary:
    """`beyond` is how many more memories were in scope and not looked at."""
    ranked = rank(material, now)
    chosen = choose(ranked, limit, counter.count)
    text = render(chosen)
    if not text and ranked:
        chosen, text = _cut_to_fit(max(ranked, key=_order), limit, counter.count)
    sources = tuple({one.record.number: one.record for one in _by_group(chosen)}.values())
    left_out = len(material) - len(sources) + beyond
    return Summary(text, counter.count(text) if text else 0, limit, sources, left_out, counter.name)


def rank(material: Iterable[Material], now: datetime) -> list[Sentence]:
    """Every sentence with what speaks for it: its memory's standing, how central its words are, relations, position."""
    raw = [one for each in material for one in _raw(each)]
    holding = Counter(term for one in raw for term in one.terms)
    entities = _entities(one.material.record for one in raw)
    most = log1p(max(holding.values(), default=1))
    return [_scored(one, holding, most, entities, now) for one in raw]


def _raw(material: Material) -> Iterator[_Raw]:
    found = sentences(material.record.text[:_LOOKED_AT])[:_SENTENCES_EACH]
    for place, text in enumerate(found):
        shown = text if len(text) <= _LONGEST else text[:_LONGEST].rstrip() + _MORE
        # As a tuple in their own order: sets of strings differ from one process to the next, and so would sums.
        telling = dict.fromkeys(term for term in terms(searchable(shown)) if term not in _empty_words())
        yield _Raw(material, place, shown, tuple(telling))


@cache
def _empty_words() -> frozenset[str]:
    return frozenset(terms(" ".join(STOPWORDS)))


def _entities(records: Iterable[Record]) -> Mapping[str, frozenset[tuple[str, ...]]]:
    """The names that keys give to things, each as its terms, found by the first of them: location:new_york as new."""
    found: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    for key in {record.key for record in records if record.key and not _relates(record)}:
        name = tuple(terms(searchable(key.partition(":")[2])))
        if name:
            found[name[0]].add(name)
    return {first: frozenset(names) for first, names in found.items()}


def _scored(
    raw: _Raw,
    holding: Mapping[str, int],
    most: float,
    entities: Mapping[str, frozenset[tuple[str, ...]]],
    now: datetime,
) -> Sentence:
    record, relevance = raw.material
    # Shared terms make a sentence central; one that nothing else mentions says little about the whole.
    weights = {term: 0.25 + 0.75 * log1p(holding[term]) / most for term in raw.terms}
    centrality = sum(weights.values()) / (len(weights) + 2)
    days = max(0.0, (now - (record.valid_at or record.updated_at)).total_seconds() / 86_400)
    score = (
        _IMPORTANCE * record.importance
        + _TIER * tiers.boost(record.tier) / tiers.MAX_BOOST
        + _CONFIDENCE * record.confidence
        + _CENTRALITY * centrality
        + _RECENCY * _HALF_FRESH_DAYS / (_HALF_FRESH_DAYS + days)
    )
    score *= relevance
    if record.key:
        score *= _KEYED
    if _relates(record) or _names_two(raw.terms, entities):
        score *= _RELATION
    if raw.place == 0:
        score *= _LEAD
    elif _DANGLES.match(raw.text):
        score *= _DANGLING
    return Sentence(record, raw.place, raw.text, score, weights)


def _relates(record: Record) -> bool:
    return record.category == _RELATIONSHIP or (record.key or "").startswith(f"{_RELATIONSHIP}:")


def _names_two(found: tuple[str, ...], entities: Mapping[str, frozenset[tuple[str, ...]]]) -> bool:
    held = set(found)
    named = {name for term in found for name in entities.get(term, ()) if held.issuperset(name)}
    return len(named) > 1


def choose(ranked: Sequence[Sentence], limit: int, count: Counting) -> list[Sentence]:
    """The best sentences that fit, best first; each counts less the more of it was said by those before it."""
    waiting, filled = _Waiting(ranked), _Filled(limit, count)
    misses = 0
    while waiting and misses < _MISSES:
        place = waiting.best()
        if filled.take(waiting[place]):
            waiting.say(place)
        else:
            misses += 1
    return filled.within()


class _Waiting:
    """Sentences by what they would add now. What one adds only ever shrinks, so only the best has to be looked at."""

    def __init__(self, ranked: Sequence[Sentence]) -> None:
        self._ranked = sorted(ranked, key=_order, reverse=True)
        # The second entry decides between equals, and says which one it is.
        self._heap = [(-one.score, place) for place, one in enumerate(self._ranked)]
        self._said: Counter[str] = Counter()
        self._spoke: Counter[int] = Counter()

    def __bool__(self) -> bool:
        return bool(self._heap)

    def best(self) -> int:
        while True:
            _, place = heapq.heappop(self._heap)
            now = (self._adds(place), place)
            if not self._heap or now <= self._heap[0]:
                return place
            heapq.heappush(self._heap, now)

    def __getitem__(self, place: int) -> Sentence:
        return self._ranked[place]

    def say(self, place: int) -> None:
        self._said.update(self._ranked[place].weights.keys())
        self._spoke[self._ranked[place].record.number] += 1

    def _adds(self, place: int) -> float:
        """Its score, for the share of it that was not said yet; negative, because the heap's first is its lowest."""
        sentence = self._ranked[place]
        new = _SAME ** self._spoke[sentence.record.number]
        if sentence.weights:
            again = sum(weight * _AGAIN ** self._said[term] for term, weight in sentence.weights.items())
            new *= again / sum(sentence.weights.values())
            new *= _NOTHING_NEW if all(self._said[term] for term in sentence.weights) else 1.0
        return -sentence.score * new


class _Filled:
    """What was taken so far. Its cost is a sum of parts, which is quick and mostly too high; it is counted exactly
    when by that sum there is no room left.
    """

    def __init__(self, limit: int, count: Counting) -> None:
        self._limit = limit
        self._count = count
        self._room = limit
        self._exact = True
        self._chosen: list[Sentence] = []
        self._lines: set[int] = set()
        self._groups: set[str] = set()

    def take(self, sentence: Sentence) -> bool:
        record, group = sentence.record, _group(sentence.record)
        cost = self._count(sentence.text)
        cost += 0 if record.number in self._lines else self._count(_line(record, ()))
        cost += 0 if group in self._groups else self._count(f"{group}:\n")
        if cost > self._room and not self._fits(sentence, cost):
            return False
        self._room -= cost
        self._exact = False
        self._chosen.append(sentence)
        self._lines.add(record.number)
        self._groups.add(group)
        return True

    def _fits(self, sentence: Sentence, cost: int) -> bool:
        if not self._exact:
            self._room = self._limit - self._count(render(self._chosen))
            self._exact = True
        few = len(self._chosen) < _FEW
        return cost <= self._room or (few and self._count(render([*self._chosen, sentence])) <= self._limit)

    def within(self) -> list[Sentence]:
        """Whatever the sum said: a text over the limit is never given away."""
        while self._chosen and self._count(render(self._chosen)) > self._limit:
            del self._chosen[-max(1, len(self._chosen) // 8) :]
        return self._chosen


def render(chosen: Sequence[Sentence]) -> str:
    """Readable: grouped by the type of the key or the category, one line for each memory, with its date and number.

    No text of a memory can begin a line, so none can pass for a heading or for an instruction.
    """
    groups: dict[str, list[str]] = {}
    spoken: dict[int, list[Sentence]] = {}
    for one in _by_group(chosen):
        spoken.setdefault(one.record.number, []).append(one)
    for said in spoken.values():
        record = said[0].record
        groups.setdefault(_group(record), []).append(_line(record, [one.text for one in said]))
    if list(groups) == [_OTHER]:
        return "\n".join(groups[_OTHER])
    return "\n".join(line for name, lines in groups.items() for line in (f"{name}:", *lines))


def _by_group(chosen: Sequence[Sentence]) -> list[Sentence]:
    """Groups as their best sentence ranks, what has no group last; inside one by key, memory and place."""
    groups = list(dict.fromkeys(_group(one.record) for one in chosen))
    order = {name: (name == _OTHER, place) for place, name in enumerate(groups)}
    return sorted(
        chosen, key=lambda one: (order[_group(one.record)], one.record.key or "", one.record.number, one.place)
    )


def _group(record: Record) -> str:
    return record.key.partition(":")[0] if record.key else record.category or _OTHER


def _line(record: Record, said: Sequence[str]) -> str:
    when = record.valid_at
    date = f"{when.day} {when:%B %Y}: " if when else ""
    spoken = " ".join(text if _ENDED.search(text) else f"{text};" for text in said[:-1])
    return f"- {date}{f'{spoken} ' if spoken else ''}{''.join(said[-1:])} (#{record.number})"


def _order(sentence: Sentence) -> tuple[float, int, int]:
    return sentence.score, -sentence.record.number, -sentence.place


def _cut_to_fit(best: Sentence, limit: int, count: Counting) -> tuple[list[Sentence], str]:
    """As much of the best sentence as there is room for; nothing when there is none for a word of it."""
    for length in range(len(best.text) - 1, 0, -1):
        head = best.text[:length]
        if " " in head and best.text[length] != " ":
            continue
        text = _line(best.record, [head + _MORE])
        if count(text) <= limit:
            return [best], text
    return [], ""


def gather(
    services: Services, namespace: str, scope: str | None, filter: Filter, now: datetime
) -> tuple[list[Material], int]:
    """The memories to summarise: all of them, or those that the scope finds; and how many more there are."""
    if scope is not None:
        return _about(services, namespace, scope, filter, now), 0
    store = services.store
    with store.read(namespace) as reader:
        total = len(reader.numbers(filter))
    filters = [filter]
    if total > _MOST_MEMORIES and filter.tier is None:
        filters = [*(replace(filter, tier=tier) for tier in _FIRST_TIERS), filter]
    looked_at: dict[int, Record] = {}
    for each in filters:
        for record in records(store, namespace, each, newest=True):
            looked_at[record.number] = record
            if len(looked_at) == _MOST_MEMORIES:
                break
    material = [Material(record) for record in looked_at.values() if is_visible(record, filter, now)]
    return material, max(0, total - len(looked_at))


def _about(services: Services, namespace: str, scope: str, filter: Filter, now: datetime) -> list[Material]:
    """The memories that recall finds for the scope; and the memory of a key, whose own words need not repeat it."""
    hits = services.search(scope, namespace, filter, limit=_MOST_HITS, recipe="balanced")
    best = max((hit.score for hit in hits), default=0.0) or 1.0
    named: Sequence[Record] = ()
    with suppress(InvalidReference), services.store.read(namespace) as reader:
        reference = parse_reference(scope)
        named = reader.find(reference) if reference.key else ()
    material = {record.number: Material(record) for record in named if is_visible(record, filter, now)}
    for hit in hits:
        if any(hit.explain[name].normalised >= share for name, share in _RELEVANT.items() if name in hit.explain):
            material.setdefault(hit.record.number, Material(hit.record, hit.score / best))
    return list(material.values())

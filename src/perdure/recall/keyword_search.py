"""Search without an index in memory and without numpy: keyword candidates from disk, weighed by their records.

A process that asks once, by words alone, need not read a whole namespace. The signals are those of the index.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from perdure.clock import to_micros
from perdure.ids import LEARNED
from perdure.model import Filter, Record
from perdure.recall.query import MOST_SUPERSEDED, OUT_OF_TIME, ParsedQuery, SearchRequest, meeting_requirements
from perdure.recall.ranking import EndedFacts, Explanation, Ranked
from perdure.recall.recipe import MOST_SCORED
from perdure.recall.relevance import (
    REQUIRED,
    UNASKED,
    about_the_rest,
    evidence_by_words,
    evidence_of_sentence,
    relevance,
    word_worths,
)
from perdure.recall.signals import (
    RecordFeatures,
    SignalColumn,
    effective_weights,
    explain,
    forgotten,
    rounded,
    total_of,
    weigh,
)
from perdure.recall.timeline import time_evidence, with_time
from perdure.store.paging import records
from perdure.store.port import Store
from perdure.text.bm25 import WordCounts
from perdure.text.entry import unpack_terms
from perdure.text.preview import when
from perdure.tiers import believed_observations
from perdure.values import replace
from perdure.visibility import is_visible

if TYPE_CHECKING:
    from perdure.text.time_expressions import TimeRange

# The position of a namespace among those asked, and the number of a memory in it.
Key: TypeAlias = tuple[int, int]


def search_disk(
    store: Store, request: SearchRequest, query: ParsedQuery, unreadable: Collection[Key] = ()
) -> tuple[list[Ranked], EndedFacts, tuple[str, ...]]:
    """The best memories by words that fit, best first, or the nearest if none does; the best of the learned facts that
    hold no more; and notes. IndexDamaged when the words cannot be looked up on disk.
    """
    asked, counts = query, None
    if len(request.namespaces) > 1 or query.is_long:
        counts = counted_words(store, request, query)
        query = query.rarest(counts) if query.is_long else query
    recipe = request.recipe
    count = max(request.candidates, MOST_SCORED) if recipe.prominence_weight else request.candidates
    other_signals = recipe.weights.keys() - {"keyword", "vector"}
    needs_records = other_signals or recipe.forgets or recipe.balances or query.time_ranges
    scores: dict[Key, float] = {}
    held: dict[Key, bytes] = {}
    fetched: dict[Key, Record] = {}
    notes: dict[str, None] = {}
    superseded: set[Key] = set()
    for namespace, name in enumerate(request.namespaces):
        with store.read(name) as reader:
            filter, required = request.filter, query.required
            if required:
                numbers, complete = reader.numbers_with_all(required.words)
                if not complete:
                    notes[OUT_OF_TIME] = None
                    continue
                if not required.decided_by_words:
                    # Only so many are looked at: none of them should be one that the filter leaves out anyway.
                    numbers = reader.numbers(replace(filter, numbers=tuple(numbers)))
                meeting, noted = meeting_requirements(required, numbers, reader.fetch)
                notes |= dict.fromkeys(noted)
                filter = replace(filter, numbers=tuple(meeting))
            searches = [reader.keyword_search(query.words, filter, request.now, count, counts)]
            searches += (
                reader.keyword_search(query.words, narrowed, request.now, request.shortlist, counts)
                for narrowed in inside(filter, query.time_ranges)
            )
            if request.looks_back and (past := reader.numbers(superseded_facts(filter))):
                narrowed = replace(superseded_facts(filter), numbers=tuple(past))
                searches.append(reader.keyword_search(query.words, narrowed, request.now, MOST_SUPERSEDED, counts))
                superseded |= {(namespace, one.number) for one in searches[-1].best}
            if not all(search.complete for search in searches):
                notes[OUT_OF_TIME] = None
            counts = counts or searches[0].counts
            best = {(namespace, one.number): one for search in searches for one in search.best}
            found = {key: one.score for key, one in best.items() if key not in unreadable}
            held |= {key: one.terms for key, one in best.items()}
            if needs_records:
                fetched |= {(namespace, record.number): record for record in reader.fetch([key[1] for key in found])}
                found = {key: score for key, score in found.items() if key in fetched}
            scores |= found
    if counts is None or not scores:
        return [], EndedFacts(), tuple(notes)
    wider = replace(request, limit=request.limit + len(superseded)) if superseded else request
    evidence = WordEvidence(asked, scores, held, counts)
    ranked = fitting(wider, rank_records(request, query, scores, fetched, evidence), evidence, fetched)
    if not superseded:
        return ranked, EndedFacts(), tuple(notes)
    current = [one for one in ranked if (one.namespace, one.number) not in superseded]
    ended = [one for one in ranked if (one.namespace, one.number) in superseded]
    return current, EndedFacts(ended), tuple(notes)


def superseded_facts(filter: Filter) -> Filter:
    """The learned facts that hold no more and otherwise pass a filter."""
    return replace(filter, states=("superseded",), sources=(LEARNED,))


def counted_words(store: Store, request: SearchRequest, query: ParsedQuery) -> WordCounts:
    """How many memories of all the namespaces hold each word of the query."""
    counted: list[WordCounts] = []
    for name in request.namespaces:
        with store.read(name) as reader:
            counted.append(reader.word_counts(query.words))
    return WordCounts.together(counted)


class WordEvidence:
    """What the words alone say for each memory that was found by them. `held`: the terms of each."""

    def __init__(
        self, query: ParsedQuery, scores: Mapping[Key, float], held: Mapping[Key, bytes], counts: WordCounts
    ) -> None:
        self._query = query.content if query.time_ranges else query
        self._times, self._scores, self._held = query, scores, held
        self._memories, self._worths = counts.documents, word_worths(counts, self._query)
        best = max(scores, key=lambda key: scores[key])
        self._top, self._best = scores[best], self._coverages(best)[0]

    def columns(self, key: Key, record: Record | None) -> dict[str, SignalColumn]:
        """In log-odds, as for a memory without a vector in an index."""
        coverage, *of_sentences = self._coverages(key)
        # A word of the time, which stands in the date of a memory, says no more than the time itself.
        of_best = rounded(self._scores[key] / self._top) if coverage > 0 or not self._times.time_ranges else 0.0
        share = (coverage + self._best * of_best) / 2
        nothing = evidence_by_words(0.0)
        columns = {
            "prior": SignalColumn(self._memories, 1.0, nothing),
            "keyword": SignalColumn(self._scores[key], share, evidence_by_words(1.0) - nothing),
        }
        if of_sentences:
            by_sentence = float(evidence_of_sentence(max(of_sentences), self._memories))
            more = max(by_sentence - float(total_of(columns)), 0.0)
            columns["sentence"] = SignalColumn(more, more, 1.0, optional=True)
        if self._times.time_ranges and record is not None:
            about = about_the_rest(total_of(columns), coverage)
            columns["time"] = time_evidence(to_micros(when(record)), self._times, about)
        return columns

    def relevance(self, columns: Mapping[str, SignalColumn]) -> float:
        fit = float(relevance(total_of(columns)))
        return max(fit, REQUIRED) if self._query.required else fit

    def _coverages(self, key: Key) -> list[float]:
        """What the words that a memory holds are worth of all that is asked, then of each sentence and of the codes."""
        shares = share_held(unpack_terms(self._held[key]), self._query)
        products = (zip(shares, each, strict=True) for each in self._worths)
        return [min(math.fsum(share * worth for share, worth in pairs), 1.0) for pairs in products]


def fitting(
    request: SearchRequest, ranked: Iterator[Ranked], evidence: WordEvidence, fetched: Mapping[Key, Record]
) -> list[Ranked]:
    """The candidates with their relevance, those that fit alone, as many as the answer needs; where none does, the one
    that comes nearest.
    """
    looked_at: list[Ranked] = []
    missing = math.inf if request.recipe.balances else request.limit
    for one in ranked:
        key = (one.namespace, one.number)
        fit = one.relevance or evidence.relevance(evidence.columns(key, fetched.get(key)))
        looked_at.append(one._replace(relevance=fit))
        missing -= fit >= request.min_relevance
        if not missing:
            break
    nearest = max(looked_at, key=lambda one: one.relevance, default=None)
    least = min(request.min_relevance, nearest.relevance) if nearest else 0.0
    return [one for one in looked_at if one.relevance >= least]


def share_held(held: Collection[int], query: ParsedQuery) -> list[float]:
    """How much of each term a memory holds: 1, or the share of its parts."""
    shares: list[float] = []
    for term in query.terms:
        parts = query.parts.get(term, ())
        apart = sum(part in held for part in parts) / len(parts) if parts else 0.0
        shares.append(1.0 if term in held else apart)
    return shares


def inside(filter: Filter, ranges: Iterable[TimeRange]) -> Iterator[Filter]:
    """The filter narrowed to each of the times, as far as it leaves anything of it."""
    for span in ranges:
        since = max((moment for moment in (filter.since, span.since) if moment), default=None)
        until = min((moment for moment in (filter.until, span.until) if moment), default=None)
        if since is None or until is None or since < until:
            yield replace(filter, since=since, until=until)


def browse_disk(store: Store, request: SearchRequest, query: ParsedQuery) -> list[Ranked]:
    """Every memory that may be shown, ordered by what its record says."""
    shown = {
        (namespace, record.number): record
        for namespace, name in enumerate(request.namespaces)
        for record in records(store, name, request.filter)
        if is_visible(record, request.filter, request.now)
    }
    relevance = 0.0 if query.text else UNASKED
    return [one._replace(relevance=relevance) for one in rank_records(request, query, {}, shown)]


def rank_records(
    request: SearchRequest,
    query: ParsedQuery,
    scores: Mapping[Key, float],
    fetched: Mapping[Key, Record],
    evidence: WordEvidence | None = None,
) -> Iterator[Ranked]:
    """Candidates by their keyword scores and records, best first; of equal ones the newer, then the one in the
    namespace named first. Without scores, nothing was asked by words, and there is no evidence.
    """
    recipe = request.recipe
    weights = effective_weights(recipe, keyword=bool(scores), vector=False)
    counts = [(record.trust == "low", believed_observations(record)) for record in fetched.values()]
    # Counts of low trust make no other memory count less.
    own, every = max((count for low, count in counts if not low), default=1), max((n for _, n in counts), default=1)
    by_words = sorted(scores, key=lambda key: (-scores[key], -key[1], key[0]))
    scored: list[tuple[float, int, int, dict[str, SignalColumn], str | None, float]] = []
    for position, key in enumerate(by_words or fetched, 1):
        record, columns, fit = fetched.get(key), dict[str, SignalColumn](), 0.0
        category = record.category if record else None
        if evidence is not None and recipe.fusion == "evidence":
            found = evidence.columns(key, record)
            found["keyword"] = found["keyword"]._replace(rank=position)
            fit = evidence.relevance(found)
            if recipe.is_relevance:
                scored.append((-fit, -key[1], key[0], found, category, fit))
                continue
            columns["relevance"] = SignalColumn(fit, fit, recipe.scale * (weights["keyword"] + weights["vector"]))
        elif by_words:
            share = scores[key] / scores[by_words[0]]
            if recipe.fusion == "rank":
                share = (recipe.rank_constant + 1) / (recipe.rank_constant + position)
            weight = recipe.scale * weights["keyword"]
            columns["keyword"] = SignalColumn(scores[key], rounded(share), weight, position)
        if record is not None:
            most_observed = max(every if record.trust == "low" else own, 1)
            features = RecordFeatures.of(record, request.now, most_observed, query.stems)
            columns |= weigh(request, weights, features)
            if recipe.forgets:
                columns["forgotten"] = forgotten(total_of(columns), features, request)
        total = float(total_of(columns))
        if not total > 0:
            continue
        if record is not None and query.time_ranges:
            columns = with_time(columns, to_micros(when(record)), query, recipe)
            total = float(total_of(columns))
        scored.append((-total, -key[1], key[0], columns, category, fit))
    for total, number, namespace, columns, category, fit in sorted(scored, key=lambda one: one[:3]):
        explanation = Explanation(partial(explain, columns))
        yield Ranked(namespace, -number, -total, explanation, category, fit, by_words=bool(by_words))

"""Search without an index in memory and without numpy: keyword candidates from disk, weighed by their records.

A process that asks once, by words alone, need not read a whole namespace. The signals are those of the index.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final, TypeAlias

from perdure.clock import to_micros
from perdure.model import Record
from perdure.recall.query import ParsedQuery, SearchRequest, meeting_requirements
from perdure.recall.ranking import Explanation, Ranked
from perdure.recall.recipe import MOST_SCORED
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
from perdure.store.port import Reader, Store
from perdure.text.bm25 import WordCounts
from perdure.visibility import is_visible

# The position of a namespace among those asked, and the number of a memory in it.
Key: TypeAlias = tuple[int, int]

OUT_OF_TIME: Final = "The search took too long and was cut short. Ask with fewer or rarer words."

_PAGE: Final = 1024


def search_disk(
    store: Store, request: SearchRequest, query: ParsedQuery, unreadable: Collection[Key] = ()
) -> tuple[list[Ranked], tuple[str, ...]]:
    """The best memories by words, and notes. IndexDamaged when the words cannot be looked up on disk."""
    counts = None
    if len(request.namespaces) > 1:
        counted: list[WordCounts] = []
        for name in request.namespaces:
            with store.read(name) as reader:
                counted.append(reader.word_counts(query.words))
        counts = WordCounts.together(counted)
    count = max(request.candidates, MOST_SCORED) if request.recipe.prominence_weight else request.candidates
    scores: dict[Key, float] = {}
    records: dict[Key, Record] = {}
    notes: dict[str, None] = {}
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
            best, complete = reader.keyword_search(query.words, filter, request.now, count, counts)
            if not complete:
                notes[OUT_OF_TIME] = None
            found = {(namespace, number): score for number, score in best if (namespace, number) not in unreadable}
            if needs_records(request, query):
                fetched = reader.fetch([number for _, number in found])
                records |= {(namespace, record.number): record for record in fetched}
                found = {key: score for key, score in found.items() if key in records}
            scores |= found
    return rank_records(request, query, scores, records), tuple(notes)


def browse_disk(store: Store, request: SearchRequest, query: ParsedQuery) -> list[Ranked]:
    """Every memory that may be shown, ordered by what its record says."""

    def pages(reader: Reader) -> Iterator[Record]:
        after = None
        while page := reader.page(request.filter, after=after, limit=_PAGE, newest=False):
            yield from page
            after = page[-1].number

    records: dict[Key, Record] = {}
    for namespace, name in enumerate(request.namespaces):
        with store.read(name) as reader:
            shown = (record for record in pages(reader) if is_visible(record, request.filter, request.now))
            records |= {(namespace, record.number): record for record in shown}
    return rank_records(request, query, {}, records)


def needs_records(request: SearchRequest, query: ParsedQuery) -> bool:
    """Whether a score depends on more than words."""
    recipe = request.recipe
    signals = recipe.weights.keys() - {"keyword", "vector"}
    return bool(signals or recipe.forgets or recipe.balances or query.time_ranges)


def rank_records(
    request: SearchRequest, query: ParsedQuery, scores: Mapping[Key, float], records: Mapping[Key, Record]
) -> list[Ranked]:
    """Candidates by their keyword scores and records, best first. Without scores, nothing was asked by words."""
    recipe = request.recipe
    weights = effective_weights(recipe, keyword=bool(scores), vector=False)
    most_observed = max((record.observation_count for record in records.values()), default=1)
    by_words = sorted(scores, key=lambda key: (-scores[key], -key[1], key[0]))
    ranked: list[Ranked] = []
    for position, key in enumerate(by_words or records, 1):
        columns: dict[str, SignalColumn] = {}
        if by_words:
            share = scores[key] / scores[by_words[0]]
            if recipe.fusion == "rank":
                share = (recipe.rank_constant + 1) / (recipe.rank_constant + position)
            weight = recipe.scale * weights["keyword"]
            columns["keyword"] = SignalColumn(scores[key], rounded(share), weight, position)
        record = records.get(key)
        if record is not None:
            features = RecordFeatures(record, request.now, most_observed, query.stems)
            columns |= weigh(request, weights, features)
            if recipe.forgets:
                columns["forgotten"] = forgotten(total_of(columns), features, request)
        score = float(total_of(columns))
        if score > 0:
            dated = to_micros(record.valid_at or record.created_at) if record else 0
            explanation = Explanation(partial(explain, columns))
            ranked.append(Ranked(*key, score, explanation, record.category if record else None, dated))
    return sorted(ranked, key=lambda candidate: candidate.order)

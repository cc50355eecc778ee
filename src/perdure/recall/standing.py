"""The score of a candidate by a recipe: its part of each signal that has a weight.

Pure functions. Every signal is brought to 0..1; its weight times that is its part of the score.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from perdure.model import Record, Signal
from perdure.recall.fuse import Ranked, Word
from perdure.recall.prominence import days_since_update, shares
from perdure.recall.recipe import Recipe
from perdure.recall.retrievability import retrievability, stability_of
from perdure.recall.select import select
from perdure.recall.weights import shared_out
from perdure.text.words import searchable, terms
from perdure.tiers import MAX_BOOST, boost, days_unused, decay_factor

# Shares are rounded, so that the last bits of a float never decide between two memories.
DECIMALS: Final = 6


class Listing(NamedTuple):
    """How a memory stands on one of the two lists; without a rank it is not on it. `share`: of the best match there
    is, where matches count and not ranks.
    """

    raw: float
    rank: int | None
    share: float = 0.0


class Candidate(NamedTuple):
    """None for a list that there is not: a question without words, or no vectors."""

    place: int
    number: int
    keyword: Listing | None
    vector: Listing | None


class Fading(NamedTuple):
    """At which moment memories are looked at, whether they fade at all, and the tiers that never do."""

    now: datetime
    on: bool = True
    exempt: Collection[str] = ()


class Scoring(NamedTuple):
    """What the score of a candidate depends on besides itself. `asked`: the words of the question, stemmed;
    `most_observed`: how often the most often said memory was said.
    """

    recipe: Recipe
    weights: Mapping[str, float]
    asked: frozenset[str]
    fading: Fading
    most_observed: int = 1

    @classmethod
    def of(
        cls,
        recipe: Recipe,
        candidates: Sequence[Candidate],
        words: Sequence[str],
        fading: Fading,
        most_observed: int = 1,
    ) -> Scoring:
        weights = shared_out(
            recipe,
            keyword=any(one.keyword is not None for one in candidates),
            vector=any(one.vector is not None for one in candidates),
        )
        return cls(recipe, weights, frozenset(terms(" ".join(words))), fading, most_observed)


def listed(found: Iterable[Word]) -> list[Candidate]:
    """Memories found by words alone, with their ranks."""
    matched = sorted((word for word in found if word.score > 0), key=lambda one: (-one.score, -one.number, one.place))
    top = matched[0].score if matched else 1.0
    return [
        Candidate(word.place, word.number, Listing(word.score, rank, word.score / top), None)
        for rank, word in enumerate(matched, 1)
    ]


def rank_standing(
    scoring: Scoring,
    candidates: Iterable[Candidate],
    records: Mapping[tuple[int, int], Record] | None,
    limit: int,
) -> list[Ranked]:
    """Best first; of equal ones the newer, then the one in the namespace named first. Those without a record are gone
    since they were found; no records at all: the recipe needs none.
    """
    if records is None:
        ranked = [score(scoring, candidate, None) for candidate in candidates]
        records = {}
    else:
        there = ((candidate, records.get(candidate[:2])) for candidate in candidates)
        ranked = [score(scoring, candidate, record) for candidate, record in there if record is not None]
    ranked.sort(key=lambda one: (-one.score, -one.number, one.place))
    known = records
    return select(scoring.recipe, ranked, limit, lambda one: known[one[:2]].category if known else None)


def score(scoring: Scoring, candidate: Candidate, record: Record | None) -> Ranked:
    explain = dict(_matching(scoring, candidate))
    if record is not None:
        explain |= _standing(scoring, record)
        if scoring.recipe.forgets:
            explain["forgotten"] = _forgotten(scoring, record, sum(one.contribution for one in explain.values()))
    return Ranked(candidate.place, candidate.number, sum(one.contribution for one in explain.values()), explain)


def _matching(scoring: Scoring, candidate: Candidate) -> Iterable[tuple[str, Signal]]:
    """By rank, both as shares of the best possible rank: together reciprocal rank fusion divided by its maximum."""
    recipe = scoring.recipe
    for name, listing in (("keyword", candidate.keyword), ("vector", candidate.vector)):
        if listing is not None and scoring.weights.get(name):
            share = listing.share if recipe.fusion != "rank" else rank_share(recipe, listing.rank)
            yield name, _signal(scoring, name, listing.raw, share, listing.rank)


def rank_share(recipe: Recipe, rank: int | None) -> float:
    return 0.0 if rank is None else (recipe.rank_constant + 1) / (recipe.rank_constant + rank)


def _standing(scoring: Scoring, record: Record) -> dict[str, Signal]:
    recipe, fading = scoring.recipe, scoring.fading
    signals: dict[str, Signal] = {}
    if recipe.prominence_weight:
        found = shares(recipe, record, scoring.most_observed, fading.now)
        signals["observations"] = _signal(scoring, "observations", record.observation_count, found.observations)
        signals["confidence"] = _signal(scoring, "confidence", record.confidence, found.confidence)
        signals["recency"] = _signal(scoring, "recency", days_since_update(record, fading.now), found.recency)
        signals["recalls"] = _signal(scoring, "recalls", record.recall_count, found.recalls)
    if recipe.tier_weight:
        signals["tier"] = _signal(scoring, "tier", boost(record.tier), boost(record.tier) / MAX_BOOST)
    if recipe.decay_weight:
        days = max(0.0, days_unused(record, fading.now))
        left = decay_factor(record.tier, days, record.importance, fading.exempt) if fading.on else 1.0
        signals["decay"] = _signal(scoring, "decay", days, left)
    if recipe.anchor_weight:
        signals["anchor"] = _signal(scoring, "anchor", *overlap(scoring.asked, record.anchor_id))
    return {name: signal for name, signal in signals.items() if signal.weight}


def _forgotten(scoring: Scoring, record: Record, total: float) -> Signal:
    """What takes a score times retrievability: the share that is forgotten is taken away from it."""
    fading = scoring.fading
    days = max(0.0, days_unused(record, fading.now))
    left = retrievability(stability_of(record), days) if fading.on else 1.0
    lost = round(1.0 - left, DECIMALS)
    return Signal(days, None, lost, -total, 0.0 - total * lost)


def overlap(asked: frozenset[str], anchor: str | None) -> tuple[int, float]:
    """How many words of the question stand in the anchor, and which share of them that is."""
    if not asked or not anchor:
        return 0, 0.0
    shared = len(asked.intersection(terms(searchable(anchor))))
    return shared, shared / len(asked)


def _signal(scoring: Scoring, name: str, raw: float, share: float, rank: int | None = None) -> Signal:
    normalised, weight = round(share, DECIMALS), scoring.recipe.scale * scoring.weights.get(name, 0.0)
    return Signal(raw, rank, normalised, weight, weight * normalised)

"""The score of a candidate from more than how it matches: its ranks, its tier, what decay leaves of it, its anchor.

Pure functions. Every signal is brought to 0..1; its weight times that is its part of the score.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from perdure.model import Record, Signal
from perdure.recall.fuse import Ranked, Word, weigh
from perdure.recall.recipe import Recipe
from perdure.text.words import searchable, terms
from perdure.tiers import MAX_BOOST, boost, days_unused, decay_factor

# Shares are rounded, so that the last bits of a float never decide between two memories.
_DECIMALS: Final = 6


class Listing(NamedTuple):
    """How a memory stands on one of the two lists; without a rank it is not on it."""

    raw: float
    rank: int | None


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


def listed(found: Iterable[Word]) -> list[Candidate]:
    """Memories found by words alone, with their ranks."""
    matched = sorted((word for word in found if word.score > 0), key=lambda one: (-one.score, -one.number, one.place))
    return [Candidate(word.place, word.number, Listing(word.score, rank), None) for rank, word in enumerate(matched, 1)]


def rank_standing(
    recipe: Recipe,
    candidates: Iterable[Candidate],
    records: Mapping[tuple[int, int], Record],
    words: Sequence[str],
    fading: Fading,
    limit: int,
) -> list[Ranked]:
    """Best first; of equal ones the newer, then the one in the namespace named first. Those without a record are gone
    since they were found.
    """
    asked = frozenset(terms(" ".join(words)))
    ranked = [
        score(recipe, candidate, records[candidate[:2]], asked, fading)
        for candidate in candidates
        if candidate[:2] in records
    ]
    ranked.sort(key=lambda one: (-one.score, -one.number, one.place))
    return ranked[:limit]


def score(recipe: Recipe, candidate: Candidate, record: Record, asked: frozenset[str], fading: Fading) -> Ranked:
    signals = matching(recipe, candidate)
    signals["tier"] = _signal(recipe, recipe.tier_weight, boost(record.tier), boost(record.tier) / MAX_BOOST)
    days = max(0.0, days_unused(record, fading.now))
    left = decay_factor(record.tier, days, record.importance, fading.exempt) if fading.on else 1.0
    signals["decay"] = _signal(recipe, recipe.decay_weight, days, left)
    shared, share = overlap(asked, record.anchor_id)
    signals["anchor"] = _signal(recipe, recipe.anchor_weight, shared, share)
    explain = {name: signal for name, signal in signals.items() if signal.weight}
    return Ranked(candidate.place, candidate.number, sum(one.contribution for one in explain.values()), explain)


def matching(recipe: Recipe, candidate: Candidate) -> dict[str, Signal]:
    """The two ranks as shares of the best possible one: together reciprocal rank fusion, divided by its maximum."""
    weights = weigh(recipe, keyword=candidate.keyword is not None, vector=candidate.vector is not None)
    together = recipe.keyword_weight + recipe.vector_weight
    constant = recipe.rank_constant or 0
    signals: dict[str, Signal] = {}
    for name, listing, weight in (
        ("keyword", candidate.keyword, weights.keyword),
        ("vector", candidate.vector, weights.vector),
    ):
        if listing is not None:
            share = 0.0 if listing.rank is None else (constant + 1) / (constant + listing.rank)
            signals[name] = _signal(recipe, together * weight, listing.raw, share, listing.rank)
    return signals


def overlap(asked: frozenset[str], anchor: str | None) -> tuple[int, float]:
    """How many words of the question stand in the anchor, and which share of them that is."""
    if not asked or not anchor:
        return 0, 0.0
    shared = len(asked.intersection(terms(searchable(anchor))))
    return shared, shared / len(asked)


def _signal(recipe: Recipe, weight: float, raw: float, share: float, rank: int | None = None) -> Signal:
    normalised, scaled = round(share, _DECIMALS), recipe.scale * weight
    return Signal(raw, rank, normalised, scaled, scaled * normalised)

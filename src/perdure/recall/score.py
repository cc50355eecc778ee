"""From candidates to scores: every recipe is a weighted sum of signals, each brought to 0..1.

For words 0 is no word in common. For meaning, with the fusion `chance`, 0 is what a memory that has nothing to do with
the query may reach by chance, estimated from a sample of all memories: this zero depends neither on which candidates
happen to be compared nor on how many memories there are. 1 is the best of this one answer: scores compare the hits of
one answer, never those of two.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from perdure.recall.candidates import ArrayFeatures, Candidates, Ranks, column_of, union
from perdure.recall.conversation import NOBODY, conversation_boost
from perdure.recall.query import MOST_SUPERSEDED
from perdure.recall.ranking import Explanation, Ranked
from perdure.recall.relevance import (
    LENDING,
    LENT,
    REQUIRED,
    UNASKED,
    evidence,
    evidence_by_words,
    evidence_of_sentence,
    relevance,
    unrelated_cosine,
    word_worths,
)
from perdure.recall.signals import DECIMALS, SignalColumn, effective_weights, explain, forgotten, total_of, weigh
from perdure.recall.timeline import with_time
from perdure.recall.top_k import top_k, top_k_newest
from perdure.text.bm25 import WordCounts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perdure.embed.choice import Chosen
    from perdure.recall.query import ParsedQuery, SearchRequest
    from perdure.recall.recipe import Recipe
    from perdure.store.port import Store

_DEVIATIONS: Final = 2.0
# A learned fact may be said by so many messages that are found as well.
_REPEATED: Final = 2
# Cosines that differ by less than this say the same. It keeps two memories that are equally near from being 0 and 1.
_LEAST_SPREAD: Final = 0.05


def rank(
    candidates: Candidates, request: SearchRequest, query: ParsedQuery, store: Store, chosen: Chosen | None
) -> tuple[list[Ranked], list[Ranked]]:
    """The best candidates that fit, best first, and of each balanced category as many as the recipe may need; some more
    where learned facts are among them; where none fits, the one that comes nearest. Beside them the best of the facts
    that hold no more. `chosen`: who embedded the query, if it has an embedding.
    """
    recipe, least, superseded = request.recipe, request.min_relevance, candidates.superseded
    columns, total = score(candidates, request, query, store, vector=chosen is not None)
    categories = candidates.categories(recipe.balanced_categories) if recipe.balances else None
    asked = query.content if query.time_ranges else query
    # No word in common, and no nearer than chance: that is no answer.
    possible = np.flatnonzero(total > 0)
    every, past = np.zeros(len(total)), np.empty(0, np.intp)
    if len(possible) and (least or superseded is not None):
        every[possible] = relevance_of(candidates, possible, asked, chosen)
    if superseded is not None:
        past, possible = possible[superseded[possible]], possible[~superseded[possible]]
        past = top_k_newest(past[every[past] >= least], total, candidates.number, MOST_SUPERSEDED)
    if least and len(possible):
        fitting = possible[every[possible] >= least]
        possible = fitting if len(fitting) else possible[[every[possible].argmax()]]
    rows = top_k_newest(possible, total, candidates.number, request.limit)
    learned = candidates.conversation.learned if candidates.conversation else None
    if learned is not None and (facts := int(learned[rows].sum())):
        # Whatever they repeat, or are repeated by, is left out afterwards, and others take its place.
        rows = top_k_newest(possible, total, candidates.number, request.limit + _REPEATED * facts)
    if categories is not None and len(possible) > request.limit:
        for which in range(len(recipe.balanced_categories)):
            of_category = possible[categories[possible] == which]
            rows = union(rows, top_k_newest(of_category, total, candidates.number, recipe.per_category))
    rows = rows[np.lexsort((candidates.partition[rows], -candidates.number[rows], -total[rows]))]
    if not least:
        every[rows] = relevance_of(candidates, rows, asked, chosen)
    ranked: list[Ranked] = []
    for row in (*rows.tolist(), *past.tolist()):
        namespace = candidates.parts[int(candidates.partition[row])][0].namespace
        which = -1 if categories is None else int(categories[row])
        category = recipe.balanced_categories[which] if which >= 0 else None
        explanation = Explanation(partial(explain, columns, row))
        number, value = int(candidates.number[row]), float(total[row])
        by_words = bool(candidates.keyword[row] > 0)
        ranked.append(Ranked(namespace, number, value, explanation, category, float(every[row]), by_words))
    return ranked[: len(rows)], ranked[len(rows) :]


def relevance_of(
    candidates: Candidates, rows: NDArray[np.intp], query: ParsedQuery, chosen: Chosen | None
) -> NDArray[np.float64]:
    """How well these candidates fit."""
    if not query.text:
        return np.full(len(rows), UNASKED)
    spoken = chosen is not None and any(part.snapshot.conversation for part, _ in candidates.parts)
    looked_at = np.concatenate([rows, *lenders(candidates)]) if spoken else rows
    held, counted = np.zeros((len(query.terms), len(looked_at))), list[WordCounts]()
    start = 0
    for at, (partition, part) in enumerate(candidates.parts):
        several = len(candidates.parts) > 1
        places = np.flatnonzero(candidates.partition[looked_at] == at) if several else slice(None)
        lexical, of_part = partition.snapshot.lexical, part[looked_at[places] - start]
        held[:, places], counts = lexical.held(query.terms, of_part, query.parts)
        counted.append(counts)
        start += len(part)
    counts = WordCounts.together(counted) if len(counted) > 1 else counted[0]
    coverage, *of_sentences = np.minimum(np.array(word_worths(counts, query)) @ held, 1.0)
    has_vector = candidates.has_vector[looked_at]
    proof = coverage
    if chosen is not None:
        known = chosen.unrelated
        parts = [] if known is not None else [part.snapshot.vectors.pairs for part, _ in candidates.parts]
        pairs = np.concatenate(parts) if parts else candidates.chance[:0]
        unrelated = unrelated_cosine(known, pairs, candidates.chance)
        named = candidates.conversation.named[looked_at] if candidates.conversation else 0.0
        cosine = candidates.cosine[looked_at].astype(np.float64)
        proof = np.asarray(evidence(cosine, unrelated, coverage, named, counts.documents))
    if not has_vector.all():
        proof = np.where(has_vector, proof, evidence_by_words(coverage))
    for each in of_sentences:
        proof = np.maximum(proof, evidence_of_sentence(each, counts.documents))
    if spoken:
        proof = with_lent(proof, conversations_of(candidates, looked_at), len(rows))
    fit = np.asarray(relevance(proof), np.float64)
    return np.maximum(fit, REQUIRED) if query.required else fit


def lenders(candidates: Candidates) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The best by words and the best by meaning, whatever the recipe."""
    # From -1..1 to 1..3, because `top_k` takes zero for absent.
    cosines, words = np.where(candidates.has_vector, candidates.cosine + np.float32(2), 0), candidates.keyword
    if candidates.superseded is not None:
        # What holds no more is no evidence.
        cosines, words = cosines * ~candidates.superseded, words * ~candidates.superseded
    return top_k(words, LENDING), top_k(cosines, LENDING)


def conversations_of(candidates: Candidates, rows: NDArray[np.intp]) -> NDArray[np.int32]:
    """The conversation of each candidate as a number, 0 where it has none."""
    codes = column_of(candidates.parts, "conversation")[rows] - NOBODY
    if len(candidates.parts) == 1:
        return codes
    # One conversation may stand in two partitions, under two codes.
    known: dict[tuple[int, str], int] = {}
    for place in np.flatnonzero(codes).tolist():
        partition = candidates.parts[int(candidates.partition[rows[place]])][0]
        name = partition.snapshot.vocabulary.conversations.values[codes[place] + NOBODY]
        codes[place] = known.setdefault((partition.namespace, name), len(known) + 1)
    return codes


def with_lent(proof: NDArray[np.float64], conversations: NDArray[np.int32], count: int) -> NDArray[np.float64]:
    """The evidence of the first `count` rows, with what the others lend to them."""
    best = np.full(int(conversations.max(initial=0)) + 1, -np.inf)
    np.maximum.at(best, conversations[count:], proof[count:])
    best[0] = -np.inf
    own = proof[:count]
    return own + (best[conversations[:count]] - own).clip(0.0, LENT)


def score(
    candidates: Candidates, request: SearchRequest, query: ParsedQuery, store: Store, *, vector: bool
) -> tuple[dict[str, SignalColumn], NDArray[np.float64]]:
    """The signals of each candidate, and their weighted sum."""
    recipe = request.recipe
    partition, number = candidates.partition, candidates.number
    keyword_ranks = Ranks(partition, number, candidates.keyword, candidates.by_keyword)
    vector_ranks = Ranks(partition, number, candidates.cosine, candidates.by_vector)
    by_words = keyword_shares(candidates, keyword_ranks, recipe) if query.terms else None
    by_meaning = vector_shares(candidates, vector_ranks, recipe) if vector else None
    weights = effective_weights(recipe, keyword=by_words is not None, vector=by_meaning is not None)
    columns: dict[str, SignalColumn] = {}
    if by_words is not None:
        weight = recipe.scale * np.full(len(by_words), weights["keyword"])
        if recipe.fusion == "chance" and by_meaning is not None and weights["keyword"]:
            # The words of a memory whose vector is still to come count for both.
            weight[~candidates.has_vector] += recipe.scale * weights["vector"]
        columns["keyword"] = SignalColumn(candidates.keyword, by_words, weight, keyword_ranks)
    if by_meaning is not None:
        weight = recipe.scale * np.full(len(by_meaning), weights["vector"])
        if recipe.fusion == "chance":
            weight[~candidates.has_vector] = 0.0
        columns["vector"] = SignalColumn(candidates.cosine, by_meaning, weight, vector_ranks)
    features = ArrayFeatures(candidates.parts, request, query.stems, store)
    if weights.keys() > columns.keys():
        columns |= weigh(request, weights, features)
    if recipe.forgets:
        columns["forgotten"] = forgotten(total_of(columns), features, request)
    total = total_of(columns)
    if candidates.conversation is not None:
        boost = conversation_boost(
            np.asarray(total / recipe.scale, np.float64), candidates.conversation, recipe.conversation
        )
        columns = {name: column._replace(weight=column.weight * boost.own) for name, column in columns.items()}
        for name, weight in boost.weights.items():
            share = boost.shares[name]
            columns[name] = SignalColumn(share, share, recipe.scale * weight, optional=True)
        total = total_of(columns)
    total = total + np.zeros(len(candidates.number))
    if query.time_ranges:
        columns = with_time(columns, column_of(candidates.parts, "dated"), query, recipe)
        # A time alone is no reason.
        total = np.where(total > 0, total_of(columns), 0.0)
    return columns, total


def keyword_shares(candidates: Candidates, ranks: Ranks, recipe: Recipe) -> NDArray[np.float64] | None:
    """BM25 as a share of the best; by rank, as a share of the best possible rank. None when words tell nothing here."""
    if recipe.fusion == "rank":
        return rank_shares(ranks.every, recipe.rank_constant)
    scores = candidates.keyword.astype(float)
    if recipe.fusion == "maximum":
        scores = np.where(candidates.by_keyword, scores, 0.0)
    top = float(scores.max(initial=0.0))
    if top <= 0:
        return None if recipe.fusion == "maximum" else scores
    return (scores / top).round(DECIMALS)


def vector_shares(candidates: Candidates, ranks: Ranks, recipe: Recipe) -> NDArray[np.float64] | None:
    """Cosines as shares of the best, from what chance reaches or from 0; or by rank. None when they tell nothing."""
    if recipe.fusion == "rank":
        return rank_shares(ranks.every, recipe.rank_constant)
    cosines, has_vector = candidates.cosine.astype(float), candidates.has_vector
    if recipe.fusion == "maximum":
        cosines = np.where(has_vector, cosines, 0.0).clip(0.0)
        top = float(cosines.max(initial=0.0))
        return (cosines / top).round(DECIMALS) if top > 0 else None
    top = float(np.where(has_vector, cosines, -1.0).max(initial=-1.0))
    floor, chance = top - _LEAST_SPREAD, candidates.chance
    if len(chance):
        # Below two deviations a cosine says nothing: of memories taken at random about one in forty is farther away.
        mean = float(chance.sum()) / len(chance)
        variance = float(chance @ chance) / len(chance) - mean * mean
        floor = min(floor, mean - max(_DEVIATIONS * max(variance, 0.0) ** 0.5, _LEAST_SPREAD))
    return np.maximum((cosines - floor) / (top - floor), 0.0).round(DECIMALS) * has_vector


def rank_shares(ranks: NDArray[np.intp], constant: int) -> NDArray[np.float64] | None:
    """Reciprocal ranks, divided by their maximum; 0 where a row is in no list. None when no row is."""
    if not ranks.any():
        return None
    return np.where(ranks > 0, (constant + 1) / (constant + ranks), 0.0).round(DECIMALS)

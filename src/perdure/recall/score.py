"""From candidates to scores.

The recipes whose score is the relevance add up evidence, in log-odds (recall/relevance.py). The others are a weighted
sum of signals, each brought to 0..1: by rank, or as a share of the best of this one answer.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from perdure.recall.candidates import ArrayFeatures, Candidates, Ranks, column_of, union
from perdure.recall.conversation import NOBODY, conversation_columns
from perdure.recall.query import MOST_SUPERSEDED, term_hashes
from perdure.recall.ranking import EndedFacts, Explanation, Ranked
from perdure.recall.recipe import BALANCED
from perdure.recall.relevance import (
    CLAUSE,
    CLAUSE_IN_PASSING,
    EQUALLY,
    FLOOR,
    LOOKED_UP,
    MEANING,
    PROMPT_WORDS,
    REQUIRED,
    SAME_THING,
    UNASKED,
    about_the_rest,
    evidence_by_words,
    evidence_of_sentence,
    meaning,
    rarity,
    relevance,
    store_evidence,
    unknown_share,
    unrelated_cosine,
    word_worths,
)
from perdure.recall.signals import DECIMALS, SignalColumn, effective_weights, explain, forgotten, total_of, weigh
from perdure.recall.timeline import time_evidence, with_time
from perdure.recall.top_k import top_k_newest
from perdure.text.bm25 import WordCounts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perdure.embed.choice import Chosen
    from perdure.recall.index import Mask
    from perdure.recall.query import ParsedQuery, SearchRequest
    from perdure.recall.recipe import Recipe
    from perdure.recall.signals import Values
    from perdure.store.port import Store

NEWER: Final = "It is newer than a statement of the same speaker about the same thing that answers as well."
# From this share on a turn asks and tells nothing.
_ASKS: Final = 0.5
# A relevance of 1 has no log-odds.
_HIGHEST: Final = 0.9999
# Of evidence: what the last digit of a relevance is worth around one half.
_LAST_DIGIT: Final = 4e-4
# A learned fact may be said by so many messages that are found as well.
_REPEATED: Final = 2


class RecipeScores(NamedTuple):
    """The score of each candidate, its relevance, and the signals that the score is made of."""

    score: NDArray[np.float64]
    relevance: NDArray[np.float64]
    columns: dict[str, SignalColumn]


def rank(
    candidates: Candidates, request: SearchRequest, query: ParsedQuery, store: Store, chosen: Chosen | None
) -> tuple[list[Ranked], EndedFacts]:
    """The best candidates that fit, best first, and of each balanced category as many as the recipe may need; some more
    where learned facts are among them; where none fits, the one that comes nearest. Beside them the best of the facts
    that hold no more. `chosen`: who embedded the query, if it has an embedding.
    """
    recipe, least, superseded = request.recipe, request.min_relevance, candidates.superseded
    score, fits, columns = scored(candidates, request, query, store, chosen)
    categories = candidates.categories(recipe.balanced_categories) if recipe.balances else None
    possible, past = (score > 0).nonzero()[0], np.empty(0, np.intp)
    if superseded is not None:
        past, possible = possible[superseded[possible]], possible[~superseded[possible]]
        past = top_k_newest(past[fits[past] >= least], score, candidates.number, MOST_SUPERSEDED)
    if least and len(possible):
        fitting = possible[fits[possible] >= least]
        possible = fitting if len(fitting) else possible[[fits[possible].argmax()]]
    rows = top_k_newest(possible, score, candidates.number, request.limit)
    learned = candidates.conversation.learned if candidates.conversation else None
    if learned is not None and (facts := int(learned[rows].sum())):
        # Whatever they repeat, or are repeated by, is left out afterwards, and others take its place.
        rows = top_k_newest(possible, score, candidates.number, request.limit + _REPEATED * facts)
    if categories is not None and len(possible) > request.limit:
        for which in range(len(recipe.balanced_categories)):
            of_category = possible[categories[possible] == which]
            rows = union(rows, top_k_newest(of_category, score, candidates.number, recipe.per_category))
    is_talk = candidates.conversation is not None and recipe.is_relevance and recipe.conversation_weight
    if is_talk and not (query.time_ranges or query.asks_what_happened):
        newer = newer_statements(candidates, fits, rows)
        if newer.any():
            columns["newer"] = SignalColumn(newer, newer, 1.0, about=NEWER, optional=True)
            score = fits = np.where(newer > 0, np.maximum(fits, relevance(total_of(columns))), fits)
    rows = rows[np.lexsort((candidates.partition[rows], -candidates.number[rows], -score[rows]))]
    told = {} if superseded is None else dict(candidates.ended_facts_of(rows))
    past = union(past, np.concatenate([*told.values()])) if told else past
    ranked: list[Ranked] = []
    for row in (*rows.tolist(), *past.tolist()):
        namespace = candidates.parts[int(candidates.partition[row])][0].namespace
        which = -1 if categories is None else int(categories[row])
        category = recipe.balanced_categories[which] if which >= 0 else None
        explanation = Explanation(partial(explain, columns, row))
        number, by_words = int(candidates.number[row]), bool(candidates.keyword[row] > 0)
        ranked.append(Ranked(namespace, number, float(score[row]), explanation, category, float(fits[row]), by_words))
    keys = {row: (ranked[at].namespace, ranked[at].number) for at, row in enumerate(rows.tolist())}
    numbers = {keys[row]: candidates.number[facts].tolist() for row, facts in told.items()}
    return ranked[: len(rows)], EndedFacts(ranked[len(rows) :], numbers)


def newer_statements(candidates: Candidates, fits: NDArray[np.float64], rows: NDArray[np.intp]) -> NDArray[np.float64]:
    """What is added to the evidence for each candidate, so that of the statements of a speaker about the same thing
    that answer equally the newest stands first. Nothing for what only asks.
    """
    added, features = np.zeros(len(fits)), candidates.conversation
    if features is None:
        return added
    speaker = column_of(candidates.parts, "speaker")
    rows = rows[candidates.has_vector[rows] & (speaker[rows] != NOBODY) & (features.question_share[rows] < _ASKS)]
    if len(rows) < 2:  # noqa: PLR2004 - two are compared
        return added
    dated = column_of(candidates.parts, "dated")
    rows = rows[np.lexsort((candidates.number[rows], dated[rows]))]
    evidence = np.log(fits[rows] / (1.0 - np.minimum(fits[rows], _HIGHEST)))
    certain = store_evidence([partition.snapshot.lexical for partition, _ in candidates.parts]).certainty
    # Of each row a line: which of the others are older, and answer no better.
    older = dated[rows][:, np.newaxis] > dated[rows]
    older &= evidence - evidence[:, np.newaxis] <= EQUALLY * certain
    for column in (speaker, candidates.partition):
        older &= column[rows][:, np.newaxis] == column[rows]
    if not older.any():
        return added
    vectors = candidates.vectors(rows)
    older &= vectors @ vectors.T >= SAME_THING
    final = evidence.copy()
    for newer in older.any(axis=1).nonzero()[0].tolist():
        if (best := final[older[newer]].max()) >= final[newer]:
            final[newer] = best + _LAST_DIGIT
    added[rows] = final - evidence
    return added


def scored(
    candidates: Candidates, request: SearchRequest, query: ParsedQuery, store: Store, chosen: Chosen | None
) -> RecipeScores:
    """Every candidate by the recipe. A score of 0 is no answer, however low the floor: nothing could be compared."""
    recipe = request.recipe
    if not query.text:
        fits, evidence = np.full(len(candidates.number), UNASKED), dict[str, SignalColumn]()
    else:
        measured = recipe if recipe.fusion == "evidence" else BALANCED
        evidence = evidence_columns(candidates, query, chosen, measured)
        fits = np.asarray(relevance(total_of(evidence)), np.float64)
        fits = np.maximum(fits, REQUIRED) if query.required else fits
        if recipe.is_relevance:
            by_meaning = candidates.has_vector & (recipe.vector_weight > 0)
            return RecipeScores(fits * (by_meaning | (candidates.keyword > 0)), fits, evidence)
    columns = sum_columns(candidates, request, query, store, fits if evidence else None, vector=chosen is not None)
    total = np.asarray(total_of(columns), np.float64) + np.zeros(len(candidates.number))
    if query.time_ranges:
        columns = with_time(columns, column_of(candidates.parts, "dated"), query, recipe)
        # A time alone is no reason.
        total = np.where(total > 0, np.asarray(total_of(columns)), 0.0)
    return RecipeScores(total, fits, columns)


def meaning_columns(
    candidates: Candidates, chosen: Chosen, weight: float, compared: Mask | float
) -> dict[str, SignalColumn]:
    """How near a query is to each candidate; and of a prompt, how near its nearest clause is."""
    known = chosen.unrelated
    parts = [] if known is not None else [part.snapshot.vectors.pairs for part, _ in candidates.parts]
    pairs = np.concatenate(parts) if parts else candidates.chance[:0]
    unrelated = unrelated_cosine(known, pairs, candidates.chance)
    ranks = Ranks(candidates.partition, candidates.number, candidates.cosine, candidates.by_vector)
    near = meaning(candidates.cosine.astype(np.float64), unrelated)
    columns = {"vector": SignalColumn(candidates.cosine, near, 2 * weight * MEANING * compared, ranks)}
    if candidates.clause is not None:
        near = meaning(candidates.clause.astype(np.float64), unrelated) - CLAUSE_IN_PASSING
        columns["clause"] = SignalColumn(candidates.clause, near, CLAUSE * compared)
    return columns


def evidence_columns(
    candidates: Candidates, query: ParsedQuery, chosen: Chosen | None, recipe: Recipe
) -> dict[str, SignalColumn]:
    """What speaks for each candidate, in log-odds."""
    count, keyword, has_vector = len(candidates.number), candidates.keyword, candidates.has_vector
    features, asked = candidates.conversation, query.content if query.time_ranges else query
    lexicals = [partition.snapshot.lexical for partition, _ in candidates.parts]
    of_store = store_evidence(lexicals)
    weights = effective_weights(recipe, keyword=bool(query.terms), vector=chosen is not None)
    top = float(keyword.max(initial=0.0)) or 1.0
    by_words = (keyword / top).round(DECIMALS).astype(np.float64)
    of_bm25 = 2 * weights.get("keyword", 0.0) * of_store.bm25 * (PROMPT_WORDS if query.is_prompt else 1.0)
    each_word, before, certain = of_bm25 * top, of_store.prior, of_store.certainty
    by_words_alone = not has_vector.all()
    # One number stands for all candidates where each has a vector.
    compared = has_vector if by_words_alone else 1.0
    tells_more = query.time_ranges or asked.sentences or asked.codes or asked.is_lookup
    coverages, counts = coverage_of(candidates, asked) if by_words_alone or tells_more else (by_words[np.newaxis], None)
    coverage = coverages[0]
    asks_who = asked.is_lookup and features is not None and bool(features.by_name.any())
    if counts is not None and asked.is_lookup and not asks_who:
        each_word = each_word + 2 * weights.get("keyword", 0.0) * LOOKED_UP * rarity(counts, asked.terms) * coverage
    if query.time_ranges:
        # A word of the time, which stands in the date of a memory, says no more than the time itself.
        by_words = by_words * (coverage > 0)
    if by_words_alone:
        # Of a memory without a vector, the words alone tell: how much of what was asked it holds.
        together = (coverage + by_words * coverage[int(keyword.argmax())]) / 2 if count else coverage
        by_words = np.where(has_vector, by_words, together)
        each_word = np.where(has_vector, each_word, evidence_by_words(1.0) - evidence_by_words(0.0))
        before = np.where(has_vector, before, evidence_by_words(0.0))
        certain = np.where(has_vector, certain, 1.0)
    columns = {"prior": SignalColumn(of_store.memories, np.ones(count), before)}
    if asked.terms and chosen is not None:
        counted = [each.counts(asked.terms, asked.parts) for each in lexicals]
        unknown = unknown_share(counted[0] if len(counted) == 1 else WordCounts.together(counted), asked)
        columns["unknown"] = SignalColumn(unknown, unknown, of_store.unknown * compared, optional=True)
    if query.terms:
        ranks = Ranks(candidates.partition, candidates.number, keyword, candidates.by_keyword)
        columns["keyword"] = SignalColumn(keyword, by_words, each_word, ranks)
    if chosen is not None:
        columns |= meaning_columns(candidates, chosen, weights.get("vector", 0.0), compared)
    if features is not None and recipe.conversation_weight:
        evidence = np.asarray(total_of(columns), np.float64)
        columns |= conversation_columns(evidence, features, recipe.conversation_weight, of_bm25, asks_who=asks_who)
    if features is not None and recipe.learned_discount:
        learned = features.learned.astype(np.float64)
        columns["learned"] = SignalColumn(learned, learned, -recipe.learned_discount * MEANING, optional=True)
    if counts is not None and len(coverages) > 1:
        by_sentence = np.asarray(evidence_of_sentence(coverages[1:].max(axis=0), counts.documents))
        more = np.maximum(by_sentence - np.asarray(total_of(columns)), 0.0)
        columns["sentence"] = SignalColumn(more, more, 1.0, optional=True)
    if query.time_ranges:
        columns["time"] = time_of(candidates, query, about_the_rest(total_of(columns), coverage))
    # As much of the evidence counts as is certain of each candidate; the floor stays where it is. Of a memory without a
    # vector all of it counts.
    scaled = {
        name: SignalColumn(column.raw, column.share, column.weight * certain, *column[3:])
        for name, column in columns.items()
    }
    scaled["prior"] = scaled["prior"]._replace(weight=scaled["prior"].weight + (1.0 - certain) * FLOOR)
    return scaled


def time_of(candidates: Candidates, query: ParsedQuery, about: Values) -> SignalColumn:
    """The time that is asked for. Where nothing is of it, it says nothing to be as near to it as all others are."""
    time = time_evidence(column_of(candidates.parts, "dated"), query, about, holding_month(candidates, query))
    share = np.asarray(time.share)
    return time if share.max(initial=0.0) == 1.0 else time._replace(share=share - share.min(initial=1.0))


def holding_month(candidates: Candidates, query: ParsedQuery) -> NDArray[np.float64]:
    """1 for each candidate that holds the name of a month that the question names."""
    from perdure.recall.time_questions import month_of

    months = [month for span in query.time_ranges if (month := month_of(span))]
    if not months:
        return np.zeros(len(candidates.number))
    terms = term_hashes(months)
    held = [partition.snapshot.lexical.holding_any(terms)[rows] for partition, rows in candidates.parts]
    return np.concatenate(held).astype(np.float64)


def coverage_of(candidates: Candidates, query: ParsedQuery) -> tuple[NDArray[np.float64], WordCounts]:
    """What the words that each candidate holds are worth of all that is asked, of each sentence, and of the codes."""
    held, counted = np.zeros((len(query.terms), len(candidates.number))), list[WordCounts]()
    for at, (partition, rows) in enumerate(candidates.parts):
        of_part = candidates.partition == at
        held[:, of_part], counts = partition.snapshot.lexical.held(query.terms, rows, query.parts)
        counted.append(counts)
    counts = WordCounts.together(counted)
    return np.minimum(np.array(word_worths(counts, query)) @ held, 1.0), counts


def sum_columns(
    candidates: Candidates,
    request: SearchRequest,
    query: ParsedQuery,
    store: Store,
    fits: NDArray[np.float64] | None,
    *,
    vector: bool,
) -> dict[str, SignalColumn]:
    """The signals of each candidate, for the recipes that add them up."""
    recipe = request.recipe
    partition, number = candidates.partition, candidates.number
    by_words = by_meaning = None
    columns: dict[str, SignalColumn] = {}
    if recipe.fusion == "evidence":
        weights = dict(recipe.weights)
        if fits is not None:
            columns["relevance"] = SignalColumn(fits, fits, recipe.scale * (weights["keyword"] + weights["vector"]))
    else:
        keyword_ranks = Ranks(partition, number, candidates.keyword, candidates.by_keyword)
        vector_ranks = Ranks(partition, number, candidates.cosine, candidates.by_vector)
        by_words = keyword_shares(candidates, keyword_ranks, recipe) if query.terms else None
        by_meaning = vector_shares(candidates, vector_ranks, recipe) if vector else None
        weights = effective_weights(recipe, keyword=by_words is not None, vector=by_meaning is not None)
        if by_words is not None:
            weight = recipe.scale * weights["keyword"]
            columns["keyword"] = SignalColumn(candidates.keyword, by_words, weight, keyword_ranks)
        if by_meaning is not None:
            weight = recipe.scale * weights["vector"]
            columns["vector"] = SignalColumn(candidates.cosine, by_meaning, weight, vector_ranks)
    features = ArrayFeatures(candidates.parts, request, query.stems, store)
    if weights.keys() > columns.keys():
        columns |= weigh(request, weights, features)
    if recipe.forgets:
        columns["forgotten"] = forgotten(total_of(columns), features, request)
    return columns


def keyword_shares(candidates: Candidates, ranks: Ranks, recipe: Recipe) -> NDArray[np.float64] | None:
    """BM25 as a share of the best; by rank, as a share of the best possible rank. None when words tell nothing here."""
    if recipe.fusion == "rank":
        return rank_shares(ranks.every, recipe.rank_constant)
    scores = np.where(candidates.by_keyword, candidates.keyword, 0.0).astype(float)
    top = float(scores.max(initial=0.0))
    return (scores / top).round(DECIMALS) if top > 0 else None


def vector_shares(candidates: Candidates, ranks: Ranks, recipe: Recipe) -> NDArray[np.float64] | None:
    """Cosines as shares of the best, or by rank. None when they tell nothing."""
    if recipe.fusion == "rank":
        return rank_shares(ranks.every, recipe.rank_constant)
    cosines = np.where(candidates.has_vector, candidates.cosine, 0.0).astype(float).clip(0.0)
    top = float(cosines.max(initial=0.0))
    return (cosines / top).round(DECIMALS) if top > 0 else None


def rank_shares(ranks: NDArray[np.intp], constant: int) -> NDArray[np.float64] | None:
    """Reciprocal ranks, divided by their maximum; 0 where a row is in no list. None when no row is."""
    if not ranks.any():
        return None
    return np.where(ranks > 0, (constant + 1) / (constant + ranks), 0.0).round(DECIMALS)

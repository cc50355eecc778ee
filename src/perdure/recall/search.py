"""The candidates of one namespace: its best by words, its nearest by meaning, each with both scores.

Where several namespaces are asked, `counts` are those of all together, so that their scores compare.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from perdure.clock import to_micros
from perdure.recall.cut import largest, newest
from perdure.recall.fuse import Pool
from perdure.recall.question import hashes_of, meeting
from perdure.recall.surroundings import NOBODY, no_setting, setting_of, settings_together
from perdure.store.port import Scored

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perdure.recall.question import Lookup, Question
    from perdure.recall.snapshot import Snapshot
    from perdure.recall.surroundings import Surroundings
    from perdure.text.bm25 import WordCounts


# So many of the best by words and of the best by meaning bring their neighbours along.
_LENDING: Final = 50


def allowed_rows(snapshot: Snapshot, question: Question, lookup: Lookup) -> NDArray[np.bool_] | None:
    """What the ordinary rules, the filter and the needs of the question leave; None when that is everything."""
    allowed = _filtered(snapshot, question, lookup)
    if not question.needs:
        return allowed
    holding = snapshot.lexical.holding(question.needs.terms)
    holding &= snapshot.alive if allowed is None else allowed
    if question.needs.told_by_an_index:
        return holding
    return holding & snapshot.holding(meeting(question, lookup, snapshot.numbers[holding].tolist()))


def _filtered(snapshot: Snapshot, question: Question, lookup: Lookup) -> NDArray[np.bool_] | None:
    scope = question.scope
    allowed = snapshot.within(scope, question.moment)
    if snapshot.timed and question.moment < question.known:
        possible = snapshot.alive if allowed is None else allowed
        ended = possible & (snapshot.valid_until <= to_micros(question.known))
        allowed = possible & ~snapshot.holding(lookup.expired(snapshot.numbers[ended].tolist()))
    if not scope.looks_up:
        return allowed
    chosen = snapshot.chosen(scope)
    if chosen is None:
        wanted, unwanted = scope.wanted, scope.unwanted
        chosen = np.ones_like(snapshot.alive) if wanted is None else snapshot.holding(lookup.matching(wanted))
        if unwanted is not None:
            chosen &= ~snapshot.holding(lookup.matching(unwanted))
        snapshot.choose(scope, chosen)
    return chosen if allowed is None else allowed & chosen


def by_words(
    snapshot: Snapshot,
    terms: Sequence[int],
    allowed: NDArray[np.bool_] | None,
    count: int,
    counts: WordCounts | None,
) -> list[Scored]:
    scores = _scores(snapshot, terms, allowed, counts)
    rows = _best(snapshot, scores, count)
    found = zip(snapshot.numbers[rows].tolist(), scores[rows].tolist(), strict=True)
    return [Scored(number, score) for number, score in found]


def by_both(
    snapshot: Snapshot,
    terms: Sequence[int],
    vector: NDArray[np.float32],
    allowed: NDArray[np.bool_] | None,
    count: int,
    place: int,
    counts: WordCounts | None,
    named: Collection[str] | None = None,
) -> Pool:
    """`named`: whom the question names, when what stands around a memory counts as well."""
    scores = _scores(snapshot, terms, allowed, counts)
    worded = _best(snapshot, scores, count) if terms else np.empty(0, np.intp)
    near = snapshot.vectors.nearest(vector, allowed, count)
    nearest = near.rows[newest(np.arange(len(near.rows)), near.cosines, snapshot.numbers[near.rows], count)]
    rows = _union(worded, nearest)
    setting = None
    if named is not None and snapshot.surroundings is not None:
        best = _union(_foremost(worded, scores[worded]), _foremost(near.rows, near.cosines + np.float32(2)))
        rows = _union(rows, _neighbours(snapshot.surroundings, best, allowed))
        setting = setting_of(snapshot.surroundings, rows, _named(snapshot, rows, named))
    return Pool(
        place=np.full(len(rows), place, np.intp),
        number=snapshot.numbers[rows],
        keyword=scores[rows],
        cosine=snapshot.vectors.cosines(vector, rows),
        present=snapshot.vectors.present[rows],
        by_keyword=_among(rows, worded),
        by_vector=_among(rows, nearest),
        chance=snapshot.vectors.sample(vector),
        setting=setting,
    )


def together(pools: Sequence[Pool]) -> Pool:
    if len(pools) == 1:
        return pools[0]
    columns = (name for name in Pool.__dataclass_fields__ if name != "setting")
    told = any(pool.setting for pool in pools)
    settings = [pool.setting or no_setting(len(pool.number)) for pool in pools] if told else []
    return Pool(
        *(np.concatenate([getattr(pool, name) for pool in pools]) for name in columns),
        setting=settings_together(settings) if told else None,
    )


def _foremost(rows: NDArray[np.intp], values: NDArray[np.float32]) -> NDArray[np.intp]:
    return rows[largest(values, _LENDING)]


def _neighbours(
    surroundings: Surroundings, rows: NDArray[np.intp], allowed: NDArray[np.bool_] | None
) -> NDArray[np.intp]:
    """What stands next to the candidates, although it may not match at all."""
    around = surroundings.around(rows).ravel()
    around = around[around >= 0]
    return around if allowed is None else around[allowed[around]]


def _named(snapshot: Snapshot, rows: NDArray[np.intp], words: Collection[str]) -> NDArray[np.bool_]:
    """Those said by one whom the question names; of what nobody said, those that hold the name."""
    surroundings = snapshot.surroundings
    if surroundings is None or not words:
        return np.zeros(len(rows), np.bool_)
    named = surroundings.said_by(rows, words)
    silent = surroundings.speaker[rows] == NOBODY
    if silent.any():
        for term in hashes_of(list(words)):
            named |= silent & snapshot.lexical.holding([term])[rows]
    return named


def _scores(
    snapshot: Snapshot, terms: Sequence[int], allowed: NDArray[np.bool_] | None, counts: WordCounts | None
) -> NDArray[np.float32]:
    scores = snapshot.lexical.scores(terms, counts)
    if allowed is not None:
        scores *= allowed
    return scores


def _best(snapshot: Snapshot, scores: NDArray[np.float32], count: int) -> NDArray[np.intp]:
    return newest(largest(scores, count), scores, snapshot.numbers, count)


def _union(some: NDArray[np.intp], others: NDArray[np.intp]) -> NDArray[np.intp]:
    """Both without repetition, in ascending order. numpy's own way takes three times as long on so few."""
    rows = np.concatenate([some, others])
    rows.sort()
    return rows[np.concatenate([rows[1:] != rows[:-1], [True]])] if len(rows) else rows


def _among(rows: NDArray[np.intp], chosen: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which of the rows, in ascending order, are chosen ones."""
    found = np.zeros(len(rows), np.bool_)
    found[np.searchsorted(rows, chosen)] = True
    return found

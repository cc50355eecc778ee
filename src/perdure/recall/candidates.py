"""Candidates: the rows of the index that are compared for one request, with what their signals look at.

Where several namespaces are asked, words are counted over all of them together, so that scores compare.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from perdure.clock import to_micros
from perdure.model import Filter, Record
from perdure.recall.conversation import NOBODY, ConversationFeatures
from perdure.recall.index import Mask, Snapshot, searched_states
from perdure.recall.query import ParsedQuery, SearchRequest, meeting_requirements, term_hashes
from perdure.recall.recipe import MOST_SCORED
from perdure.recall.signals import PROMINENCE, anchor_matches, total_of, weigh
from perdure.recall.top_k import top_k, top_k_newest
from perdure.text.bm25 import WordCounts
from perdure.tiers import TIERS, Tier

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perdure.recall.past_index import Past
    from perdure.store.port import Store

_NO_FILTER: Final = Filter()
# So many of the best by words and of the best by meaning bring their neighbours in a conversation along.
_LENDING: Final = 50
# Up to so many candidates, their use is read by number and not of the whole namespace.
_FEW: Final = 1000
_DAY_MICROS: Final = 86_400_000_000


class QueryVector(NamedTuple):
    """The embedding of a query, made without the names of the speakers that it names."""

    vector: NDArray[np.float32]
    speakers: frozenset[str] = frozenset()


class Partition(NamedTuple):
    """A part of a namespace that is searched as one: all of it as it is now, or, of the past, what is still as it was,
    and beside it, with `past`, what was otherwise. `namespace` is its position among those asked.
    """

    namespace: int
    name: str
    snapshot: Snapshot
    past: Past | None = None

    def numbers(self, store: Store, filter: Filter) -> Sequence[int]:
        """The memories of the partition that pass a filter."""
        if self.past is not None:
            return self.past.matching(filter)
        with store.read(self.name) as reader:
            return reader.numbers(filter)

    def records(self, store: Store, numbers: Sequence[int]) -> Iterable[Record]:
        if self.past is not None:
            return [self.past.old[number].record for number in numbers]
        with store.read(self.name) as reader:
            return reader.fetch(numbers)


@dataclass(frozen=True)
class Candidates:
    """The candidate rows of all partitions as columns. `by_keyword` and `by_vector` say which retriever found a row,
    `chance` holds the cosines of rows taken at random. `conversation` is None where it does not count.
    """

    parts: Sequence[tuple[Partition, NDArray[np.intp]]]
    partition: NDArray[np.intp]
    number: NDArray[np.int64]
    keyword: NDArray[np.float32]
    cosine: NDArray[np.float32]
    has_vector: Mask
    by_keyword: Mask
    by_vector: Mask
    chance: NDArray[np.float32]
    conversation: ConversationFeatures | None

    @cached_property
    def keyword_ranks(self) -> NDArray[np.intp]:
        return self._ranks(self.keyword, self.by_keyword)

    @cached_property
    def vector_ranks(self) -> NDArray[np.intp]:
        return self._ranks(self.cosine, self.by_vector)

    def keyword_rank(self, row: int) -> int | None:
        return int(self.keyword_ranks[row]) or None

    def vector_rank(self, row: int) -> int | None:
        return int(self.vector_ranks[row]) or None

    def _ranks(self, values: NDArray[np.float32], listed: Mask) -> NDArray[np.intp]:
        """The 1-based rank of each row in the list of one retriever, 0 where it is not in the list."""
        order = np.lexsort((self.partition, -self.number, -values, ~listed))
        ranks = np.empty(len(values), np.intp)
        ranks[order] = np.arange(1, len(values) + 1)
        return np.where(listed, ranks, 0)

    def column(self, name: str) -> NDArray[Any]:
        """A column of the index, of the candidate rows."""
        return _gather(self.parts, name)

    def categories(self, names: Sequence[str]) -> NDArray[np.intp]:
        """Which of these categories each candidate has, by position; -1 for any other."""
        found: list[NDArray[np.intp]] = []
        for partition, rows in self.parts:
            values = partition.snapshot.vocabulary.categories.values
            # One place more than there are codes, so that the code of no category falls on it.
            positions = np.array([*(names.index(value) if value in names else -1 for value in values), -1], np.intp)
            found.append(positions[partition.snapshot.columns.category[rows]])
        return np.concatenate(found)


def _gather(parts: Sequence[tuple[Partition, NDArray[np.intp]]], name: str) -> NDArray[Any]:
    columns = [getattr(partition.snapshot.columns, name)[rows] for partition, rows in parts]
    return columns[0] if len(columns) == 1 else np.concatenate(columns)


def gather(
    partitions: Sequence[Partition],
    request: SearchRequest,
    query: ParsedQuery,
    embedding: QueryVector | None,
    store: Store,
    excluded: Collection[tuple[int, int]] = (),
) -> tuple[Candidates, tuple[str, ...]]:
    """The candidates of every partition, and notes about what was not looked at. `excluded` are namespaces and numbers
    of memories that could not be read.
    """
    counts = None
    if len(partitions) > 1:
        counts = WordCounts.together(partition.snapshot.lexical.counts(query.terms) for partition in partitions)
    speakers = embedding.speakers if embedding and any(request.recipe.conversation) else None
    found: list[Candidates] = []
    notes: dict[str, None] = {}
    for which, partition in enumerate(partitions):
        allowed, noted = _allowed_rows(partition, request, query, store)
        notes |= dict.fromkeys(noted)
        unreadable = [number for namespace, number in excluded if namespace == partition.namespace]
        if unreadable:
            allowed = allowed & ~partition.snapshot.rows_with(unreadable)
        scores = partition.snapshot.lexical.scores(query.terms, counts)
        scores *= allowed
        vector = embedding.vector if embedding else None
        if request.recipe.prominence_weight:
            found.append(_every_match(which, partition, request, query, vector, allowed, scores))
        else:
            found.append(_best_matches(which, partition, request, query, vector, allowed, scores, speakers))
    return _joined(found), tuple(notes)


def _allowed_rows(
    partition: Partition, request: SearchRequest, query: ParsedQuery, store: Store
) -> tuple[Mask, tuple[str, ...]]:
    """The rows that may be shown, pass the filter and hold what the query requires."""
    snapshot = partition.snapshot
    allowed = snapshot.visible(request)
    if replace(request.filter, states=_NO_FILTER.states) != _NO_FILTER:
        filter = replace(request.filter, states=searched_states(request))
        passing = snapshot.filtered(filter)
        if passing is None:
            passing = snapshot.rows_with(partition.numbers(store, filter))
            snapshot.keep_filtered(filter, passing)
        allowed = allowed & passing
    if not query.required:
        return allowed, ()
    holding = allowed & snapshot.lexical.holding(term_hashes(query.required.words))
    numbers = snapshot.columns.number[holding].tolist()
    meeting, notes = meeting_requirements(query.required, numbers, lambda some: partition.records(store, some))
    return holding & snapshot.rows_with(meeting), notes


def _best_matches(
    which: int,
    partition: Partition,
    request: SearchRequest,
    query: ParsedQuery,
    vector: NDArray[np.float32] | None,
    allowed: Mask,
    scores: NDArray[np.float32],
    speakers: Collection[str] | None,
) -> Candidates:
    """The best by words, the nearest by meaning and, where `speakers` are given, their neighbours in conversations."""
    snapshot, count = partition.snapshot, request.candidates
    numbers = snapshot.columns.number
    worded = nearest = np.empty(0, np.intp)
    if query.terms:
        worded = top_k_newest(top_k(scores, count), scores, numbers, count)
    rows = worded
    conversation = None
    if vector is not None:
        near = snapshot.vectors.nearest(vector, None if allowed.all() else allowed, count)
        nearest = near.rows[top_k_newest(np.arange(len(near.rows)), near.cosines, numbers[near.rows], count)]
        rows = _union(worded, nearest)
        if speakers is not None and snapshot.conversation is not None:
            # From -1..1 to 1..3, because `top_k` takes zero for absent.
            best = near.rows[top_k(near.cosines + np.float32(2), _LENDING)]
            around = snapshot.conversation.neighbours(_union(worded[top_k(scores[worded], _LENDING)], best)).ravel()
            around = around[around >= 0]
            rows = _union(rows, around[allowed[around]])
            named = _named(snapshot, rows, speakers)
            conversation = ConversationFeatures.of(snapshot.conversation, rows, named)
    else:
        rows = np.sort(rows)
    return _columns(
        which, partition, rows, scores, vector, _among(rows, worded), _among(rows, nearest), conversation
    )  # fmt: skip


def _every_match(
    which: int,
    partition: Partition,
    request: SearchRequest,
    query: ParsedQuery,
    vector: NDArray[np.float32] | None,
    allowed: Mask,
    scores: NDArray[np.float32],
) -> Candidates:
    """Every row that has a word of the query or any vector to compare with it; without a query every row. Of too many,
    the union of the best by words, by prominence and by meaning.
    """
    snapshot = partition.snapshot
    possible = allowed
    if vector is not None:
        possible = possible & ((scores > 0) | snapshot.vectors.present)
    elif query.terms:
        possible = possible & (scores > 0)
    rows = np.flatnonzero(possible)
    if len(rows) > MOST_SCORED:
        recipe, count, numbers = request.recipe, request.candidates, snapshot.columns.number[rows]
        # Use is left out here: reading that of so many memories takes too long.
        features = ArrayFeatures([(partition, rows)], request, query, None)
        weights = {name: weight for name, weight in recipe.weights.items() if name in PROMINENCE}
        prominence = np.asarray(total_of(weigh(recipe, weights, features)), np.float64)
        best = [
            top_k_newest(top_k(values, count), values, numbers, count) for values in (scores[rows], prominence)
        ]  # fmt: skip
        if vector is not None:
            best.append(np.searchsorted(rows, snapshot.vectors.nearest(vector, allowed, count).rows))
        rows = rows[np.unique(np.concatenate(best))]
    by_vector = snapshot.vectors.present[rows] if vector is not None else np.zeros(len(rows), np.bool_)
    return _columns(which, partition, rows, scores, vector, scores[rows] > 0, by_vector, None)


def _columns(
    which: int,
    partition: Partition,
    rows: NDArray[np.intp],
    scores: NDArray[np.float32],
    vector: NDArray[np.float32] | None,
    by_keyword: Mask,
    by_vector: Mask,
    conversation: ConversationFeatures | None,
) -> Candidates:
    vectors = partition.snapshot.vectors
    if vector is None:
        cosines, chance = np.zeros(len(rows), np.float32), np.empty(0, np.float32)
        has_vector = np.zeros(len(rows), np.bool_)
    else:
        # Gathering most rows of a matrix costs more than comparing all.
        many = 2 * len(rows) > len(vectors.matrix)
        cosines = np.vecdot(vectors.matrix, vector)[rows] if many else vectors.cosines(vector, rows)
        chance, has_vector = vectors.sample(vector), vectors.present[rows]
    return Candidates(
        [(partition, rows)],
        np.full(len(rows), which, np.intp),
        partition.snapshot.columns.number[rows],
        scores[rows],
        cosines,
        has_vector,
        by_keyword,
        by_vector,
        chance,
        conversation,
    )


def _joined(found: Sequence[Candidates]) -> Candidates:
    if len(found) == 1:
        return found[0]
    arrays = (
        "partition", "number", "keyword", "cosine", "has_vector", "by_keyword", "by_vector", "chance",
    )  # fmt: skip
    conversation = None
    if any(part.conversation for part in found):
        features = [part.conversation or ConversationFeatures.none(len(part.number)) for part in found]
        conversation = ConversationFeatures.joined(features)
    return Candidates(
        [each for part in found for each in part.parts],
        *(np.concatenate([getattr(part, name) for part in found]) for name in arrays),
        conversation=conversation,
    )


def _named(snapshot: Snapshot, rows: NDArray[np.intp], speakers: Collection[str]) -> Mask:
    """Rows said by somebody whom the query names; of what nobody said, rows that hold the name."""
    conversation = snapshot.conversation
    if conversation is None or not speakers:
        return np.zeros(len(rows), np.bool_)
    named = conversation.said_by(rows, speakers)
    silent = conversation.speaker[rows] == NOBODY
    if silent.any():
        for term in term_hashes(list(speakers)):
            named |= silent & snapshot.lexical.holding([term])[rows]
    return named


def _union(some: NDArray[np.intp], others: NDArray[np.intp]) -> NDArray[np.intp]:
    """Both without repetition, ascending. `np.union1d` takes three times as long on so few."""
    rows = np.concatenate([some, others])
    rows.sort()
    return rows[np.concatenate([rows[1:] != rows[:-1], [True]])] if len(rows) else rows


def _among(rows: NDArray[np.intp], chosen: NDArray[np.intp]) -> Mask:
    """Which of the rows, in ascending order, are chosen ones."""
    among = np.zeros(len(rows), np.bool_)
    among[np.searchsorted(rows, chosen)] = True
    return among


class ArrayFeatures:
    """The features of candidate rows, from the columns of the index. Without a store, use counts for nothing."""

    def __init__(
        self,
        parts: Sequence[tuple[Partition, NDArray[np.intp]]],
        request: SearchRequest,
        query: ParsedQuery,
        store: Store | None,
    ) -> None:
        self._parts = parts
        self._request = request
        self._store = store
        self._now = to_micros(request.known_by)
        self._stems = frozenset(query.stems)

    @cached_property
    def _use(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How often each row was recalled, and when it was last used or changed. Use is not in the log, and the past
        has none.
        """
        numbers, used = _gather(self._parts, "number"), _gather(self._parts, "updated_at").copy()
        recalls = np.zeros(len(numbers), np.int64)
        start = 0
        for partition, rows in self._parts:
            part = slice(start, start + len(rows))
            start += len(rows)
            if self._store is None or self._request.is_past or not len(rows):
                continue
            few = numbers[part].tolist() if len(rows) <= _FEW else None
            counts = np.array(self._store.use_counts(partition.name, few), np.int64).reshape(-1, 3)
            by_number = np.zeros((int(numbers[part].max()) + 1, 2), np.int64)
            counts = counts[counts[:, 0] < len(by_number)]
            by_number[counts[:, 0]] = counts[:, 1:]
            recalls[part] = by_number[numbers[part], 0]
            used[part] = np.maximum(used[part], by_number[numbers[part], 1])
        return recalls, used

    def _of_tier(self, value: Callable[[str, Tier], float]) -> NDArray[np.float64]:
        """A value of each row's tier; a tier that is damaged counts as normal."""
        normal = TIERS["normal"]
        found: list[NDArray[np.float64]] = []
        for partition, rows in self._parts:
            tiers = partition.snapshot.vocabulary.tiers.values
            values = np.array([value(tier, TIERS.get(tier, normal)) for tier in tiers], np.float64)
            found.append(values[partition.snapshot.columns.tier[rows]])
        return np.concatenate(found)

    @property
    def observations(self) -> NDArray[np.int64]:
        return _gather(self._parts, "observations")

    @property
    def most_observed(self) -> int:
        snapshots = [partition.snapshot for partition, _ in self._parts]
        return max(int(one.columns.observations[one.alive].max(initial=0)) for one in snapshots)

    @property
    def confidence(self) -> NDArray[np.float64]:
        return _gather(self._parts, "confidence")

    @property
    def update_age(self) -> NDArray[np.float64]:
        return ((self._now - _gather(self._parts, "updated_at")) / _DAY_MICROS).clip(0.0)

    @property
    def recalls(self) -> NDArray[np.int64]:
        return self._use[0]

    @property
    def unused_age(self) -> NDArray[np.float64]:
        return ((self._now - self._use[1]) / _DAY_MICROS).clip(0.0)

    @property
    def tier_boost(self) -> NDArray[np.float64]:
        return self._of_tier(lambda _, tier: tier.boost)

    @property
    def decay_per_day(self) -> NDArray[np.float64]:
        return self._of_tier(lambda _, tier: tier.decay_per_day)

    @property
    def decay_floor(self) -> NDArray[np.float64]:
        return self._of_tier(lambda _, tier: tier.floor)

    @property
    def immune(self) -> NDArray[np.bool_]:
        exempt = self._of_tier(lambda name, _: name in self._request.decay_exempt or not self._request.use_decay)
        return (exempt > 0) | (_gather(self._parts, "importance") >= 1.0)

    @property
    def stability(self) -> NDArray[np.float64]:
        return _gather(self._parts, "stability")

    @property
    def anchor_matches(self) -> NDArray[np.int64]:
        matches: list[int] = []
        for partition, rows in self._parts:
            anchors = partition.snapshot.vocabulary.anchors.values
            codes = partition.snapshot.columns.anchor[rows].tolist()
            matches += (anchor_matches(anchors[code] if code >= 0 else None, self._stems) for code in codes)
        return np.array(matches, np.int64)

    @property
    def query_words(self) -> int:
        return len(self._stems)

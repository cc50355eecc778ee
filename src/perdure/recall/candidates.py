"""Candidates: the rows of the index that are compared for one request, with what their signals look at.

Where several namespaces are asked, words are counted over all of them together, so that scores compare.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from perdure.clock import to_micros
from perdure.embed.port import window_of
from perdure.ids import ON_REQUEST
from perdure.model import Filter, Record
from perdure.recall.conversation import NOBODY, REACH, ConversationFeatures
from perdure.recall.index import Mask, Snapshot
from perdure.recall.query import ParsedQuery, SearchRequest, meeting_requirements, term_hashes
from perdure.recall.ranking import BestWindow, Ranked
from perdure.recall.recipe import MOST_SCORED
from perdure.recall.signals import PROMINENCE, anchor_matches, total_of, weigh
from perdure.recall.timeline import DAY_MICROS, within
from perdure.recall.top_k import top_k, top_k_newest
from perdure.recall.vectors import values_at
from perdure.text.bm25 import WordCounts
from perdure.text.names_and_times import WORDS_THAT_TELL_WHEN, asks_when
from perdure.text.persons import ROLES, meant_roles
from perdure.tiers import TIERS, Tier
from perdure.values import replace, value_class

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perdure.embed.port import Embedder
    from perdure.recall.part_of_index import PartOfIndex
    from perdure.recall.past_index import Past
    from perdure.store.port import Store, UseCount

_NO_FILTERS: Final = (Filter(hidden=ON_REQUEST), Filter())
# How many of the best matches by words, and by meaning, bring along their neighbours in a conversation.
_WITH_NEIGHBOURS: Final = 50
# Up to so many candidates, their use is read by number and not of the whole namespace.
_FEW: Final = 1000
_TELLING_WHEN: Final = term_hashes(WORDS_THAT_TELL_WHEN)


class QueryVector(NamedTuple):
    """The embedding of a query, and the words of it that are names of speakers. `unsaid` are the names that speakers
    gave to themselves: what they say does not bear them, only what others say to them. `clauses` are the embeddings of
    the clauses of a prompt.
    """

    vector: NDArray[np.float32]
    speakers: frozenset[str] = frozenset()
    unsaid: frozenset[str] = frozenset()
    clauses: Sequence[NDArray[np.float32]] = ()


class Partition(NamedTuple):
    """One searchable slice: the current index, or for the past the rows that have not changed, or with `past` a small
    index of the rows that have. `namespace` is its position among those asked. With `part`, the
    snapshot holds only what matters for one request.
    """

    namespace: int
    name: str
    snapshot: Snapshot
    past: Past | None = None
    part: PartOfIndex | None = None

    def numbers(self, store: Store, filter: Filter) -> Sequence[int]:
        """The memories of the partition that pass a filter."""
        if self.past is not None:
            return self.past.matching(filter)
        if self.part is not None:
            own = self.snapshot.columns.number
            among = own if filter.numbers is None else own[np.isin(own, filter.numbers)]
            filter = replace(filter, numbers=tuple(among.tolist()))
        with store.read(self.name) as reader:
            return reader.numbers(filter)

    def records(self, store: Store, numbers: Sequence[int]) -> Sequence[Record]:
        if self.past is not None:
            return [self.past.old[number].record for number in numbers]
        with store.read(self.name) as reader:
            return reader.fetch(numbers)


@value_class(slots=False)
class Ranks:
    """The ranks of candidates in the list of one retriever, sorted out when somebody asks. It holds no part of an
    index: an explanation may live longer.
    """

    partition: NDArray[np.intp]
    number: NDArray[np.int64]
    values: NDArray[np.float32]
    listed: Mask

    @cached_property
    def every(self) -> NDArray[np.intp]:
        """The 1-based rank of each row, 0 where it is not in the list."""
        order = np.lexsort((self.partition, -self.number, -self.values, ~self.listed))
        ranks = np.empty(len(order), np.intp)
        ranks[order] = np.arange(1, len(order) + 1)
        return np.where(self.listed, ranks, 0)

    def __call__(self, row: int) -> int | None:
        return int(self.every[row]) or None


@value_class
class Candidates:
    """The candidate rows of all partitions as columns. `by_keyword` and `by_vector` say which retriever found a row,
    `chance` holds the cosines of rows taken at random. `conversation` is None where it does not count. `superseded` are
    learned facts that hold no more, which no answer shows: they stand for what took their place. None where no part
    has any. `searched` rows might have been candidates. `clause` is the cosine of the nearest clause of a prompt, or of
    the whole of it; None for a question.
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
    superseded: Mask | None = None
    searched: int = 0
    clause: NDArray[np.float32] | None = None

    def categories(self, names: Sequence[str]) -> NDArray[np.intp]:
        """Which of these categories each candidate has, by position; -1 for any other."""
        columns: list[NDArray[np.intp]] = []
        for partition, rows in self.parts:
            values = partition.snapshot.vocabulary.categories.values
            # One place more than there are codes, so that the code of no category falls on it.
            positions = np.array([*(names.index(value) if value in names else -1 for value in values), -1], np.intp)
            columns.append(positions.take(values_at(partition.snapshot.columns.category, rows)))
        return np.concatenate(columns)

    def vectors(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Of candidates that have one; of a long memory that of its first window."""
        own = joined([each for _, each in self.parts])[rows]
        if len(self.parts) == 1:
            return self.parts[0][0].snapshot.vectors.matrix[own]
        places = self.partition[rows].tolist()
        matrices: list[NDArray[np.float32]] = [partition.snapshot.vectors.matrix for partition, _ in self.parts]
        rows_of: list[NDArray[np.float32]] = [
            matrices[place][row] for place, row in zip(places, own.tolist(), strict=True)
        ]
        return np.stack(rows_of)

    def ended_facts_of(self, rows: NDArray[np.intp]) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """Each of these messages from which a fact may have been learned that holds no more, with all candidates that
        may have been learned from it: facts of the same conversation and moment.
        """
        if self.superseded is None or not self.superseded.any():
            return
        conversation, dated = column_of(self.parts, "conversation"), column_of(self.parts, "dated")
        is_fact = (conversation != NOBODY) & (column_of(self.parts, "group") == NOBODY)
        facts, said = np.flatnonzero(is_fact), rows[~is_fact[rows] & (conversation[rows] != NOBODY)]
        same = np.ones((len(said), len(facts)), np.bool_)
        for column in (self.partition, conversation, dated):
            same &= column[said][:, np.newaxis] == column[facts]
        for row, learned in zip(said.tolist(), same, strict=True):
            found = facts[learned]
            if self.superseded[found].any():
                yield row, found


class _Retrieved(NamedTuple):
    """The candidate rows of one partition, ascending."""

    rows: NDArray[np.intp]
    by_keyword: Mask
    by_vector: Mask


def best_windows(
    candidates: Candidates, ranked: Sequence[Ranked], embedding: QueryVector | None, embedder: Embedder | None
) -> dict[tuple[int, int], BestWindow]:
    """By position of the namespace and number, the best window of each of these that has several."""
    found: dict[tuple[int, int], BestWindow] = {}
    for partition, rows in candidates.parts:
        vectors = partition.snapshot.vectors
        if vectors.windows is None or embedding is None or (tokens := window_of(embedder)) is None:
            continue
        numbers = [each.number for each in ranked if each.namespace == partition.namespace]
        chosen = rows[np.isin(partition.snapshot.columns.number[rows], numbers)]
        for row in chosen.tolist():
            if best := vectors.best_window(embedding.vector, row):
                number = int(partition.snapshot.columns.number[row])
                found[partition.namespace, number] = BestWindow(*best, tokens)
    return found


@value_class
class Retriever:
    """Retrieves the candidates of a request. `unreadable` are positions of namespaces and numbers of memories that
    could not be read.
    """

    store: Store
    request: SearchRequest
    query: ParsedQuery
    embedding: QueryVector | None
    unreadable: Collection[tuple[int, int]] = ()

    def retrieve(self, partitions: Sequence[Partition]) -> tuple[Candidates, tuple[str, ...]]:
        """The candidates of all partitions, and notes about what was not looked at."""
        counts, query, superseded = None, self.query, False
        if len(partitions) > 1 or query.is_long:
            lexicals = (partition.snapshot.lexical for partition in partitions)
            counts = WordCounts.together(lexical.counts(query.terms, query.parts) for lexical in lexicals)
        if counts and query.is_long:
            return replace(self, query=query.rarest(counts)).retrieve(partitions)
        retrieve = self._every_match if self.request.recipe.prominence_weight else self._best_matches
        retrieved: list[_Retrieved] = []
        keyword: list[NDArray[np.float32]] = []
        around: list[ConversationFeatures | None] = []
        notes: dict[str, None] = {}
        searched = 0
        for partition in partitions:
            allowed, noted = self.allowed_rows(partition)
            searched += int(np.count_nonzero(allowed))
            notes |= dict.fromkeys(noted)
            if partition.snapshot.superseded and self.request.looks_back:
                allowed, superseded = allowed | self._superseded_rows(partition), True
            scores = partition.snapshot.lexical.scores(query.terms, counts, query.parts)
            if not allowed.all():
                scores *= allowed
            retrieved.append(retrieve(partition, allowed, scores))
            keyword.append(values_at(scores, retrieved[-1].rows))
            around.append(self._conversation(partition.snapshot, retrieved[-1].rows, counts))
        parts = [(partition, part.rows) for partition, part in zip(partitions, retrieved, strict=True)]
        conversation = None
        if any(around):
            features = [
                each or ConversationFeatures.none(len(rows)) for each, (_, rows) in zip(around, parts, strict=True)
            ]
            conversation = ConversationFeatures.joined(features) if len(features) > 1 else features[0]
        number = joined([values_at(partition.snapshot.columns.number, rows) for partition, rows in parts])
        cosine, has_vector = np.zeros(len(number), np.float32), np.zeros(len(number), np.bool_)
        chance, clause = np.empty(0, np.float32), None
        if self.embedding is not None:
            vectors = [(partition.snapshot.vectors, rows) for partition, rows in parts]
            cosine = joined([each.cosines(self.embedding.vector, rows) for each, rows in vectors])
            has_vector = joined([values_at(each.present, rows) for each, rows in vectors])
            chance = joined([each.sample(self.embedding.vector) for each, _ in vectors])
            if query.is_prompt:
                clause = cosine
                for vector in self.embedding.clauses:
                    near = joined([each.cosines(vector, rows) for each, rows in vectors])
                    clause = np.maximum(clause, near)
        candidates = Candidates(
            parts,
            joined([np.full(len(rows), at, np.intp) for at, (_, rows) in enumerate(parts)]),
            number,
            joined(keyword),
            cosine,
            has_vector,
            by_keyword=joined([part.by_keyword for part in retrieved]),
            by_vector=joined([part.by_vector for part in retrieved]),
            chance=chance,
            conversation=conversation,
            searched=searched,
            clause=clause,
        )
        if superseded:
            candidates = replace(candidates, superseded=~column_of(parts, "active"))
        return candidates, tuple(notes)

    def allowed_rows(self, partition: Partition) -> tuple[Mask, tuple[str, ...]]:
        """The rows that may be shown, pass the filter and hold what the query requires."""
        snapshot, request, required = partition.snapshot, self.request, self.query.required
        allowed = snapshot.visible(request)
        filter = request.filter
        if filter.conversation_id is not None:
            allowed = allowed & snapshot.of_conversation(filter.conversation_id)
        if filter.categories:
            allowed = allowed & snapshot.of_categories(filter.categories)
        # Whether it asks for more than was looked at.
        rest = replace(filter, states=("active",), hidden=(), told_in=(), conversation_id=None, categories=())
        if filter not in _NO_FILTERS and rest not in _NO_FILTERS:
            filter = replace(request.filter, states=request.states)
            allowed = allowed & snapshot.passing(filter, lambda: partition.numbers(self.store, filter))
        unreadable = [number for namespace, number in self.unreadable if namespace == partition.namespace]
        if unreadable:
            allowed = allowed & ~snapshot.rows_with(unreadable)
        if required is None:
            return allowed, ()
        holding = allowed & snapshot.lexical.holding(*required.terms)
        numbers = snapshot.columns.number[holding].tolist()
        meeting, notes = meeting_requirements(required, numbers, lambda some: partition.records(self.store, some))
        return holding & snapshot.rows_with(meeting), notes

    def _superseded_rows(self, partition: Partition) -> Mask:
        """The learned facts that hold no more and otherwise pass the filter."""
        superseded = replace(self.request, filter=replace(self.request.filter, states=("superseded",)))
        rows, _ = replace(self, request=superseded).allowed_rows(partition)
        columns = partition.snapshot.columns
        return rows & (columns.conversation != NOBODY) & (columns.group == NOBODY)

    def _best_matches(self, partition: Partition, allowed: Mask, scores: NDArray[np.float32]) -> _Retrieved:
        """The best by words and the nearest by meaning, with their neighbours where conversations count."""
        snapshot, count, embedding = partition.snapshot, self.request.candidates, self.embedding
        numbers, conversation = snapshot.columns.number, snapshot.conversation
        worded = nearest = np.empty(0, np.intp)
        if self.query.terms:
            worded = np.sort(top_k_newest(top_k(scores, count), scores, numbers, count))
        ranges, shortlist = self.query.time_ranges, self.request.shortlist
        # What matches best may all be of another time.
        of_time = allowed & within(snapshot.columns.dated, ranges) if ranges else np.empty(0, np.bool_)
        if ranges:
            worded = union(worded, top_k(scores * of_time, shortlist))
        if embedding is None:
            return _Retrieved(worded, np.ones(len(worded), np.bool_), np.zeros(len(worded), np.bool_))
        near = snapshot.vectors.nearest(embedding.vector, None if allowed.all() else allowed, count)
        nearest = near.rows[top_k_newest(np.arange(len(near.rows)), near.cosines, numbers[near.rows], count)]
        if ranges:
            nearest = union(nearest, snapshot.vectors.nearest(embedding.vector, of_time, shortlist).rows)
        rows = union(worded, nearest)
        if conversation is not None and self.request.recipe.conversation_weight:
            best = union(worded[top_k(scores[worded], _WITH_NEIGHBOURS)], near.best(_WITH_NEIGHBOURS).rows)
            around = conversation.neighbours(best).ravel()
            around = around[around >= 0]
            if snapshot.superseded and self.request.looks_back:
                around = np.concatenate([around, conversation.facts_of(best)])
            rows = union(rows, around[allowed[around]])
        listed = np.zeros((2, len(rows)), np.bool_)
        listed[0, np.searchsorted(rows, worded)] = True
        listed[1, np.searchsorted(rows, nearest)] = True
        return _Retrieved(rows, listed[0], listed[1])

    def _conversation(
        self, snapshot: Snapshot, rows: NDArray[np.intp], counts: WordCounts | None
    ) -> ConversationFeatures | None:
        """What stands around the candidates and who says them, where somebody speaks."""
        conversation, embedding = snapshot.conversation, self.embedding
        if conversation is None or embedding is None:
            return None
        named = by_name = introduced = tells_when = np.zeros(len(rows), np.bool_)
        if asks_when(self.query.text):
            tells_when = snapshot.lexical.holding_any(_TELLING_WHEN)[rows]
        if embedding.speakers:
            # Of what nobody said, the rows that hold the name.
            unsaid = conversation.speaker[rows] == NOBODY
            holding = (
                snapshot.lexical.holding_any(term_hashes(list(embedding.speakers)))[rows] if unsaid.any() else unsaid
            )
            named = by_name = conversation.said_by(rows, embedding.speakers) | (unsaid & holding)
            if not embedding.speakers.isdisjoint(ROLES):
                by_name = conversation.said_by(rows, embedding.speakers.difference(ROLES))
            introduced = by_name if embedding.unsaid else introduced
        neighbours = conversation.neighbours(rows)
        by_distance = [neighbours[before::REACH] for before in range(REACH)]
        return ConversationFeatures.of(
            conversation,
            rows,
            neighbours,
            snapshot.lexical.lengths.take(rows),
            worth_around=snapshot.lexical.worth_around(self.query.terms, rows, by_distance, counts),
            named=named,
            by_name=by_name,
            introduced=introduced,
            roles=meant_roles(self.query.text),
            tells_when=tells_when,
        )

    def _every_match(self, partition: Partition, allowed: Mask, scores: NDArray[np.float32]) -> _Retrieved:
        """Every row that has a word of the query or any vector to compare with it; without a query every row. Of too
        many, the union of the best by words, by prominence and by meaning.
        """
        snapshot, request, embedding = partition.snapshot, self.request, self.embedding
        if embedding is not None:
            allowed = allowed & ((scores > 0) | snapshot.vectors.present)
        elif self.query.terms:
            allowed = allowed & (scores > 0)
        rows = np.flatnonzero(allowed)
        if len(rows) > MOST_SCORED:
            recipe, count, numbers = request.recipe, request.candidates, snapshot.columns.number[rows]
            # Use is left out here: reading that of so many memories takes too long.
            features = ArrayFeatures([(partition, rows)], request, self.query.stems, None)
            weights = {name: weight for name, weight in recipe.weights.items() if name in PROMINENCE}
            prominence = np.asarray(total_of(weigh(request, weights, features)), np.float64)
            best = [top_k_newest(top_k(values, count), values, numbers, count) for values in (scores[rows], prominence)]
            if embedding is not None:
                best.append(np.searchsorted(rows, snapshot.vectors.nearest(embedding.vector, allowed, count).rows))
            rows = rows[np.unique(np.concatenate(best))]
        by_vector = (
            values_at(snapshot.vectors.present, rows) if embedding is not None else np.zeros(len(rows), np.bool_)
        )
        return _Retrieved(rows, values_at(scores, rows) > 0, by_vector)


def union(some: NDArray[np.intp], others: NDArray[np.intp]) -> NDArray[np.intp]:
    """Both without repetition, ascending. `np.union1d` takes three times as long on so few."""
    rows = np.concatenate([some, others])
    rows.sort()
    return rows[np.concatenate([rows[1:] != rows[:-1], [True]])] if len(rows) else rows


def joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """One behind the other; mostly there is only one."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def column_of(parts: Sequence[tuple[Partition, NDArray[np.intp]]], name: str) -> NDArray[Any]:
    """A column of the index, of the candidate rows of all partitions."""
    return joined([values_at(getattr(partition.snapshot.columns, name), rows) for partition, rows in parts])


@value_class(slots=False)
class ArrayFeatures:
    """The features of candidate rows, from the columns of the index. Without a store, use counts for nothing."""

    parts: Sequence[tuple[Partition, NDArray[np.intp]]]
    request: SearchRequest
    query_stems: Collection[str]
    store: Store | None

    @cached_property
    def _use(self) -> Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """The numbers of the rows of each part, and the use counts of its namespace. Use is not in the log, and the
        past has none.
        """
        read: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        for partition, rows in self.parts:
            counts: Sequence[UseCount] = ()
            numbers = values_at(partition.snapshot.columns.number, rows)
            if self.store is not None and not self.request.is_past and len(rows):
                few = numbers.tolist() if len(rows) <= _FEW else None
                counts = self.store.use_counts(partition.name, few)
            read.append((numbers, np.fromiter(chain.from_iterable(counts), np.int64).reshape(-1, 3)))
        return read

    def _of_use(self, column: int) -> NDArray[np.int64]:
        """One column of the use counts, of each row; 0 where it was never used."""
        columns: list[NDArray[np.int64]] = []
        for numbers, counts in self._use:
            by_number = np.zeros(int(numbers.max(initial=0)) + 1, np.int64)
            known = counts[counts[:, 0] < len(by_number)]
            by_number[known[:, 0]] = known[:, column]
            columns.append(by_number.take(numbers))
        return np.concatenate(columns)

    def of_tier(self, value: Callable[[str, Tier], float]) -> NDArray[np.float64]:
        """A value of each row's tier; a tier that is damaged counts as normal."""
        normal = TIERS["normal"]
        columns: list[NDArray[np.float64]] = []
        for partition, rows in self.parts:
            tiers = partition.snapshot.vocabulary.tiers.values
            values = np.array([value(tier, TIERS.get(tier, normal)) for tier in tiers], np.float64)
            columns.append(values.take(values_at(partition.snapshot.columns.tier, rows)))
        return np.concatenate(columns)

    @property
    def observations(self) -> NDArray[np.int64]:
        return column_of(self.parts, "observations")

    @property
    def most_observed(self) -> NDArray[np.int64]:
        """For each row the highest count; counts of low trust make no other memory count less."""
        own = low = 0
        for partition, _ in self.parts:
            columns, alive = partition.snapshot.columns, partition.snapshot.alive
            own = max(own, int(columns.observations[alive & ~columns.has_low_trust].max(initial=0)))
            low = max(low, int(columns.observations[alive & columns.has_low_trust].max(initial=0)))
        return np.where(column_of(self.parts, "has_low_trust"), max(own, low, 1), max(own, 1))

    @property
    def confidence(self) -> NDArray[np.float64]:
        return column_of(self.parts, "confidence")

    @property
    def importance(self) -> NDArray[np.float64]:
        return column_of(self.parts, "importance")

    @property
    def stability(self) -> NDArray[np.float64]:
        return column_of(self.parts, "stability")

    @property
    def recalls(self) -> NDArray[np.int64]:
        return self._of_use(1)

    @property
    def update_age(self) -> NDArray[np.float64]:
        return ((to_micros(self.request.known_by) - column_of(self.parts, "updated_at")) / DAY_MICROS).clip(0.0)

    @property
    def unused_age(self) -> NDArray[np.float64]:
        used = np.maximum(self._of_use(2), column_of(self.parts, "updated_at"))
        return ((to_micros(self.request.known_by) - used) / DAY_MICROS).clip(0.0)

    @property
    def anchor_matches(self) -> NDArray[np.int64]:
        matches: list[int] = []
        for partition, rows in self.parts:
            anchors = partition.snapshot.vocabulary.anchors.values
            codes = partition.snapshot.columns.anchor[rows].tolist()
            matches += (anchor_matches(anchors[code] if code >= 0 else None, self.query_stems) for code in codes)
        return np.array(matches, np.int64)

    @property
    def query_words(self) -> int:
        return len(self.query_stems)

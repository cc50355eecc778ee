"""Recall from the question to the hits. Each part that is missing is a step down that the answer names."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from itertools import repeat
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.embed.checked import checked_query
from perdure.embed.port import Embedder, Generation, Vectors
from perdure.errors import EmbedderUnavailable
from perdure.model import Filter, Hit, Mode, Recall, Record
from perdure.recall.fuse import Ranked, Word, rank, rank_words, weigh
from perdure.recall.recipe import Recipe
from perdure.recall.scope import Scope
from perdure.store.port import Found, Store
from perdure.text.bm25 import WordCounts
from perdure.text.words import MAX_QUERY_CHARACTERS, clean, query_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perdure.recall.cache import Indexes
    from perdure.recall.snapshot import Snapshot

DEFAULT_MEMORY_BYTES: Final = 1 << 30

NOTHING_ASKED: Final = "The question is empty."
NO_WORDS: Final = "The question holds no word to search for."
NO_MODEL: Final = "Found by keyword alone: no embedding model is in use. `perdure doctor` says what to do."
NO_NUMPY: Final = "Found by keyword alone: numpy is not installed."
NO_VECTORS: Final = "Found by keyword alone: no memory here has a vector yet. `perdure work` makes them."
OUT_OF_TIME: Final = "The search took too long and was cut short. Ask with fewer or rarer words."
WAITING: Final = "Memories found by keyword alone until `perdure work` has made their vectors: {}."

# By words alone, an index in memory pays off only for a process that asks more often than this.
_RECALLS_FROM_DISK: Final = 3
_NAMESPACES_COUNTED: Final = 4096
# A memory can vanish between ranking and fetching; the next attempt does not rank it any more.
_ATTEMPTS: Final = 3


class _Question(NamedTuple):
    words: Sequence[str]
    namespaces: Sequence[str]
    filter: Filter
    limit: int
    recipe: Recipe
    now: datetime

    @property
    def candidates(self) -> int:
        return max(self.recipe.candidates, 2 * self.limit)


class _Meaning(NamedTuple):
    vector: Vectors
    generation: Generation


class _Ranking(NamedTuple):
    ranked: list[Ranked]
    mode: Mode
    notes: tuple[str, ...]


class Recaller:
    """Finds memories. Safe to use from any thread."""

    def __init__(self, store: Store, embedder: Embedder | None, *, memory_bytes: int = DEFAULT_MEMORY_BYTES) -> None:
        self._store = store
        self._embedder = embedder
        self._memory_bytes = memory_bytes
        self._lock = threading.Lock()
        self._indexes: Indexes | None = None
        self._from_disk: Counter[str] = Counter()

    def recall(
        self, query: str, namespaces: Sequence[str], filter: Filter, *, limit: int, recipe: Recipe, now: datetime
    ) -> Recall:
        text = clean(query[:MAX_QUERY_CHARACTERS]).strip()
        if not text or limit < 1:
            return Recall((), "none", (NOTHING_ASKED,))
        question = _Question(query_words(text), list(dict.fromkeys(namespaces)), filter, limit, recipe, now)
        meaning, missing = self._embed(text)
        ranking = self._rank(question, meaning, missing)
        hits = self._fetch(question, ranking.ranked)
        for _ in range(_ATTEMPTS):
            if len(hits) == len(ranking.ranked):
                break
            ranking = self._rank(question, meaning, missing)
            hits = self._fetch(question, ranking.ranked)
        return Recall(tuple(hits), ranking.mode, ranking.notes)

    def _embed(self, text: str) -> tuple[_Meaning | None, str]:
        """The question as a vector, or what is missing for that."""
        if self._embedder is None:
            return None, NO_MODEL
        if not _numpy_is_here():
            return None, NO_NUMPY
        try:
            return _Meaning(checked_query(self._embedder, text), self._embedder.generation), ""
        except EmbedderUnavailable as error:
            return None, str(error)

    def _rank(self, question: _Question, meaning: _Meaning | None, missing: str) -> _Ranking:
        if meaning is not None:
            snapshots = [self._snapshot(name, meaning.generation) for name in question.namespaces]
            documents = sum(snapshot.lexical.documents for snapshot in snapshots)
            embedded = sum(snapshot.vectors.count for snapshot in snapshots)
            if embedded or not documents:
                notes = (WAITING.format(documents - embedded),) if embedded < documents else ()
                return self._by_meaning(question, meaning, snapshots, notes)
            missing = NO_VECTORS
        if not question.words:
            return _Ranking([], "none", (missing, NO_WORDS))
        return self._by_words(question, missing)

    def _by_meaning(
        self, question: _Question, meaning: _Meaning, snapshots: Sequence[Snapshot], notes: tuple[str, ...]
    ) -> _Ranking:
        from perdure.recall.lexical import hashes_of
        from perdure.recall.search import by_both, together

        terms = hashes_of(question.words)
        allowed = map(self._allowed, repeat(question), question.namespaces, snapshots)
        several = len(snapshots) > 1
        counts = WordCounts.together(snapshot.lexical.counts(terms) for snapshot in snapshots) if several else None
        pools = [
            by_both(snapshot, terms, meaning.vector, rows, question.candidates, place, counts)
            for place, (snapshot, rows) in enumerate(zip(snapshots, allowed, strict=True))
        ]
        weights = weigh(question.recipe, keyword=bool(terms), vector=True)
        ranked = rank(together(pools), weights, question.limit) if pools else []
        return _Ranking(ranked, "hybrid" if terms else "vector", notes)

    def _by_words(self, question: _Question, missing: str) -> _Ranking:
        """From disk at first: a process that asks once should not read a whole namespace."""
        names = question.namespaces
        snapshots = [self._snapshot(name, None) if self._in_memory(name) else None for name in names]
        sources = list(zip(names, snapshots, strict=True))
        counts = WordCounts.together(self._counts(question, *each) for each in sources) if len(sources) > 1 else None
        found = [self._best(question, *each, counts) for each in sources]
        words = [Word(place, *scored) for place, one in enumerate(found) for scored in one.best]
        notes = (missing,) if all(one.complete for one in found) else (missing, OUT_OF_TIME)
        return _Ranking(rank_words(words, question.limit), "keyword", notes)

    def _counts(self, question: _Question, name: str, snapshot: Snapshot | None) -> WordCounts:
        if snapshot is None:
            return self._store.word_counts(name, question.words)
        from perdure.recall.lexical import hashes_of

        return snapshot.lexical.counts(hashes_of(question.words))

    def _best(self, question: _Question, name: str, snapshot: Snapshot | None, counts: WordCounts | None) -> Found:
        if snapshot is None:
            return self._store.keyword(name, question.words, question.filter, question.now, question.candidates, counts)
        from perdure.recall.lexical import hashes_of
        from perdure.recall.search import by_words

        allowed = self._allowed(question, name, snapshot)
        return Found(by_words(snapshot, hashes_of(question.words), allowed, question.candidates, counts))

    def _in_memory(self, name: str) -> bool:
        with self._lock:
            if self._indexes is not None and name in self._indexes:
                return True
            if len(self._from_disk) >= _NAMESPACES_COUNTED:
                self._from_disk.clear()
            self._from_disk[name] += 1
            return self._from_disk[name] > _RECALLS_FROM_DISK and _numpy_is_here()

    def _snapshot(self, name: str, generation: Generation | None) -> Snapshot:
        with self._lock:
            if self._indexes is None:
                from perdure.recall.cache import Indexes

                self._indexes = Indexes(self._store, self._memory_bytes)
        return self._indexes.snapshot(name, generation)

    def _allowed(self, question: _Question, name: str, snapshot: Snapshot) -> NDArray[np.bool_] | None:
        scope = Scope.of(question.filter)
        allowed = snapshot.within(scope, question.now)
        if scope.wanted is None:
            return allowed
        chosen = snapshot.chosen(scope.wanted)
        if chosen is None:
            chosen = snapshot.holding(self._store.matching(name, scope.wanted))
            if scope.unwanted is not None:
                chosen &= ~snapshot.holding(self._store.matching(name, scope.unwanted))
            snapshot.choose(scope.wanted, chosen)
        return chosen if allowed is None else allowed & chosen

    def _fetch(self, question: _Question, ranked: Sequence[Ranked]) -> list[Hit]:
        records: dict[tuple[int, int], Record] = {}
        for place, name in enumerate(question.namespaces):
            numbers = [one.number for one in ranked if one.place == place]
            if numbers:
                records |= {(place, record.number): record for record in self._store.fetch(name, numbers)}
        return [
            Hit(record, one.score, one.explain)
            for one in ranked
            if (record := records.get((one.place, one.number))) and record.state in question.filter.states
        ]


def _numpy_is_here() -> bool:
    try:
        import numpy as np
    except ImportError:
        return False
    return bool(np)

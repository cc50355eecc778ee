"""Recall from the question to the hits. Each part that is missing is a step down that the answer names."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from perdure.embed.checked import checked_query
from perdure.embed.port import Embedder, Generation, Vectors
from perdure.errors import EmbedderUnavailable
from perdure.model import Filter, Hit, Mode, Recall, Record
from perdure.recall.fuse import Pool, Ranked, Word, rank, rank_words, weigh
from perdure.recall.past import LOST, PRESENT, Past, When
from perdure.recall.question import Lookup, Question, Today
from perdure.recall.recipe import Recipe
from perdure.recall.standing import Candidate, Fading, listed, rank_standing
from perdure.store.port import Found, Store
from perdure.text.bm25 import WordCounts
from perdure.text.words import MAX_QUERY_CHARACTERS, clean, query_words

if TYPE_CHECKING:
    from perdure.recall.cache import Indexes
    from perdure.recall.snapshot import Snapshot
    from perdure.recall.view import View, Views

DEFAULT_MEMORY_BYTES: Final = 1 << 30

NOTHING_ASKED: Final = "The question is empty."
NO_WORDS: Final = "The question holds no word to search for."
NO_MODEL: Final = "Found by keyword alone: no embedding model is in use. `perdure doctor` says what to do."
NO_NUMPY: Final = "Found by keyword alone: numpy is not installed."
NO_VECTORS: Final = "Found by keyword alone: no memory here has a vector yet. `perdure work` makes them."
OUT_OF_TIME: Final = "The search took too long and was cut short. Ask with fewer or rarer words."
WAITING: Final = "Memories found by keyword alone until `perdure work` has made their vectors: {}."
NOT_KEPT: Final = "Earlier versions found by keyword alone, because their vectors were not kept: {}."

# By words alone, an index in memory pays off only for a process that asks more often than this.
_RECALLS_FROM_DISK: Final = 3
_NAMESPACES_COUNTED: Final = 4096
# A memory can vanish between ranking and fetching; the next attempt does not rank it any more.
_ATTEMPTS: Final = 3


class _Meaning(NamedTuple):
    vector: Vectors
    generation: Generation


class _Source(NamedTuple):
    """A part of the namespace at `place`. `then`: it is not so any more."""

    place: int
    snapshot: Snapshot
    lookup: Lookup
    then: bool = False


Records: TypeAlias = dict[tuple[int, int], Record]


class _Ranking(NamedTuple):
    """`pasts`: of each namespace, when the question is about the past. `records`: when ranking needed them."""

    ranked: list[Ranked]
    mode: Mode
    notes: tuple[str, ...]
    pasts: Sequence[Past] = ()
    records: Records | None = None


class Recaller:
    """Finds memories. Safe to use from any thread."""

    def __init__(self, store: Store, embedder: Embedder | None, *, memory_bytes: int = DEFAULT_MEMORY_BYTES) -> None:
        self._store = store
        self._embedder = embedder
        self._memory_bytes = memory_bytes
        self._lock = threading.Lock()
        self._indexes: Indexes | None = None
        self._views: Views | None = None
        self._from_disk: Counter[str] = Counter()

    def recall(
        self,
        query: str,
        namespaces: Sequence[str],
        filter: Filter,
        *,
        limit: int,
        recipe: Recipe,
        now: datetime,
        when: When = PRESENT,
        fading: Fading | None = None,
    ) -> Recall:
        text = clean(query[:MAX_QUERY_CHARACTERS]).strip()
        if not text or limit < 1:
            return Recall((), "none", (NOTHING_ASKED,))
        names = list(dict.fromkeys(namespaces))
        fading = fading or Fading(when.known(now))
        question = Question(query_words(text), names, filter, limit, recipe, now, when, fading)
        meaning, missing = self._embed(text)
        ranking = self._rank(question, meaning, missing)
        hits = self._fetch(question, ranking)
        for _ in range(_ATTEMPTS):
            if len(hits) == len(ranking.ranked):
                break
            ranking = self._rank(question, meaning, missing)
            hits = self._fetch(question, ranking)
        lost = sum(past.lost for past in ranking.pasts)
        return Recall(tuple(hits), ranking.mode, (*ranking.notes, LOST.format(lost)) if lost else ranking.notes)

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

    def _rank(self, question: Question, meaning: _Meaning | None, missing: str) -> _Ranking:
        if meaning is not None:
            sources, pasts = self._sources(question, meaning.generation)
            documents = sum(source.snapshot.lexical.documents for source in sources)
            embedded = sum(source.snapshot.vectors.count for source in sources)
            if embedded or not documents:
                notes = _waiting(sources) if embedded < documents else ()
                return self._by_meaning(question, meaning, sources, pasts, notes)
            missing = NO_VECTORS
        if not question.words:
            return _Ranking([], "none", (missing, NO_WORDS))
        return self._then_by_words(question, missing) if question.when.is_past else self._by_words(question, missing)

    def _sources(self, question: Question, generation: Generation | None) -> tuple[list[_Source], list[Past]]:
        """Where to search, as it is now or as it was."""
        sources: list[_Source] = []
        pasts: list[Past] = []
        for place, name in enumerate(question.namespaces):
            today = Today(self._store, name, question.known)
            if not question.when.is_past:
                sources.append(_Source(place, self._snapshot(name, generation), today))
                continue
            view = self._view(name, generation, question.when)
            pasts.append(view.past)
            sources.append(_Source(place, view.same, today))
            if view.past.old:
                sources.append(_Source(place, view.other, view.past, then=True))
        return sources, pasts

    def _by_meaning(
        self,
        question: Question,
        meaning: _Meaning,
        sources: Sequence[_Source],
        pasts: Sequence[Past],
        notes: tuple[str, ...],
    ) -> _Ranking:
        from perdure.recall.search import allowed_rows, by_both, candidates_of, together

        terms = question.terms
        several = len(sources) > 1
        counts = WordCounts.together(source.snapshot.lexical.counts(terms) for source in sources) if several else None
        pools: list[Pool] = []
        for place, snapshot, lookup, _ in sources:
            allowed = allowed_rows(snapshot, question, lookup)
            pools.append(by_both(snapshot, terms, meaning.vector, allowed, question.candidates, place, counts))
        mode: Mode = "hybrid" if terms else "vector"
        if not pools:
            return _Ranking([], mode, notes)
        pool = together(pools)
        if question.recipe.needs_records:
            candidates = candidates_of(pool, keyword=bool(terms))
            return self._by_standing(question, candidates, _Ranking([], mode, notes, pasts))
        ranked = rank(pool, weigh(question.recipe, keyword=bool(terms), vector=True), question.limit)
        return _Ranking(ranked, mode, notes, pasts)

    def _by_words(self, question: Question, missing: str) -> _Ranking:
        """From disk at first: a process that asks once should not read a whole namespace."""
        names = question.namespaces
        snapshots = [self._snapshot(name, None) if self._in_memory(name) else None for name in names]
        sources = list(zip(names, snapshots, strict=True))
        counts = WordCounts.together(self._counts(question, *each) for each in sources) if len(sources) > 1 else None
        found = [self._best(question, *each, counts) for each in sources]
        words = [Word(place, *scored) for place, one in enumerate(found) for scored in one.best]
        notes = (missing,) if all(one.complete for one in found) else (missing, OUT_OF_TIME)
        return self._rank_words(question, words, _Ranking([], "keyword", notes))

    def _then_by_words(self, question: Question, missing: str) -> _Ranking:
        if not _numpy_is_here():
            return self._scan(question, missing)
        from perdure.recall.search import allowed_rows, by_words

        terms = question.terms
        sources, pasts = self._sources(question, None)
        counts = WordCounts.together(source.snapshot.lexical.counts(terms) for source in sources)
        words: list[Word] = []
        for place, snapshot, lookup, _ in sources:
            allowed = allowed_rows(snapshot, question, lookup)
            best = by_words(snapshot, terms, allowed, question.candidates, counts)
            words += (Word(place, *scored) for scored in best)
        return self._rank_words(question, words, _Ranking([], "keyword", (missing,), pasts))

    def _scan(self, question: Question, missing: str) -> _Ranking:
        from perdure.recall.scan import Scan

        terms = question.terms
        scans = [Scan.of(self._store, name, question.when, terms) for name in question.namespaces]
        counts = WordCounts.together(scan.counts for scan in scans)
        words: list[Word] = []
        for place, (name, scan) in enumerate(zip(question.namespaces, scans, strict=True)):
            allowed = scan.allowing(question, Today(self._store, name, question.known))
            words += (Word(place, *scored) for scored in scan.best(allowed, counts, question.candidates))
        pasts = [scan.past for scan in scans]
        return self._rank_words(question, words, _Ranking([], "keyword", (missing,), pasts))

    def _rank_words(self, question: Question, words: Sequence[Word], empty: _Ranking) -> _Ranking:
        if question.recipe.needs_records:
            return self._by_standing(question, listed(words), empty)
        return empty._replace(ranked=rank_words(words, question.limit))

    def _by_standing(self, question: Question, candidates: Sequence[Candidate], empty: _Ranking) -> _Ranking:
        records = self._records(question.namespaces, [candidate[:2] for candidate in candidates], empty.pasts)
        recipe, limit = question.recipe, question.limit
        ranked = rank_standing(recipe, candidates, records, question.words, question.fading, limit)
        return empty._replace(ranked=ranked, records=records)

    def _counts(self, question: Question, name: str, snapshot: Snapshot | None) -> WordCounts:
        if snapshot is None:
            return self._store.word_counts(name, question.words)
        return snapshot.lexical.counts(question.terms)

    def _best(self, question: Question, name: str, snapshot: Snapshot | None, counts: WordCounts | None) -> Found:
        if snapshot is None:
            return self._store.keyword(name, question.words, question.filter, question.now, question.candidates, counts)
        from perdure.recall.search import allowed_rows, by_words

        allowed = allowed_rows(snapshot, question, Today(self._store, name, question.known))
        return Found(by_words(snapshot, question.terms, allowed, question.candidates, counts))

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

    def _view(self, name: str, generation: Generation | None, when: When) -> View:
        with self._lock:
            if self._views is None:
                from perdure.recall.view import Views

                self._views = Views(self._store, self._snapshot)
            views = self._views
        return views.view(name, generation, when)

    def _fetch(self, question: Question, ranking: _Ranking) -> list[Hit]:
        records = ranking.records
        if records is None:
            found = [one[:2] for one in ranking.ranked]
            records = self._records(question.namespaces, found, ranking.pasts)
        states = None if ranking.pasts else question.filter.states
        return [
            Hit(record, one.score, one.explain)
            for one in ranking.ranked
            if (record := records.get((one.place, one.number))) and (states is None or record.state in states)
        ]

    def _records(self, names: Sequence[str], found: Sequence[tuple[int, int]], pasts: Sequence[Past]) -> Records:
        """By place and number, as they are or as they were; those that are gone are left out."""
        records: Records = {}
        for place, name in enumerate(names):
            numbers = [number for where, number in found if where == place]
            if numbers:
                fetched = (
                    pasts[place].records(self._store, name, numbers) if pasts else self._store.fetch(name, numbers)
                )
                records |= {(place, record.number): record for record in fetched}
        return records


def _waiting(sources: Sequence[_Source]) -> tuple[str, ...]:
    """How many memories have no vector: it is still to come, or, of what is not so any more, was not kept."""
    missing = {True: 0, False: 0}
    for source in sources:
        missing[source.then] += source.snapshot.lexical.documents - source.snapshot.vectors.count
    notes = ((WAITING, missing[False]), (NOT_KEPT, missing[True]))
    return tuple(note.format(count) for note, count in notes if count)


def _numpy_is_here() -> bool:
    try:
        import numpy as np
    except ImportError:
        return False
    return bool(np)

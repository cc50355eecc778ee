"""Recall from the question to the hits. Each part that is missing is a step down that the answer names."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from perdure.embed.port import Embedder, Generation, Vectors, checked_query
from perdure.errors import EmbedderUnavailable, IndexDamaged
from perdure.model import Filter, Hit, Mode, Recall, Record
from perdure.recall.fuse import Pool, Ranked, Word, rank, rank_words, weigh
from perdure.recall.names import Named, find_names
from perdure.recall.past import LOST, Past, When
from perdure.recall.query import SearchRequest, understand
from perdure.recall.question import Lookup, Question, Today, meeting
from perdure.recall.standing import Candidate, Fading, Scoring, listed, rank_standing
from perdure.store.port import KeywordSearch, Store
from perdure.text.bm25 import WordCounts

if TYPE_CHECKING:
    from perdure.recall.cache import Indexes
    from perdure.recall.merits import MeritCache
    from perdure.recall.snapshot import Snapshot
    from perdure.recall.view import View, Views

DEFAULT_MEMORY_BYTES: Final = 1 << 30

NOTHING_ASKED: Final = "The question is empty."
BY_PROMINENCE: Final = "Ordered by prominence alone: nothing was asked."
NO_WORDS: Final = "The question holds no word to search for."
NO_CONCEPT: Final = "A concept holds no word to search for, so no memory can hold it."
NO_FTS: Final = "The full-text index is damaged: all words were read instead. `perdure doctor --repair` makes it anew."
NO_MODEL: Final = "Found by keyword alone: no embedding model is in use. `perdure doctor` says what to do."
NO_NUMPY: Final = "Found by keyword alone: numpy is not installed."
NO_VECTORS: Final = "Found by keyword alone: no memory here has a vector yet. `perdure work` makes them."
OUT_OF_TIME: Final = "The search took too long and was cut short. Ask with fewer or rarer words."
WAITING: Final = "Memories found by keyword alone until `perdure work` has made their vectors: {}."
NOT_KEPT: Final = "Earlier versions found by keyword alone, because their vectors were not kept: {}."

# By words alone, an index in memory pays off only for a process that asks more often than this.
_RECALLS_FROM_DISK: Final = 3
_NAMESPACES_COUNTED: Final = 4096
# So many are counted of what another question would find.
_COUNTED: Final = 100
# A memory can vanish between ranking and fetching; the next attempt does not rank it any more.
_ATTEMPTS: Final = 3


class _Meaning(NamedTuple):
    """Of the question without the names of those it is about, which are `named`."""

    vector: Vectors
    generation: Generation
    named: frozenset[str] = frozenset()


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
        self._merits: MeritCache | None = None
        self._from_disk: Counter[str] = Counter()

    def recall(self, request: SearchRequest) -> Recall:
        """Without a query, a recipe that knows prominence orders all there is by it."""
        recipe, limit, filter, now = request.recipe, request.limit, request.filter, request.now
        when = When(request.as_of, request.known_at)
        asked = understand(request.query, request.concepts, when.true(now))
        prominent = request.query is None and not request.concepts and bool(recipe.prominence_weight)
        if not (asked.text or prominent) or limit < 1:
            return Recall((), "none", (NOTHING_ASKED,))
        if asked.needs.impossible:
            return Recall((), "none", (NO_CONCEPT,))
        names = list(dict.fromkeys(request.namespaces))
        fading = Fading(when.known(now), request.use_decay, request.decay_exempt)
        spans = asked.spans if recipe.time_weight else ()
        said: list[str] = []
        question = Question(asked.words, names, filter, limit, recipe, now, when, fading, asked.needs, spans, said)
        meaning, missing = (None, BY_PROMINENCE) if prominent else self._embed(asked.text, question)
        if meaning is None:
            self._note(names)
        ranking, hits = self._answer(question, meaning, missing)
        notes = [*ranking.notes, *said]
        lost = sum(past.lost for past in ranking.pasts)
        if lost:
            notes.append(LOST.format(lost))
        if not hits and not prominent and OUT_OF_TIME not in notes:
            from perdure.recall.emptiness import reasons

            notes += reasons(question, self._store, lambda other: self._count(other, meaning))
        return Recall(tuple(hits), ranking.mode, tuple(dict.fromkeys(notes)))

    def drop(self, namespace: str) -> None:
        """Hold no text of earlier versions any more."""
        with self._lock:
            views = self._views
        if views is not None:
            views.drop(namespace)

    def _answer(self, question: Question, meaning: _Meaning | None, missing: str) -> tuple[_Ranking, list[Hit]]:
        for _ in range(_ATTEMPTS):
            ranking = self._timely(question, meaning, missing)
            hits = self._fetch(question, ranking)
            if len(hits) == len(ranking.ranked):
                return ranking, hits
        ranking = self._timely(question, meaning, missing)
        return ranking, self._fetch(question, ranking)

    def _count(self, question: Question, meaning: _Meaning | None) -> int:
        """How many memories hold a word of the question, as far as a search tells; without words, how many it finds."""
        ranked = self._rank(question._replace(limit=_COUNTED), meaning, "").ranked
        worded = [one for one in ranked if "keyword" in one.explain and one.explain["keyword"].raw > 0]
        return len(worded) or len(ranked)

    def _timely(self, question: Question, meaning: _Meaning | None, missing: str) -> _Ranking:
        """The ranking. Where the question names a time, some more memories are compared: those of that time come up."""
        if not question.spans:
            return self._rank(question, meaning, missing)
        from perdure.recall.nearness import by_time

        wider = question._replace(limit=max(question.limit, question.candidates // 2))
        ranking = self._rank(wider, meaning, missing)
        moments = self._moments(question, ranking)
        records = ranking.records or {}
        ranked = by_time(
            ranking.ranked, moments, question.spans, question.recipe, question.limit,
            lambda one: records[one[:2]].category if records else None,
        )  # fmt: skip
        return ranking._replace(ranked=ranked)

    def _moments(self, question: Question, ranking: _Ranking) -> dict[tuple[int, int], datetime]:
        """Of which time each memory is that was found, as it is or as it was."""
        moments: dict[tuple[int, int], datetime] = {}
        for place, name in enumerate(question.namespaces):
            numbers = [one.number for one in ranking.ranked if one.place == place]
            times = self._store.times(name, numbers) if numbers else {}
            if ranking.pasts:
                then = ranking.pasts[place].seen(numbers)
                times |= {record.number: record.valid_at or record.created_at for record in then}
            moments |= {(place, number): moment for number, moment in times.items()}
        return moments

    def _embed(self, text: str, question: Question) -> tuple[_Meaning | None, str]:
        """The question as a vector, or what is missing for that."""
        if self._embedder is None:
            return None, NO_MODEL
        if not _numpy_is_here():
            return None, NO_NUMPY
        generation = self._embedder.generation
        try:
            words, rest = self._names(text, question, generation)
            return _Meaning(checked_query(self._embedder, rest), generation, words), ""
        except EmbedderUnavailable as error:
            return None, str(error)

    def _names(self, text: str, question: Question, generation: Generation) -> Named:
        if not question.recipe.structure.named:
            return Named(frozenset(), text)
        around = (self._snapshot(name, generation).surroundings for name in question.namespaces)
        return find_names(text, [one for one in around if one is not None])

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
            notes = (missing,) if missing == BY_PROMINENCE else (missing, NO_WORDS)
            return self._alone(question, notes) if question.recipe.prominence_weight else _Ranking([], "none", notes)
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
        from perdure.recall.search import allowed_rows, by_both, together

        terms = question.terms
        mode: Mode = "hybrid" if terms else "vector"
        if question.recipe.prominence_weight:
            return self._by_prominence(question, meaning.vector, sources, _Ranking([], mode, notes, pasts))
        several = len(sources) > 1
        counts = WordCounts.together(source.snapshot.lexical.counts(terms) for source in sources) if several else None
        structure = question.recipe.structure
        named = meaning.named if structure else None
        pools: list[Pool] = []
        for place, snapshot, lookup, _ in sources:
            allowed = allowed_rows(snapshot, question, lookup)
            found = by_both(
                snapshot, terms, meaning.vector, allowed, question.candidates, place, counts, named
            )  # fmt: skip
            pools.append(found)
        if not pools:
            return _Ranking([], mode, notes)
        pool = together(pools)
        if not question.recipe.plain:
            from perdure.recall.candidates import candidates_of, fused, leading

            shares = fused(question.recipe, pool, keyword=bool(terms), vector=True)
            rows = leading(question.recipe, pool, shares, question.limit)
            candidates = candidates_of(pool, shares, rows)
            return self._weighed(question, candidates, _Ranking([], mode, notes, pasts))
        weights = weigh(question.recipe, keyword=bool(terms), vector=True)
        ranked = rank(pool, weights, question.limit, structure)
        return _Ranking(ranked, mode, notes, pasts)

    def _by_prominence(
        self, question: Question, vector: Vectors | None, sources: Sequence[_Source], empty: _Ranking
    ) -> _Ranking:
        from perdure.recall.every import Field, every
        from perdure.recall.search import allowed_rows

        fields: list[Field] = []
        for place, snapshot, lookup, _ in sources:
            past = empty.pasts[place] if empty.pasts else None
            worth = self._merit_cache().worth(question.namespaces[place], snapshot.numbers, past)
            fields.append(Field(place, snapshot, allowed_rows(snapshot, question, lookup), *worth))
        several = len(sources) > 1
        terms = question.terms
        counts = WordCounts.together(source.snapshot.lexical.counts(terms) for source in sources) if several else None
        candidates = every(question, vector, fields, counts)
        most = max((field.merits.most_observed for field in fields), default=0)
        return self._weighed(question, candidates, empty, most)

    def _alone(self, question: Question, notes: tuple[str, ...]) -> _Ranking:
        """All memories, where neither words nor meaning say anything."""
        empty = _Ranking([], "none", notes)
        if _numpy_is_here():
            sources, pasts = self._sources(question, self._embedder.generation if self._embedder else None)
            return self._by_prominence(question, None, sources, empty._replace(pasts=pasts))
        from perdure.recall.census import census

        counted = [census(self._store, name, question) for name in question.namespaces]
        found = [Candidate(place, n, None, None) for place, one in enumerate(counted) for n in one.numbers]
        pasts = [one.past for one in counted if one.past is not None]
        return self._weighed(question, found, empty._replace(pasts=pasts))

    def _by_words(self, question: Question, missing: str) -> _Ranking:
        """From disk at first: a process that asks once should not read a whole namespace."""
        try:
            return self._worded(question, missing, [self._in_memory(name) for name in question.namespaces])
        except IndexDamaged:
            if question.notes is not None:
                question.notes.append(NO_FTS)
        if _numpy_is_here():
            return self._worded(question, missing, [True] * len(question.namespaces))
        return self._scan(question, missing)

    def _worded(self, question: Question, missing: str, in_memory: Sequence[bool]) -> _Ranking:
        names = question.namespaces
        if question.recipe.prominence_weight and all(in_memory):
            sources, _ = self._sources(question, None)
            return self._by_prominence(question, None, sources, _Ranking([], "keyword", (missing,)))
        held = zip(names, in_memory, strict=True)
        snapshots = [self._snapshot(name, None) if here else None for name, here in held]
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
        if question.recipe.prominence_weight:
            return self._by_prominence(question, None, sources, _Ranking([], "keyword", (missing,), pasts))
        counts = WordCounts.together(source.snapshot.lexical.counts(terms) for source in sources)
        words: list[Word] = []
        for place, snapshot, lookup, _ in sources:
            allowed = allowed_rows(snapshot, question, lookup)
            best = by_words(snapshot, terms, allowed, question.matches, counts)
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
            words += (Word(place, *scored) for scored in scan.best(allowed, counts, question.matches))
        pasts = [scan.past for scan in scans] if question.when.is_past else []
        return self._rank_words(question, words, _Ranking([], "keyword", (missing,), pasts))

    def _rank_words(self, question: Question, words: Sequence[Word], empty: _Ranking) -> _Ranking:
        if question.recipe.plain:
            return empty._replace(ranked=rank_words(words, question.limit))
        return self._weighed(question, listed(words), empty)

    def _weighed(
        self, question: Question, candidates: Sequence[Candidate], empty: _Ranking, most_observed: int | None = None
    ) -> _Ranking:
        """The candidates scored and selected by a recipe that looks at more than how they match."""
        recipe, records = question.recipe, None
        if recipe.needs_records:
            records = self._records(question.namespaces, [one[:2] for one in candidates], empty.pasts)
        if most_observed is None:
            most_observed = self._most_observed(question, empty.pasts) if recipe.prominence_weight else 1
        scoring = Scoring.of(recipe, candidates, question.words, question.fading, most_observed)
        ranked = rank_standing(scoring, candidates, records, question.limit)
        return empty._replace(ranked=ranked, records=records)

    def _most_observed(self, question: Question, pasts: Sequence[Past]) -> int:
        if not pasts:
            return max(self._store.most_observed(name) for name in question.namespaces)
        counts = [one.record.observation_count for past in pasts for one in past.old.values()]
        for name, past in zip(question.namespaces, pasts, strict=True):
            counts.append(self._store.most_observed(name, past.seq))
        return max(counts)

    def _counts(self, question: Question, name: str, snapshot: Snapshot | None) -> WordCounts:
        if snapshot is None:
            return self._store.word_counts(name, question.words)
        return snapshot.lexical.counts(question.terms)

    def _best(
        self, question: Question, name: str, snapshot: Snapshot | None, counts: WordCounts | None
    ) -> KeywordSearch:
        if snapshot is None:
            wanted = self._holding(question, name) if question.needs else question.filter
            if wanted is None:
                return KeywordSearch([], complete=False)
            return self._store.keyword(name, question.words, wanted, question.now, question.matches, counts)
        from perdure.recall.search import allowed_rows, by_words

        allowed = allowed_rows(snapshot, question, Today(self._store, name, question.known))
        return KeywordSearch(by_words(snapshot, question.terms, allowed, question.matches, counts))

    def _holding(self, question: Question, name: str) -> Filter | None:
        """The filter, narrowed to the memories that hold what the question insists on; None when time ran out."""
        numbers, complete = self._store.holding(name, question.needs.words)
        if not complete:
            return None
        today = Today(self._store, name, question.known)
        if not question.needs.told_by_an_index:
            # Only so many are looked at: none of them should be one that the filter leaves out anyway.
            numbers = today.matching(replace(question.filter, numbers=tuple(numbers)))
        return replace(question.filter, numbers=tuple(meeting(question, today, numbers)))

    def _note(self, names: Sequence[str]) -> None:
        """That they were asked about."""
        with self._lock:
            for name in names:
                if len(self._from_disk) >= _NAMESPACES_COUNTED:
                    self._from_disk.clear()
                self._from_disk[name] += 1

    def _in_memory(self, name: str) -> bool:
        with self._lock:
            if self._indexes is not None and name in self._indexes:
                return True
            return self._from_disk[name] > _RECALLS_FROM_DISK and _numpy_is_here()

    def _snapshot(self, name: str, generation: Generation | None) -> Snapshot:
        with self._lock:
            if self._indexes is None:
                from perdure.recall.cache import Indexes

                self._indexes = Indexes(self._store, self._memory_bytes)
        return self._indexes.snapshot(name, generation)

    def _merit_cache(self) -> MeritCache:
        with self._lock:
            if self._merits is None:
                from perdure.recall.merits import MeritCache

                self._merits = MeritCache(self._store)
            return self._merits

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
            Hit(record, one.score, one.explain, counts)
            for one in ranking.ranked
            if (record := records.get((one.place, one.number)))
            and (states is None or record.state in states)
            and all((counts := question.needs.counts(record)).values())
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

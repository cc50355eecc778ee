"""Recall from a request to hits: candidates, signals, score, choice, explanation. Each part that is missing is a step
down that the answer names.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.embed.choice import Chosen, EmbedderChoice
from perdure.embed.port import FEW_VECTORS, Embedder, Generation, Vectors, checked_vectors
from perdure.errors import EmbedderUnavailable, IndexDamaged
from perdure.ids import LEARNED, PROPOSAL
from perdure.model import LEARNING_CATEGORIES, Compared, Filter, Hit, Mode, Recall, Record
from perdure.recall.query import MANY_WORDS, ONLY_THE_BEGINNING, OUT_OF_TIME, ParsedQuery, SearchRequest, parse_query
from perdure.recall.ranking import BestWindow, EndedFacts, Ranked, select, with_passage
from perdure.store.capabilities import SearchesInside, index_folder_of
from perdure.store.port import Store
from perdure.text.words import MAX_QUERY_CHARACTERS, MAX_QUERY_WORDS
from perdure.values import replace
from perdure.visibility import is_visible

if TYPE_CHECKING:
    from perdure.recall.candidates import Partition, QueryVector
    from perdure.recall.index import IndexCache, NamespaceIndex, Snapshot
    from perdure.recall.keyword_search import Key
    from perdure.recall.known_cosines import KnownCosines
    from perdure.recall.past_index import Past, PastIndexCache
    from perdure.recall.time_questions import TimeQuestion
    from perdure.recall.time_search import IndexTimes

DEFAULT_MEMORY_BYTES: Final = 1 << 30
DEFAULT_INDEX_LIMIT: Final = 500_000

NOTHING_ASKED: Final = "The question is empty."
BY_PROMINENCE: Final = "Ordered by prominence alone: nothing was asked."
NO_WORDS: Final = "The question holds no word to search for."
NO_CONCEPT: Final = "A concept holds no word to search for, so no memory can hold it."
NO_FTS: Final = "The full-text index is damaged: all words were read instead. `perdure doctor --repair` makes it anew."
NO_MODEL: Final = "Found by keyword alone: no embedding model is in use. `perdure doctor` says what to do."
NO_NUMPY: Final = "Found by keyword alone: numpy is not installed."
NO_PAST: Final = "The past cannot be searched: numpy is not installed."
NO_VECTORS: Final = "Found by keyword alone: no memory here has a vector yet. `perdure work` makes them."
WAITING: Final = "Memories found by keyword alone until `perdure work` has made their vectors: {}."
TOO_LARGE: Final = (
    "Found by keyword alone: {!r} has {:,} memories, more than an index may hold (`index_limit`), and its database "
    "does not compare vectors."
)
NOT_KEPT: Final = "Earlier versions found by keyword alone, because their vectors were not kept: {}."

# By words alone, an index in memory pays off only for a process that asks more often than this.
_RECALLS_FROM_DISK: Final = 3
# With a model as well, where the store finds the nearest itself and reading so many memories takes longer.
_LONG_TO_READ: Final = 20_000
_NAMESPACES_COUNTED: Final = 4096
# Whoever asks again, with other filters or after a write, does not wait for the model again.
_QUESTIONS_KEPT: Final = 256
# How many results of another search are counted, to say what it would find.
_COUNTED: Final = 100
# How many memories about an event are compared to find out when it was.
_EVENTS_COMPARED: Final = 5
# The weight of a time that an event names, beside one that is named by its date.
_EVENT_WEIGHT: Final = 0.5
# A memory can vanish between ranking and fetching; the next attempt does not rank it any more.
_MORE_ATTEMPTS: Final = 3
_source: Final = attrgetter("record.source")
_BY_MEANING: Final = ("hybrid", "vector")
_NO_WINDOWS: Final[Mapping[tuple[int, int], BestWindow]] = {}


class _Ranking(NamedTuple):
    """The chosen candidates, and what the answer says about how they were found. `pasts`: what was otherwise in each
    namespace, when the request is about the past. `partitions`: where an index was searched, as it is now.
    `ended`: the best of the learned facts that hold no more. `windows`: of long memories, what is nearest in them.
    """

    ranked: Sequence[Ranked]
    mode: Mode
    notes: Sequence[str]
    pasts: Sequence[Past] = ()
    partitions: Sequence[Partition] = ()
    compared: Compared = Compared()
    ended: EndedFacts = EndedFacts()
    windows: Mapping[Key, BestWindow] = _NO_WINDOWS


class _SearchPlaces(NamedTuple):
    """Where an index is searched, who embeds for it, and the embedding of the query, if there is one; the notes say
    what is missing.
    """

    chosen: Chosen
    embedding: QueryVector | None
    partitions: Sequence[Partition]
    pasts: Sequence[Past]
    notes: Sequence[str]


class Recaller:
    """Finds memories. Safe to use from any thread."""

    def __init__(
        self,
        store: Store,
        embedders: EmbedderChoice,
        *,
        constitution: Callable[[str], Iterable[Record]] = lambda _: (),
        make_few_vectors: Callable[[], int] = lambda: 0,
        memory_bytes: int = DEFAULT_MEMORY_BYTES,
        index_limit: int = DEFAULT_INDEX_LIMIT,
        wants_model: bool = True,
    ) -> None:
        """`constitution` reads the constitutional memories of a namespace; `make_few_vectors` makes some that are
        missing, and says how many. A namespace of more than `index_limit` memories is searched inside its store, if
        that can. `wants_model`: an answer says when there is none.
        """
        self._store = store
        self._constitution = constitution
        self._make_few_vectors = make_few_vectors
        self._embedders = embedders
        self._wants_model = wants_model
        self._memory_bytes = memory_bytes
        self._index_limit = index_limit
        self._inside = store if isinstance(store, SearchesInside) else None
        self._lock = threading.Lock()
        self._indexes: IndexCache | None = None
        self._of_learnings: dict[str, NamespaceIndex] = {}
        self._known: tuple[str | None, Generation, KnownCosines] | None = None
        self._asked: Counter[str] = Counter()
        # Of the questions asked last, the latest at the end.
        self._vectors: dict[tuple[Generation | None, str], Vectors] = {}

    @cached_property
    def _pasts(self) -> PastIndexCache:
        from perdure.recall.past_index import PastIndexCache

        return PastIndexCache(self._store, self._snapshot)

    def recall(self, request: SearchRequest) -> Recall:
        """Without a query, a recipe with a prominence weight orders every memory by prominence."""
        query, found_times = parse_query(request), ()
        browsing = request.query is None and not request.concepts and request.recipe.prominence_weight > 0
        is_empty = not (query.text or browsing) or request.limit < 1
        if is_empty or (query.required and not query.required.can_be_met):
            return Recall((), "none", (NOTHING_ASKED if is_empty else NO_CONCEPT,), self._surfaced(request))
        with self._lock:
            if len(self._asked) >= _NAMESPACES_COUNTED:
                self._asked.clear()
            self._asked.update(request.namespaces)
        if query.times is not None and (query.times.sessions or query.times.event):
            query, found_times = self._find_times(request, query, query.times)
        ranking = self._rank(request, query, ())
        hits = self._hits(request, query, ranking)
        unreadable: set[Key] = set()
        for _ in range(_MORE_ATTEMPTS):
            if len(hits) == len(ranking.ranked):
                break
            unreadable |= {(candidate.namespace, candidate.number) for candidate in ranking.ranked} - hits.keys()
            ranking = self._rank(request, query, unreadable)
            hits = self._hits(request, query, ranking)
        hits = self._marked(request, query, ranking, hits)
        notes = [*ranking.notes, *found_times]
        if query.is_long:
            notes.append(MANY_WORDS.format(len(query.words), MAX_QUERY_WORDS))
        if len(request.query or "") > MAX_QUERY_CHARACTERS:
            notes.append(ONLY_THE_BEGINNING.format(MAX_QUERY_CHARACTERS))
        lost = sum(past.lost for past in ranking.pasts)
        if lost:
            from perdure.recall.past_index import LOST

            notes.append(LOST.format(lost))
        fitting, mode = tuple(hit for hit in hits.values() if hit.relevance >= request.min_relevance), ranking.mode
        if query.time_ranges and mode != "time" and request.is_question:
            mode, fitting = self._with_that_time(request, query, mode, fitting, notes)
        nearest = None if fitting else max(hits.values(), key=lambda hit: hit.relevance, default=None)
        if not fitting and not browsing and request.is_question and OUT_OF_TIME not in notes:
            from perdure.recall.no_results import explain_no_results

            if ranking.mode == "time":  # The notes say already what is nearest, and no word was searched for.
                notes += explain_no_results(request, replace(query, words=()), self._store, self._count, None)
            else:
                notes += explain_no_results(request, query, self._store, self._count, nearest)
        noted = tuple(dict.fromkeys(note for note in notes if note != NO_MODEL or self._wants_model))
        constitutional = self._surfaced(request, ranking.partitions)
        return Recall(fitting, mode, noted, constitutional, request.min_relevance, nearest, ranking.compared)

    def has_index(self, namespace: str) -> bool:
        with self._lock:
            return self._indexes is not None and namespace in self._indexes

    def write_index_files(self, *, every: bool = False, at_end: bool = False, is_hurried: bool = False) -> int:
        """Write the index files that are missing or behind: of the namespaces that were searched here, or of every one
        in the store. How many were written. `at_end`: the process ends; `is_hurried`: somebody waits for that.
        """
        folder = index_folder_of(self._store)
        # Of a database, those that are used on this machine are enough.
        if every and folder is not None and not folder.is_cache and _has_numpy():
            from perdure.recall.index import is_outdated

            generation = self._embedders.current().generation
            for name in self._store.namespaces():
                if is_outdated(self._store, name, generation):
                    self._snapshot(name, generation)
        with self._lock:
            indexes = self._indexes
        return 0 if indexes is None else indexes.write_files(at_end=at_end, is_hurried=is_hurried)

    def nearest(
        self, request: SearchRequest, generation: Generation, vector: Vectors, count: int
    ) -> tuple[int, list[tuple[int, float]]]:
        """The memories nearest to a vector, as numbers with their cosines, best first, of those of one namespace that
        the request may see; and before them the position of the log at which that was so.
        """
        snapshot = self._snapshot(request.namespaces[0], generation)
        near = snapshot.vectors.nearest(vector, snapshot.visible(request), count)
        numbers = snapshot.columns.number[near.rows].tolist()
        found = zip(numbers, map(float, near.cosines), strict=True)
        return snapshot.position.seq, sorted(found, key=lambda one: -one[1])

    def drop(self, namespace: str) -> None:
        """Drop the cached texts of earlier versions, and the questions asked last."""
        self._pasts.drop(namespace)
        with self._lock:
            self._vectors.clear()

    def keep_vector(self, generation: Generation | None, text: str, vector: Vectors) -> None:
        """The vector of a question that is asked next, which no model need make again."""
        with self._lock:
            self._vectors[generation, text] = vector

    def vector_kept(self, generation: Generation | None, text: str) -> Vectors | None:
        """The vector of a question that was asked a moment ago."""
        with self._lock:
            return self._vectors.get((generation, text))

    def keep_cosines(self, request: SearchRequest, text: str, known: KnownCosines, generation: Generation) -> None:
        """What a question that is asked next has in common with learnings."""
        self.keep_vector(generation, text, known.question)
        self._known = (request.query, generation, known)

    def cosines(self, request: SearchRequest, question: Vectors) -> list[tuple[list[bytes], Vectors]]:
        """The passages of the learnings that were searched alone, and their cosines, by namespace."""
        indexes = [self._of_learnings[name] for name in request.namespaces if name in self._of_learnings]
        return [found for index in indexes if (found := index.cosines(question))]

    def _rank(self, request: SearchRequest, query: ParsedQuery, unreadable: Collection[Key]) -> _Ranking:
        """The best candidates by the index, or by words from disk where an index does not pay off."""
        if query.time_ranges and query.times is not None and query.required is None:
            timed = self._rank_by_time(request, query, query.times, unreadable)
            if timed is not None:
                return timed
        notes: list[str] = []
        missing = ""
        if not query.text:
            missing = BY_PROMINENCE
        elif (chosen := self._embedders.current()).generation is None:
            missing = NO_MODEL if chosen.embedder is None else (self._embedders.failure or EmbedderUnavailable()).note
        elif not _has_numpy():
            missing = NO_NUMPY
        inside, too_large = self._searched_inside(request, query, missing) if self._inside else ([], "")
        missing = missing or too_large
        if missing and query.words and not request.is_past and (too_large or self._prefers_disk(request)):
            from perdure.recall.keyword_search import search_disk

            try:
                ranked, ended, noted = search_disk(self._store, request, query, unreadable)
                chosen = select(request.recipe, ranked, request.limit)
                compared = Compared(len(ranked))
                return _Ranking(chosen, "keyword", (missing, *noted), compared=compared, ended=ended)
            except IndexDamaged:
                notes.append(NO_FTS)
        if not _has_numpy():
            if query.text and not query.words:
                notes.append(NO_WORDS)
            if request.is_past:
                return _Ranking((), "none", (NO_PAST, *notes))
            from perdure.recall.keyword_search import browse_disk

            ranked = browse_disk(self._store, request, query) if request.recipe.prominence_weight else ()
            return _Ranking(select(request.recipe, ranked, request.limit), "none", (missing, *notes))
        return self._rank_by_index(request, query, unreadable, missing, notes, inside)

    def _searched_inside(self, request: SearchRequest, query: ParsedQuery, missing: str) -> tuple[list[str], str]:
        """The namespaces that are searched inside their store: those above the limit, and large ones that this process
        has not read yet. And why words alone are searched for, where one is above the limit and its store cannot.
        """
        if request.is_past or request.recipe.prominence_weight or query.times is not None or not query.text:
            return [], ""
        if self._inside is None or not _has_numpy():
            return [], ""
        inside: list[str] = []
        for name in request.namespaces:
            if self.has_index(name):
                continue
            generation = self._embedders.current().generation
            memories, finds_nearest = self._inside.size_of(name, generation)
            if memories > self._index_limit and (missing or not finds_nearest) and query.words:
                return [], missing or TOO_LARGE.format(name, memories)
            is_cold = self._asked[name] <= _RECALLS_FROM_DISK and memories > _LONG_TO_READ
            folder = index_folder_of(self._store)
            is_cold = is_cold and not (folder is not None and folder.file(name, generation).exists())
            if finds_nearest and not missing and (is_cold or memories > self._index_limit):
                inside.append(name)
        return inside, ""

    def _rank_by_index(
        self,
        request: SearchRequest,
        query: ParsedQuery,
        unreadable: Collection[Key],
        missing: str,
        notes: list[str],
        inside: Sequence[str],
    ) -> _Ranking:
        from perdure.recall.candidates import Retriever, best_windows
        from perdure.recall.score import rank

        chosen, embedding, partitions, pasts, noted = self._search_places(request, query, missing, inside)
        notes = [*noted, *notes]
        mode: Mode = "hybrid" if query.terms else "vector"
        if embedding is None:
            mode = "keyword" if query.words else "none"
            if query.text and not query.words:
                notes.append(NO_WORDS)
        if not partitions or (mode == "none" and not request.recipe.prominence_weight):
            return _Ranking((), mode, notes, pasts, partitions)
        if embedding is not None and embedding.unsaid:
            query = query.without(embedding.unsaid)
        retriever = Retriever(self._store, request, query, embedding, unreadable)
        candidates, noted = retriever.retrieve(partitions)
        ranked, ended = rank(candidates, request, query, self._store, None if embedding is None else chosen)
        limit = request.limit if request.recipe.balances else len(ranked)
        searched = 0 if inside else candidates.searched
        compared = Compared(int(candidates.by_keyword.sum()), int(candidates.by_vector.sum()), searched)
        best = select(request.recipe, ranked, limit)
        windows = _NO_WINDOWS
        if any(each.snapshot.vectors.windows is not None for each in partitions):
            windows = best_windows(candidates, best, embedding, chosen.embedder)
        if self._indexes is not None and self._indexes.reads_files:
            self._indexes.release(request.namespaces)
        return _Ranking(best, mode, (*notes, *noted), pasts, partitions, compared, ended, windows)

    def _search_places(
        self, request: SearchRequest, query: ParsedQuery, missing: str, inside: Sequence[str]
    ) -> _SearchPlaces:
        while True:
            chosen, embedding = self._embedders.current(), None
            partitions, pasts = self._partitions(request, chosen.generation, query if inside else None, inside)
            # Reading the positions may have told that another generation serves by now.
            if self._embedders.current().generation != chosen.generation:
                continue
            if not missing:
                embedding = self._embed(chosen, query, partitions)
            if isinstance(embedding, EmbedderUnavailable):
                if self._embedders.instead_of(chosen, embedding):
                    continue
                embedding, missing = None, embedding.note
            if embedding is not None:
                partitions = [
                    each if each.part is None else each._replace(snapshot=each.part.by_meaning(embedding))
                    for each in partitions
                ]
            waiting, embedded = missing_vectors(partitions if embedding is not None else (), request.filter.hidden)
            if not (0 < waiting[WAITING] <= FEW_VECTORS and self._make_few_vectors()):
                break
        notes = [missing or chosen.note]
        if waiting and not embedded:
            embedding, notes = None, [NO_VECTORS, *notes]
        else:
            notes += (note.format(count) for note, count in waiting.items())
        notes += (note for each in partitions if each.part is not None for note in each.part.notes)
        return _SearchPlaces(chosen, embedding, partitions, pasts, [note for note in notes if note])

    def _rank_by_time(
        self, request: SearchRequest, query: ParsedQuery, times: TimeQuestion, unreadable: Collection[Key]
    ) -> _Ranking | None:
        """What is of a time, where nothing else is asked but perhaps who says it; None where more is asked."""
        from perdure.recall.time_search import rank_by_time

        # Beside an event, who is named is what is asked about; and for a name alone no index is loaded.
        if times.other_words and (
            times.event or (self._embedders.current().generation is None and self._prefers_disk(request))
        ):
            return None
        source, pasts = self._times(request, query, unreadable)
        if source is None or not source.knows(times.other_words):
            return None
        ranked, notes = rank_by_time(source, request, query.time_ranges, times.other_words)
        return _Ranking(ranked, "time", notes, pasts)

    def _with_that_time(
        self, request: SearchRequest, query: ParsedQuery, mode: Mode, fitting: tuple[Hit, ...], notes: list[str]
    ) -> tuple[Mode, tuple[Hit, ...]]:
        """Where the question names a time and nothing that fits is of about that time, what is of that time is an
        answer, too; a note is added that says so.
        """
        from perdure.recall.time_search import is_near, rank_by_time

        if query.required is not None or any(is_near(hit.record, query) for hit in fitting):
            return mode, fitting
        source, pasts = self._times(request, query, ())
        if source is None:
            return mode, fitting
        speakers = query.times.other_words if query.times else ()
        ranked, noted = rank_by_time(source, request, query.time_ranges, speakers, asks_more=True)
        of_that_time = self._hits(request, query, _Ranking(ranked, "time", noted, pasts)).values()
        merged = [*fitting, *(hit for hit in of_that_time if hit.relevance >= request.min_relevance)]
        if len(merged) == len(fitting):
            return mode, fitting
        notes += noted
        merged.sort(key=lambda hit: hit.relevance, reverse=True)
        return mode if fitting else "time", tuple(merged[: request.limit])

    def _find_times(
        self, request: SearchRequest, query: ParsedQuery, times: TimeQuestion
    ) -> tuple[ParsedQuery, list[str]]:
        """The query with the times of the sessions and the event that it names, and notes about which these are."""
        from perdure.recall.time_questions import (
            NO_EVENT,
            NO_SESSION,
            READ_AS,
            event_time,
            memory_of_event,
            session_time,
        )

        notes: list[str] = []
        given = request.filter
        # What belongs to the place that is asked stays; a tag of the answer is none of the event.
        place = Filter(
            conversation_id=given.conversation_id,
            spec_folder=given.spec_folder,
            source_project=given.source_project,
            hidden=given.hidden,
        )
        wider = replace(request, filter=place, concepts=(), limit=_EVENTS_COMPARED)
        source, _ = self._times(wider, replace(query, required=None), ()) if times.sessions else (None, ())
        sessions = source.sessions() if source else []
        found = [
            (asked.words, session_time(asked, sessions, request.true_at, request.session)) for asked in times.sessions
        ]
        notes += (NO_SESSION.format(words, len(sessions)) for words, span in found if span is None)
        if times.event is not None:
            about = replace(wider, query=times.event.event)
            asked = parse_query(about)
            hits = self._hits(about, asked, self._rank(about, asked, ())).values()
            hits = [hit for hit in hits if hit.relevance >= about.min_relevance]
            memory = memory_of_event(hits, times.event, alone=not times.other_words)
            if memory is None:
                notes.append(NO_EVENT.format(times.event.event))
                times = replace(times, event=None)
            else:
                found.append((times.event.words, event_time(times.event, memory)))
        known = [span for _, span in found if span is not None]
        notes += (READ_AS.format(span.words, span.dates) for span in known)
        # What a memory says of an event is said later, and only as exact as memory is.
        by_event = times.event is not None and len(known) == 1 and not times.ranges
        weight = query.time_weight * (_EVENT_WEIGHT if by_event else 1.0)
        return replace(query, times=times, time_ranges=(*times.ranges, *known), time_weight=weight), notes

    def _times(
        self, request: SearchRequest, query: ParsedQuery, unreadable: Collection[Key]
    ) -> tuple[IndexTimes | None, Sequence[Past]]:
        """The memories by their times, which only an index knows."""
        if not _has_numpy():
            return None, ()
        from perdure.recall.candidates import Retriever
        from perdure.recall.time_search import IndexTimes

        partitions, pasts = self._partitions(request, self._embedders.current().generation)
        return IndexTimes(Retriever(self._store, request, query, None, unreadable), partitions), pasts

    def _count(self, request: SearchRequest, query: ParsedQuery) -> int:
        """How many memories hold a word of another query and fit it, as far as a search tells; without words, how many
        it has.
        """
        ranked = self._rank(replace(request, limit=_COUNTED), query, ()).ranked
        ranked = [candidate for candidate in ranked if candidate.relevance >= request.min_relevance]
        return sum(candidate.by_words for candidate in ranked) or len(ranked)

    def _embed(
        self, chosen: Chosen, query: ParsedQuery, partitions: Sequence[Partition]
    ) -> QueryVector | EmbedderUnavailable | None:
        """The embedding of a query, or why there is none."""
        import numpy as np

        from perdure.recall.candidates import QueryVector
        from perdure.recall.conversation import NamedSpeakers, find_speakers

        if chosen.embedder is None:
            return None
        spoken = [each.snapshot.conversation for each in partitions if each.snapshot.conversation is not None]
        named = find_speakers(query.text, spoken) if spoken else NamedSpeakers(frozenset(), query.text)
        try:
            vector = self._embed_text(chosen.embedder, chosen.generation, named.rest)
            if named.labelled and named.rest != query.text:
                # With the name of its speaker a memory is nearer to a question that names them, and without it to what
                # is asked. The direction between the two finds more than either does.
                vector = vector + self._embed_text(chosen.embedder, chosen.generation, query.text)
                vector /= np.linalg.norm(vector)
            # A model elsewhere would be asked once more for each of them.
            is_here = hasattr(chosen.embedder, "load_beside")
            texts = query.clauses if is_here else ()
            clauses = [self._embed_text(chosen.embedder, chosen.generation, text) for text in texts]
        except EmbedderUnavailable as error:
            return error
        return QueryVector(vector, named.words, frozenset() if named.labelled else named.words, clauses)

    def _with_parts(self, request: SearchRequest, query: ParsedQuery, hits: dict[Key, Hit]) -> dict[Key, Hit]:
        """What a prompt brings to mind, with learnings compared part by part, where the model runs here: another would
        be asked once for each part.
        """
        chosen = self._embedders.current()
        asked = [self.vector_kept(chosen.generation, text) for text in (query.text, *query.clauses)]
        vectors = [vector for vector in asked if vector is not None]
        if not (hits and vectors) or not hasattr(chosen.embedder, "load_beside") or chosen.embedder is None:
            return hits
        from perdure.recall.parts import with_parts
        from perdure.recall.relevance import USUALLY_UNRELATED

        embed = partial(checked_vectors, chosen.embedder, generation=chosen.generation)
        unrelated = USUALLY_UNRELATED if chosen.unrelated is None else chosen.unrelated
        try:
            return with_parts(hits, request.filter.told_in, vectors, unrelated, embed)
        except EmbedderUnavailable:
            return hits

    def _embed_text(self, embedder: Embedder, generation: Generation | None, text: str) -> Vectors:
        asked = (generation, text)
        with self._lock:
            vector = self._vectors.pop(asked, None)
        if vector is None:
            vector = checked_vectors(embedder, text, None, generation)
        with self._lock:
            self._vectors[asked] = vector
            if len(self._vectors) > _QUESTIONS_KEPT:
                del self._vectors[next(iter(self._vectors))]
        return vector

    def _partitions(
        self,
        request: SearchRequest,
        generation: Generation | None,
        query: ParsedQuery | None = None,
        inside: Sequence[str] = (),
    ) -> tuple[list[Partition], list[Past]]:
        """Where to search, as it is now or as it was; in those `inside`, the store itself looks for a query."""
        from perdure.recall.candidates import Partition

        partitions: list[Partition] = []
        pasts: list[Past] = []
        for namespace, name in enumerate(request.namespaces):
            if not request.is_past:
                snapshot = None
                if request.filter.categories and not request.include_constitutional:
                    snapshot = self._learnings(request, name, generation)
                if snapshot is None and query and generation and self._inside and name in inside:
                    from perdure.recall.part_of_index import PartOfIndex

                    part = PartOfIndex(self._inside, name, generation, request, query)
                    partitions.append(Partition(namespace, name, part.by_words(), part=part))
                    continue
                partitions.append(Partition(namespace, name, snapshot or self._snapshot(name, generation)))
                continue
            index = self._pasts.index(name, generation, request.as_of, request.known_at)
            pasts.append(index.past)
            partitions.append(Partition(namespace, name, index.same))
            if index.past.old:
                partitions.append(Partition(namespace, name, index.changed, index.past))
        if self._known is not None and any(each.snapshot.conversation for each in partitions):
            # A question that names somebody who speaks there is embedded otherwise than when it was asked before.
            self._known = None
            return self._partitions(request, generation, query, inside)
        return partitions, pasts

    def _learnings(self, request: SearchRequest, name: str, generation: Generation | None) -> Snapshot | None:
        """The learnings alone, where nothing else is asked for and no index is there: a session starts with these, and
        there may be many more messages than learnings. They are read from a file if there is one, else from the store.
        """
        if set(request.filter.categories) - set(LEARNING_CATEGORIES):
            return None
        from perdure.recall.index import NamespaceIndex

        with self._lock:
            if self._indexes is not None and name in self._indexes:
                return None
            by_file = self._is_in_file(name, generation)
            known = self._known[2] if self._known and self._known[:2] == (request.query, generation) else None
            made = ((), None) if by_file else (LEARNING_CATEGORIES, known)
            index = self._of_learnings.get(name)
            if index is None or (index.generation, index.categories, index.known) != (generation, *made):
                index = self._of_learnings[name] = NamespaceIndex(name, generation, *made)
        snapshot = index.current(self._store)
        return snapshot.only(LEARNING_CATEGORIES) if by_file else snapshot

    def _is_in_file(self, name: str, generation: Generation | None) -> bool:
        """Whether a namespace need not be read from the store, because nearly all of it is in a file."""
        if index_folder_of(self._store) is None:
            return False
        from perdure.recall.index import is_in_file

        return is_in_file(self._store, name, generation)

    def reads_files(self, request: SearchRequest, generation: Generation) -> bool:
        """Whether all that is asked is in files: nothing is gained then by cosines that were kept."""
        return _has_numpy() and all(self._is_in_file(name, generation) for name in request.namespaces)

    def _snapshot(self, name: str, generation: Generation | None) -> Snapshot:
        with self._lock:
            if self._indexes is None:
                from perdure.recall.index import IndexCache

                self._indexes = IndexCache(self._store, self._memory_bytes)
        return self._indexes.snapshot(name, generation)

    def _prefers_disk(self, request: SearchRequest) -> bool:
        """Whether a search by words reads from disk: the first few of a process that has no index of a namespace. With
        a prominence weight every match counts, and the index is quicker at that.
        """
        with self._lock:
            cold = [name for name in request.namespaces if self._indexes is None or name not in self._indexes]
            rare = any(self._asked[name] <= _RECALLS_FROM_DISK for name in cold)
        return (rare and not request.recipe.prominence_weight) or not _has_numpy()

    def _hits(self, request: SearchRequest, query: ParsedQuery, ranking: _Ranking) -> dict[Key, Hit]:
        """The records of the chosen candidates, as they are or as they were; those that are gone are left out."""
        records: dict[Key, Record] = {}
        for namespace, name in enumerate(request.namespaces):
            numbers = [candidate.number for candidate in ranking.ranked if candidate.namespace == namespace]
            if not numbers:
                continue
            if ranking.pasts:
                fetched = ranking.pasts[namespace].records(self._store, name, numbers)
            else:
                with self._store.read(name) as reader:
                    found = reader.fetch(numbers)
                fetched = [record for record in found if is_visible(record, request.filter, request.now)]
            records |= {(namespace, record.number): record for record in fetched}
        hits: dict[Key, Hit] = {}
        for candidate in ranking.ranked:
            key = (candidate.namespace, candidate.number)
            record = records.get(key)
            if record is None:
                continue
            counts: Mapping[str, int] = query.required.counts(record) if query.required else {}
            if all(counts.values()):
                best = ranking.windows.get(key)
                explain = with_passage(candidate.explain, record, best) if best else candidate.explain
                hits[key] = Hit(record, candidate.relevance, candidate.score, explain, counts)
        return hits

    def _marked(
        self, request: SearchRequest, query: ParsedQuery, ranking: _Ranking, hits: dict[Key, Hit]
    ) -> dict[Key, Hit]:
        """As many as the answer has room for, none that another one says again, with what holds now in place of what
        held before; each with what it is outdated by, and what it contradicts.
        """
        if ranking.ended.ranked:
            from perdure.recall.successors import read_ended_facts, with_successors

            looked_at = read_ended_facts(self._store, request, query, ranking.ended)
            hits = with_successors(hits, looked_at, request, asks_for_the_past=query.asks_for_the_past)
        if ranking.ended.ranked or len(hits) > request.limit or LEARNED in map(_source, hits.values()):
            from perdure.recall.learned_from import without_repeats

            hits = without_repeats(hits, request.limit)
        first = next(iter(hits.values()), None)
        if first and first.record.conversation_id and may_move_later(request, query, ranking.mode):
            from perdure.recall.later_statement import with_later_first
            from perdure.recall.relevance import store_evidence

            places = [each.snapshot.lexical for each in ranking.partitions]
            hits = with_later_first(hits, store_evidence(places).certainty)
        kinds = [kind for each in ranking.partitions for kind in each.snapshot.vocabulary.kinds.values]
        is_part = not ranking.partitions or any(each.part for each in ranking.partitions)
        # Nothing is asked where the index holds no proposal.
        if hits and not request.is_past and (PROPOSAL in kinds or is_part):
            from perdure.recall.contradictions import with_contradictions

            hits = with_contradictions(self._store, request, query, hits)
        return self._with_parts(request, query, hits) if query.is_prompt else hits

    def _surfaced(self, request: SearchRequest, partitions: Sequence[Partition] = ()) -> tuple[Record, ...]:
        """The constitutional memories. None are read of a namespace whose index, as it was searched, holds none."""
        if not request.include_constitutional or request.is_past:
            return ()
        whole = [each for each in partitions if each.part is None]
        without = {each.name for each in whole if "constitutional" not in each.snapshot.vocabulary.tiers.values}
        asked = (name for name in request.namespaces if name not in without)
        return tuple(record for name in asked for record in self._constitution(name))


def may_move_later(request: SearchRequest, query: ParsedQuery, mode: Mode) -> bool:
    """Whether it is asked what holds now, and how near the hits are in meaning is known."""
    if request.is_past or query.required or query.time_ranges or query.asks_what_happened:
        return False
    return request.recipe.is_relevance and mode in _BY_MEANING


def missing_vectors(partitions: Sequence[Partition], hidden: Sequence[str]) -> tuple[Counter[str], int]:
    """How many memories have no vector, each under the note that says so, but for the kinds that are hidden; and how
    many have one.
    """
    waiting, embedded = Counter[str](), 0
    for partition in partitions:
        if partition.part is not None:
            waiting += Counter({WAITING: partition.part.waiting})
            embedded += partition.snapshot.vectors.count
            continue
        vectors = partition.snapshot.vectors.count
        if partition.snapshot.lexical.documents > vectors and (missing := partition.snapshot.without_vector(hidden)):
            waiting[WAITING if partition.past is None else NOT_KEPT] += missing
        embedded += vectors
    return waiting, embedded


def _has_numpy() -> bool:
    try:
        import numpy as np
    except ImportError:
        return False
    return bool(np)

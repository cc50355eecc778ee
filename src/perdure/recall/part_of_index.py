"""Search inside the database: an index of those memories alone that matter for one question, found by the store itself.

Whatever a score depends on is in it: the best by words and by meaning, as many as an index would compare, what stands
around them in their conversations, and who is named. What depends on the whole namespace is asked of the store: how
many memories hold a word, and how near memories are by chance. Then the same code retrieves and scores, and rows that
are in it for another reason change nothing: the best of some rows that hold the best of all are the best of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from perdure.ids import ON_REQUEST
from perdure.model import Filter
from perdure.recall.conversation import REACH
from perdure.recall.index import NamespaceIndex, Snapshot
from perdure.recall.keyword_search import superseded_facts
from perdure.recall.query import OUT_OF_TIME, ParsedQuery, SearchRequest, meeting_requirements
from perdure.recall.vectors import CHANCES, PAIRED, SAMPLE, VectorBuilder, Vectors
from perdure.text.bm25 import WordCounts
from perdure.values import replace

if TYPE_CHECKING:
    from perdure.embed.port import Generation
    from perdure.recall.candidates import QueryVector
    from perdure.store.capabilities import SearchesInside, SearchReader
    from perdure.store.port import IndexRow

IN_DATABASE: Final = "Searched inside the database, which compared all {:,} memories of {!r}."
# Half precision may take two of nearly the same distance the wrong way round.
_MORE: Final = 20
_MOST_NOT_COMPARED: Final = 1000
_NO_FILTER: Final = Filter(hidden=ON_REQUEST)


class PartOfIndex:
    """For one request in one namespace. `waiting` memories have no vector yet; the notes say what was not looked at."""

    def __init__(
        self, store: SearchesInside, name: str, generation: Generation, request: SearchRequest, query: ParsedQuery
    ) -> None:
        self._store, self._name, self._generation = store, name, generation
        self._request, self._query = request, query
        self._rows: dict[int, IndexRow] = {}
        self._filters: list[Filter] = []
        self._counts = WordCounts(0, 0, {})
        self._embedded = 0
        self._taken: tuple[Vectors, Vectors] | None = None
        self.waiting = 0
        self.notes: list[str] = []

    def by_words(self) -> Snapshot:
        """The best by words, and who is named: whoever embeds the question has to know that."""
        with self._store.searching(self._name) as reader:
            documents, words = reader.totals()
            self._counts = WordCounts(documents, words, {})
            self.notes.append(IN_DATABASE.format(documents, self._name))
            self._filters = self._allowed(reader)
            numbers = set(self._worded(reader, self._query, self._filters))
            numbers.update(self._named(reader))
            self._read(reader, numbers)
        return self._snapshot()

    def by_meaning(self, embedding: QueryVector) -> Snapshot:
        """These, the nearest by meaning, and what stands around all of them."""
        request, generation = self._request, self._generation
        numbers = set(self._rows)
        with self._store.searching(self._name) as reader:
            if embedding.unsaid:
                numbers.update(self._worded(reader, self._query.without(embedding.unsaid), self._filters))
            question = embedding.vector.astype("<f4").tobytes()
            limit = request.candidates + _MORE
            for filter in self._filters:
                numbers.update(reader.nearest(generation, question, CHANCES, filter, request.now, limit))
            numbers.update(reader.not_compared(generation, _MOST_NOT_COMPARED))
            if request.recipe.conversation_weight:
                # What stands beside a candidate may become one, and then needs what stands beside it.
                numbers.update(reader.around(list(numbers), 2 * REACH, facts=request.looks_back))
            if request.recipe.weights.get("observations"):
                numbers.update(reader.most_observed())
            self._read(reader, numbers)
            self._embedded, self.waiting = reader.waiting(generation, request.filter.hidden)
            self._taken = self._sample(reader)
        return self._snapshot()

    def _allowed(self, reader: SearchReader) -> list[Filter]:
        """What may be an answer, and which facts that hold no more may stand for one."""
        filters, required = [self._request.filter], self._query.required
        if self._request.looks_back and (ended := reader.numbers(superseded_facts(self._request.filter))):
            filters.append(replace(superseded_facts(self._request.filter), numbers=tuple(ended)))
        if required is None:
            return filters
        numbers, complete = reader.numbers_with_all(required.words)
        self.notes += () if complete else (OUT_OF_TIME,)
        allowed: list[Filter] = []
        for filter in filters:
            among = set(numbers) if filter.numbers is None else set(numbers).intersection(filter.numbers)
            passing = reader.numbers(replace(filter, numbers=tuple(among)))
            meeting, noted = meeting_requirements(required, passing, reader.fetch)
            self.notes += noted
            allowed.append(replace(filter, numbers=tuple(meeting)))
        return allowed

    def _named(self, reader: SearchReader) -> Iterable[int]:
        """Something of everybody whose name stands in the question, whatever the filter: what they say, and where they
        give that name to themselves. Of anybody at all, because it counts whether somebody speaks here.
        """
        asked, speakers = [word.casefold() for word in self._query.text.split()], reader.speakers()
        yield from (number for number, _ in speakers[:1])
        for number, speaker in speakers:
            if any(name in word for name in speaker.casefold().split() for word in asked):
                yield number
        if speakers and self._request.filter != _NO_FILTER:
            yield from self._worded(reader, self._query, [_NO_FILTER])

    def _worded(self, reader: SearchReader, query: ParsedQuery, filters: Sequence[Filter]) -> Iterable[int]:
        counts = None
        if query.is_long:
            counts = reader.word_counts(query.words)
            query = query.rarest(counts)
        for filter in filters if query.words else ():
            found = reader.keyword_search(query.words, filter, self._request.now, self._request.candidates, counts)
            if not found.complete and OUT_OF_TIME not in self.notes:
                self.notes.append(OUT_OF_TIME)
            counts = counts or found.counts
            yield from (one.number for one in found.best)
        if counts is not None:
            self._counts = replace(self._counts, containing={**self._counts.containing, **counts.containing})

    def _read(self, reader: SearchReader, numbers: set[int]) -> None:
        missing = sorted(numbers - self._rows.keys())
        if missing:
            self._rows |= {row.number: row for row in reader.index_rows_of(missing, self._generation)}

    def _sample(self, reader: SearchReader) -> tuple[Vectors, Vectors]:
        step, wide_step = (max(1, self._counts.documents // rows) for rows in (SAMPLE, PAIRED))
        taken = reader.taken(self._generation, step, wide_step)
        return (
            self._vectors([data for place, data in taken if place % step == 0]),
            self._vectors([data for place, data in taken if place % wide_step == 0]),
        )

    def _vectors(self, given: Sequence[bytes]) -> Vectors:
        dimensions = self._generation.dimensions
        builder = VectorBuilder(dimensions, exact=True)
        windows = [np.frombuffer(data, "<f4").reshape(-1, dimensions) for data in given]
        if windows:
            builder.extend(np.stack([each[0] for each in windows]), np.ones(len(windows), np.bool_))
        for row, each in enumerate(windows):
            if len(each) > 1:
                builder.add_windows(row, each[1:])
        return builder.view()

    def _snapshot(self) -> Snapshot:
        rows = [self._rows[number] for number in sorted(self._rows)]
        snapshot = NamespaceIndex(self._name, self._generation).filled(rows)
        documents, words, containing = self._counts.documents, self._counts.words, self._counts.containing
        return replace(
            snapshot,
            lexical=replace(snapshot.lexical, documents=documents, words=words, containing=containing),
            vectors=replace(snapshot.vectors, count=self._embedded, taken=self._taken),
        )

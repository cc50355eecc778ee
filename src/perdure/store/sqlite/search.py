"""Keyword search on disk, without an index in memory: FTS5 finds the candidates, our own BM25 scores them."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from types import TracebackType
from typing import Final, NamedTuple, Self, cast

import apsw

from perdure.errors import IndexDamaged
from perdure.model import Filter
from perdure.store.port import KeywordSearch, NumberSearch, Scored
from perdure.store.rows import NUMBER_MASK, range_of
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.filters import conditions
from perdure.store.sqlite.sql import SQL
from perdure.store.term_scoring import QueryTerms, TermScorer
from perdure.text.bm25 import K1, WordCounts
from perdure.text.entry import term_hash
from perdure.values import replace

# Words not counted by then are left out, and memories not scored by then are not in the answer.
_COUNTING_SECONDS: Final = 1.0
_SCORING_SECONDS: Final = 1.0
_STEPS_BETWEEN_LOOKS: Final = 20_000
# How many memories are scored. Enough that the best are among them, few enough for a few milliseconds.
_CANDIDATES: Final = 500
# A filter that lets no more than this pass is answered by scoring every one of them.
_MAX_SCORED_ALL: Final = 2000
# How many numbers of memories are read from the index to find candidates, and how many memories are scored at most.
_POSTINGS: Final = 40_000
_MAX_CANDIDATES: Final = 10_000
_CONJUNCTIONS: Final = 6
_NO_FILTER: Final = Filter()


class _CountedWord(NamedTuple):
    """A stem of the query by its hash, one word for it, quoted for FTS5, and how many memories hold it."""

    term: int
    quoted: str
    containing: int


class _QueryWord(NamedTuple):
    """As above, with what a memory gets for holding it."""

    quoted: str
    containing: int
    worth: float


class _TimeLimit:
    """Statements of a connection end when the time is over. `expired` says that it was."""

    def __init__(self, connection: Database, seconds: float) -> None:
        self._connection = connection
        self._seconds = seconds
        self.expired = False

    def __enter__(self) -> Self:
        end = time.monotonic() + self._seconds
        self._connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS_BETWEEN_LOOKS)
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> bool:
        self._connection.set_progress_handler(None)
        if isinstance(error, apsw.CorruptError | apsw.SQLError):
            raise IndexDamaged(f"The full-text index cannot be read: {error}.") from error
        self.expired = isinstance(error, apsw.InterruptError)
        return self.expired


class WordCounter:
    """How many memories of a namespace hold each word, and each part of a word that is made of several. Words of one
    stem count once, words that no memory holds not at all, and words that could not be counted in time are left out.
    """

    def __init__(self, connection: Database, namespace: int, words: Sequence[str]) -> None:
        self.counted: list[_CountedWord] = []
        self.query = QueryTerms(words)
        first, last = range_of(namespace)
        with _TimeLimit(connection, _COUNTING_SECONDS) as limit:
            for stem, word in self.query.words.items():
                quoted = _quoted(word)
                containing = connection.execute(SQL["count_word"], (quoted, first, last)).get
                if containing:
                    self.counted.append(_CountedWord(term_hash(stem), quoted, containing))
        self.complete = not limit.expired

    def counts(self, documents: int, words: int) -> WordCounts:
        return WordCounts(documents, words, {word.term: word.containing for word in self.counted})


def numbers_with_all(connection: Database, namespace: int, words: Sequence[str]) -> NumberSearch:
    stems = QueryTerms(words).stems
    match = " AND ".join(
        f"({_quoted(word)} OR ({' AND '.join(map(_quoted, stems.parts[stem].values()))}))"
        if stem in stems.parts
        else _quoted(word)
        for stem, word in stems.words.items()
    )
    if not match:
        return NumberSearch()
    numbers: list[int] = []
    with _TimeLimit(connection, _COUNTING_SECONDS) as limit:
        numbers = json.loads(connection.execute(SQL["memories_with_word"], (match, *range_of(namespace))).get)
    return NumberSearch(numbers, not limit.expired)


class DiskSearch:
    """Candidates are chosen by which words they hold, rare words first, and then scored."""

    def __init__(
        self,
        connection: Database,
        namespace: int,
        counter: WordCounter,
        counts: WordCounts,
        filter: Filter,
        now: datetime,
    ) -> None:
        self._connection = connection
        self._range = range_of(namespace)
        self._counter = counter
        self._counts = counts
        self._has_filter = replace(filter, hidden=()) != _NO_FILTER
        self._conditions, self._bindings = conditions(namespace, filter, now)
        self._scorer = TermScorer(counter.query, counts, {word.term: word.containing for word in counter.counted})
        self._words = [
            _QueryWord(quoted, containing, self._scorer.worth[term])
            for term, quoted, containing in sorted(counter.counted, key=lambda word: word.containing)
        ]
        self._scores: dict[int, float] = {}
        self._terms: dict[int, bytes] = {}

    def best(self, limit: int) -> KeywordSearch:
        complete = self._counter.complete
        if self._words and limit > 0:
            with _TimeLimit(self._connection, _SCORING_SECONDS) as scoring:
                if not self._has_filter or not self._score_all_allowed():
                    self._score_candidates(limit)
            complete = complete and not scoring.expired
        ranked = sorted(self._scores.items(), key=lambda item: (-item[1], -item[0]))[:limit]
        best = [Scored(slot & NUMBER_MASK, score, self._terms[slot]) for slot, score in ranked]
        return KeywordSearch(best, self._counts, complete)

    def _score_all_allowed(self) -> bool:
        """Score every memory that the filter lets pass, if they are few."""
        sql = f"{SQL['allowed']} {self._conditions} {SQL['first_few']}"
        slots = [slot for (slot,) in self._connection.execute(sql, {**self._bindings, "limit": _MAX_SCORED_ALL + 1})]
        if len(slots) > _MAX_SCORED_ALL:
            return False
        self._score(slots)
        return True

    def _score_candidates(self, limit: int) -> None:
        room = max(_CANDIDATES, 2 * limit)
        postings_left = _POSTINGS
        worth: dict[int, float] = {}
        if len(self._words) == 1 and self._words[0].containing > room:
            self._score_common(self._words, room)
            return
        for index, word in enumerate(self._words):
            rest = self._words[index:]
            # Listing a common word costs more than scoring what the rarer ones found: perhaps that is enough.
            if word.containing > room and len(worth) >= limit and self._suffices(worth, rest, limit, room):
                return
            postings_left -= word.containing
            if postings_left < 0:
                self._score_promising(worth, limit, room)
                self._score_common(self._words[max(0, index - 1) :], room)
                return
            numbers = self._connection.execute(SQL["memories_with_word"], (word.quoted, *self._range)).get
            for number in json.loads(numbers):
                worth[number] = worth.get(number, 0.0) + word.worth
        self._score_promising(worth, limit, room)

    def _suffices(self, worth: dict[int, float], rest: list[_QueryWord], limit: int, room: int) -> bool:
        """Whether no memory with the remaining words alone can come in: each adds at most its worth times K1 + 1."""
        remaining = sum(word.worth for word in rest)
        if len(worth) > room or remaining > max(worth.values()):
            return False
        self._score_promising(worth, limit, room)
        worst = sorted(self._scores.values(), reverse=True)[limit - 1 : limit]
        return worst >= [remaining * (K1 + 1)]

    def _score_promising(self, worth: dict[int, float], limit: int, room: int) -> None:
        """Score those whose words are worth most together, of equal ones the newest. More of them follow, `room` at a
        time, only while the filter leaves too few.
        """
        first = self._range[0]
        portions = 0
        while worth:
            # The value down to which there are at least `room`; the lowest one when there are fewer.
            tally, held, threshold = Counter(worth.values()), 0, min(worth.values())
            for value in sorted(tally, reverse=True):
                held += tally[value]
                if held >= room:
                    threshold = value
                    break
            equal = sorted((number for number, value in worth.items() if value == threshold), reverse=True)
            numbers = [number for number, value in worth.items() if value > threshold]
            numbers += equal[: room - len(numbers)]
            self._score([first | number for number in numbers])
            if len(self._scores) >= limit or portions * room >= _MAX_CANDIDATES:
                return
            portions += 1
            taken = set(numbers)
            worth = {number: value for number, value in worth.items() if number not in taken}

    def _score_common(self, words: list[_QueryWord], room: int) -> None:
        """Score the newest memories with all the common words, then with all but the most common one, and so on."""
        sql = f"{SQL['newest_with_words']} {self._conditions} {SQL['only_the_newest']}"
        quoted_words = [word.quoted for word in words[:_CONJUNCTIONS]]
        for count in range(len(quoted_words), 0, -1):
            match = " AND ".join(quoted_words[:count])
            if count < len(quoted_words):
                match = f"({match}) NOT {quoted_words[count]}"
            rows = self._connection.execute(sql, {**self._bindings, "match": match, "limit": room})
            slots = [slot for (slot,) in rows]
            self._score(slots)
            room -= len(slots)
            if room <= 0:
                return

    def _score(self, slots: list[int]) -> None:
        sql = f"{SQL['candidates']} {self._conditions}"
        new = [slot for slot in slots if slot not in self._scores]
        rows = self._connection.execute(sql, {**self._bindings, "slots": json.dumps(new)})
        for slot, score, packed in self._scorer.scored(cast("Iterable[tuple[int, bytes]]", rows)):
            self._scores[slot], self._terms[slot] = score, packed


def _quoted(word: str) -> str:
    """As FTS5 takes it for text and nothing else."""
    return '"' + word.replace('"', '""') + '"'

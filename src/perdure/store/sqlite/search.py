"""The best memories by words alone, without an index in memory: found by FTS5, scored by our own BM25."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

import apsw

from perdure.errors import IndexDamaged
from perdure.model import Filter
from perdure.store.port import KeywordSearch, NumberSearch, Scored
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.filters import Bindings, conditions, ordinary
from perdure.store.sqlite.rows import NUMBER_MASK, range_of
from perdure.store.sqlite.sql import SQL
from perdure.text.bm25 import K1, WordCounts, length_norm, saturation
from perdure.text.entry import TERM_BYTES, term_hash, terms_length
from perdure.text.words import clean, query_words, terms

_COUNT: Final = SQL["count_word"]
# Words not counted by then are left out, and memories not scored by then are not in the answer.
_COUNTING_SECONDS: Final = 1.0
_SCORING_SECONDS: Final = 1.0
_STEPS_BETWEEN_LOOKS: Final = 20_000
# How many memories are scored. Enough that the best are among them, few enough for a few milliseconds.
_CANDIDATES: Final = 500
_FEW: Final = 2000
# How many numbers of memories are read from the index to find them, and how many memories are looked at at most.
_POSTINGS: Final = 40_000
_MOST: Final = 10_000
_CONJUNCTIONS: Final = 6
_NO_FILTER: Final = Filter()


@dataclass(frozen=True, slots=True)
class Word:
    """One word of the query: how it is asked for, how it stands in `terms`, in how many memories, what it is worth."""

    quoted: str
    packed: bytes
    containing: int
    idf: float


class _Counted(NamedTuple):
    """A stem of the query, one word for it, quoted, and how many memories hold it."""

    term: int
    quoted: str
    containing: int


def keyword(
    connection: Database,
    namespace: int,
    words: Sequence[str],
    filter: Filter,
    now: datetime,
    limit: int,
    counts: WordCounts | None = None,
) -> KeywordSearch:
    counted: list[_Counted] = []
    complete = _in_time(connection, _COUNTING_SECONDS, lambda: _count(connection, namespace, words, counted))
    if not counted or limit <= 0:
        return KeywordSearch([], complete)
    counts = counts or _word_counts(connection, namespace, counted)
    search = _Search(
        connection, namespace, _worths(counted, counts), counts.average, *_conditions(namespace, filter, now)
    )

    def score() -> None:
        if filter == _NO_FILTER or not search.score_all():
            search.score_best(limit)

    complete = _in_time(connection, _SCORING_SECONDS, score) and complete
    return KeywordSearch(search.ranked(limit), complete)


def holding(connection: Database, namespace: int, words: Sequence[str]) -> NumberSearch:
    match = " AND ".join(map(_quoted, _stems(words).values()))
    found: list[int] = []

    def look() -> None:
        found.extend(json.loads(connection.execute(SQL["memories_with_word"], (match, *range_of(namespace))).get))

    complete = _in_time(connection, _COUNTING_SECONDS, look) if match else True
    return NumberSearch(found, complete)


def word_counts(connection: Database, namespace: int, words: Sequence[str]) -> WordCounts:
    counted: list[_Counted] = []
    _in_time(connection, _COUNTING_SECONDS, lambda: _count(connection, namespace, words, counted))
    return _word_counts(connection, namespace, counted)


class _Search:
    """Memories are chosen by which words they hold, rare ones first, and then scored."""

    def __init__(
        self,
        connection: Database,
        namespace: int,
        words: list[Word],
        average: float,
        wanted: str,
        bindings: Bindings,
    ) -> None:
        self._connection = connection
        self._range = range_of(namespace)
        self._words = words
        self._average = average
        self._wanted = wanted
        self._bindings = bindings
        self._scores: dict[int, float] = {}

    def ranked(self, limit: int) -> list[Scored]:
        best = sorted(self._scores.items(), key=lambda item: (-item[1], -item[0]))[:limit]
        return [Scored(slot & NUMBER_MASK, score) for slot, score in best]

    def score_all(self) -> bool:
        """A filter that lets few memories pass: score each of them."""
        sql = f"{SQL['allowed']} {self._wanted} {SQL['first_few']}"
        slots = [slot for (slot,) in self._connection.execute(sql, {**self._bindings, "limit": _FEW + 1})]
        if len(slots) > _FEW:
            return False
        self._score(slots)
        return True

    def score_best(self, limit: int) -> None:
        room = max(_CANDIDATES, 2 * limit)
        left = _POSTINGS
        worth: dict[int, float] = {}
        if len(self._words) == 1 and self._words[0].containing > room:
            self._score_common(self._words, room)
            return
        for count, word in enumerate(self._words):
            rest = self._words[count:]
            # Listing a common word costs more than scoring what the rarer ones found: perhaps that is enough.
            if word.containing > room and len(worth) >= limit and self._suffices(worth, rest, limit, room):
                return
            left -= word.containing
            if left < 0:
                self._score_promising(worth, limit, room)
                self._score_common(self._words[max(0, count - 1) :], room)
                return
            self._add(word, worth)
        self._score_promising(worth, limit, room)

    def _suffices(self, worth: dict[int, float], rest: list[Word], limit: int, room: int) -> bool:
        """Could a memory with the remaining words alone still come in? Each adds at most its idf times K1 + 1."""
        if len(worth) > room or sum(word.idf for word in rest) > max(worth.values()):
            return False
        self._score_promising(worth, limit, room)
        worst = sorted(self._scores.values(), reverse=True)[limit - 1 : limit]
        return worst >= [sum(word.idf for word in rest) * (K1 + 1)]

    def _add(self, word: Word, worth: dict[int, float]) -> None:
        found: str = self._connection.execute(SQL["memories_with_word"], (word.quoted, *self._range)).get
        for number in json.loads(found):
            worth[number] = worth.get(number, 0.0) + word.idf

    def _score_promising(self, worth: dict[int, float], limit: int, room: int) -> None:
        """Those whose words are worth most together, and more of them only while the conditions leave too few."""
        first = self._range[0]
        for looked_at, numbers in enumerate(_portions(worth, room)):
            self._score([first | number for number in numbers])
            if len(self._scores) >= limit or looked_at * room >= _MOST:
                return

    def _score_common(self, words: list[Word], room: int) -> None:
        for match in _narrowing(words):
            slots = self._newest(match, room)
            self._score(slots)
            room -= len(slots)
            if room <= 0:
                return

    def _newest(self, match: str, limit: int) -> list[int]:
        sql = f"{SQL['newest_with_words']} {self._wanted} {SQL['only_the_newest']}"
        rows = self._connection.execute(sql, {**self._bindings, "match": match, "limit": limit})
        return [slot for (slot,) in rows]

    def _score(self, slots: list[int]) -> None:
        sql = f"{SQL['candidates']} {self._wanted}"
        new = [slot for slot in slots if slot not in self._scores]
        for slot, packed in self._connection.execute(sql, {**self._bindings, "slots": json.dumps(new)}):
            norm = length_norm(float(terms_length(packed)), self._average)
            score = 0.0
            for word in self._words:
                frequency = _frequency(packed, word.packed)
                if frequency:
                    score += word.idf * saturation(float(frequency), norm)
            if score:
                self._scores[slot] = score


def _conditions(namespace: int, filter: Filter, now: datetime) -> tuple[str, Bindings]:
    wanted, bindings = conditions(namespace, filter)
    also, more = ordinary(filter, now)
    return " AND ".join(wanted + also), bindings | more


def _count(connection: Database, namespace: int, words: Sequence[str], counted: list[_Counted]) -> None:
    """Words of one stem count once, words that no memory holds not at all."""
    first, last = range_of(namespace)
    for stem, word in _stems(words).items():
        quoted = _quoted(word)
        containing = connection.execute(_COUNT, (quoted, first, last)).get
        if containing:
            counted.append(_Counted(term_hash(stem), quoted, containing))


def _word_counts(connection: Database, namespace: int, counted: Sequence[_Counted]) -> WordCounts:
    documents, total = connection.execute(SQL["word_statistics"], (namespace,)).fetchall()[0]
    return WordCounts(documents, total, {one.term: one.containing for one in counted})


def _worths(counted: Sequence[_Counted], counts: WordCounts) -> list[Word]:
    """Rarest first."""
    return [
        Word(quoted, term.to_bytes(4, "little"), containing, counts.idf(term, containing))
        for term, quoted, containing in sorted(counted, key=lambda one: one.containing)
    ]


def _stems(words: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        stems = terms(clean(word))
        if len(stems) == 1:
            found.setdefault(stems[0], clean(word))
        elif stems:
            found |= {terms(part)[0]: part for part in query_words(word) if terms(part)}
    return found


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def _portions(worth: dict[int, float], room: int) -> Iterator[list[int]]:
    """All memories in `worth`, those that promise most first, and of those that promise the same the newest."""
    while worth:
        threshold = _threshold(Counter(worth.values()), room)
        portion = [number for number, value in worth.items() if value > threshold]
        same = [number for number, value in worth.items() if value == threshold]
        portion += sorted(same, reverse=True)[: room - len(portion)]
        yield portion
        taken = set(portion)
        worth = {number: value for number, value in worth.items() if number not in taken}


def _threshold(counts: Counter[float], room: int) -> float:
    """The value down to which there are at least `room`; the lowest one when there are fewer."""
    held = 0
    for value in sorted(counts, reverse=True):
        held += counts[value]
        if held >= room:
            return value
    return min(counts)


def _narrowing(common: list[Word]) -> Iterator[str]:
    """Memories with all the common words, then with all but the most common one, and so on, none of them twice."""
    kept = common[:_CONJUNCTIONS]
    for count in range(len(kept), 0, -1):
        match = " AND ".join(word.quoted for word in kept[:count])
        yield f"({match}) NOT {kept[count].quoted}" if count < len(kept) else match


def _frequency(packed: bytes, term: bytes) -> int:
    at = packed.find(term)
    while at >= 0 and at % TERM_BYTES:
        at = packed.find(term, at + 1)
    return packed[at + 4] if at >= 0 else 0


def _in_time(connection: Database, seconds: float, work: Callable[[], None]) -> bool:
    """Whether it came to its end before the time did."""
    end = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS_BETWEEN_LOOKS)
    try:
        work()
    except apsw.InterruptError:
        return False
    except (apsw.CorruptError, apsw.SQLError) as error:
        raise IndexDamaged(f"The full-text index cannot be read: {error}.") from error
    finally:
        connection.set_progress_handler(None)
    return True

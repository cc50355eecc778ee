"""The best memories by words alone, without an index in memory: found by FTS5, scored by our own BM25."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from perdure.model import Filter
from perdure.store.port import Scored
from perdure.store.sqlite.database import Database
from perdure.store.sqlite.filters import Bindings, conditions, ordinary
from perdure.store.sqlite.rows import NUMBER_MASK, range_of
from perdure.store.sqlite.sql import SQL
from perdure.text.bm25 import K1, idf, length_norm, saturation
from perdure.text.entry import TERM_BYTES, term_hash, terms_length
from perdure.text.words import clean, query_words, terms

_COUNT: Final = SQL["count_word"]
_SECONDS: Final = 2.0
_STEPS_BETWEEN_LOOKS: Final = 20_000
# How many memories are looked at closely. Enough that the best are among them, few enough for a few milliseconds.
_CANDIDATES: Final = 1000
_CONJUNCTIONS: Final = 6


@dataclass(frozen=True, slots=True)
class Word:
    """One word of the query: how it is asked for, how it stands in `terms`, in how many memories, what it is worth."""

    quoted: str
    packed: bytes
    containing: int
    idf: float


def keyword(
    connection: Database, namespace: int, words: Sequence[str], filter: Filter, now: datetime, limit: int
) -> list[Scored]:
    with _deadline(connection):
        documents, total = connection.execute(SQL["word_statistics"], (namespace,)).fetchall()[0]
        known = _look_up(connection, namespace, words, documents)
        if not known or limit <= 0:
            return []
        search = _Search(connection, namespace, known, total / documents, filter, now)
        return search.best(limit)


class _Search:
    """Rare words first. Common ones are searched for only when the rare ones cannot fill the list for certain."""

    def __init__(
        self,
        connection: Database,
        namespace: int,
        words: list[Word],
        average: float,
        filter: Filter,
        now: datetime,
    ) -> None:
        self._connection = connection
        self._words = words
        self._average = average
        wanted, self._bindings = conditions(namespace, filter)
        also, more = ordinary(filter, now)
        self._bindings |= more
        self._sql = f"{SQL['candidates']} {' AND '.join(wanted + also)} {SQL['candidates_order']}"
        self._found: dict[int, float] = {}

    def best(self, limit: int) -> list[Scored]:
        room = max(_CANDIDATES, 2 * limit)
        rare, common = _split(self._words, room)
        if rare:
            self._search(" OR ".join(word.quoted for word in rare), room)
        if not self._certain(common, limit):
            for match in _narrowing(common):
                self._search(match, room - len(self._found))
                if len(self._found) >= room:
                    break
        ranked = sorted(self._found.items(), key=lambda item: (-item[1], item[0]))[:limit]
        return [Scored(slot & NUMBER_MASK, score) for slot, score in ranked]

    def _certain(self, common: list[Word], limit: int) -> bool:
        """Could a memory with common words alone still come in? It is worth at most the sum of what they can add."""
        if not common:
            return True
        if len(self._found) < limit:
            return False
        worst = sorted(self._found.values(), reverse=True)[limit - 1]
        return worst >= sum(word.idf * (K1 + 1) for word in common)

    def _search(self, match: str, limit: int) -> None:
        bindings: Bindings = {**self._bindings, "match": match, "limit": limit}
        for slot, packed in self._connection.execute(self._sql, bindings):
            self._found[slot] = self._score(packed)

    def _score(self, packed: bytes) -> float:
        norm = length_norm(float(terms_length(packed)), self._average)
        return sum(
            word.idf * saturation(float(frequency), norm)
            for word in self._words
            if (frequency := _frequency(packed, word.packed))
        )


def _look_up(connection: Database, namespace: int, words: Sequence[str], documents: int) -> list[Word]:
    """Rarest first; words of one stem count once, words that no memory holds not at all."""
    first, last = range_of(namespace)
    found: list[Word] = []
    for stem, word in _stems(words).items():
        quoted = '"' + word.replace('"', '""') + '"'
        containing = connection.execute(_COUNT, (quoted, first, last)).get
        if containing:
            packed = term_hash(stem).to_bytes(4, "little")
            found.append(Word(quoted, packed, containing, idf(documents, containing)))
    return sorted(found, key=lambda word: word.containing)


def _stems(words: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        stems = terms(clean(word))
        if len(stems) == 1:
            found.setdefault(stems[0], clean(word))
        elif stems:
            found |= {terms(part)[0]: part for part in query_words(word) if terms(part)}
    return found


def _split(words: list[Word], room: int) -> tuple[list[Word], list[Word]]:
    """As many of the rarest as can be looked at all together, and the rest."""
    total = 0
    for count, word in enumerate(words):
        total += word.containing
        if total > room:
            return words[:count], words[count:]
    return words, []


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


@contextmanager
def _deadline(connection: Database) -> Generator[None]:
    end = time.monotonic() + _SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS_BETWEEN_LOOKS)
    try:
        yield
    finally:
        connection.set_progress_handler(None)

"""The facts that are known, in one conversation or in all of a namespace, and how near a text is to each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from heapq import nsmallest
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from perdure.learn.similar import unpacked
from perdure.model import FACT_CATEGORIES, Filter, Record
from perdure.store.port import Reader
from perdure.text.entry import passage_hash
from perdure.text.words import searchable, terms
from perdure.visibility import is_visible, places_of

if TYPE_CHECKING:
    from datetime import datetime

    from numpy.typing import NDArray

    from perdure.embed.port import Generation
    from perdure.settings import Settings


# As many as a cosine of 32 bits has.
_DIGITS: Final = 6
_LEAST_ROWS: Final = 64


class NearFact(NamedTuple):
    """`cosine` is None where one of the two has no vector; then they are compared by their words."""

    record: Record
    cosine: float | None


class SourceMessage(NamedTuple):
    """The message that told a fact, in the third person, its vector, its own words, and whose they are."""

    text: str
    vector: NDArray[np.float32] | None
    said: str = ""
    speaker: str = ""


def fact_filter(conversation: str | None) -> Filter:
    return Filter(conversation_id=conversation, categories=FACT_CATEGORIES)


def is_fact(record: Record, conversation: str | None, now: datetime) -> bool:
    """Whether it is a fact that holds, of this conversation or, without one, of the namespace. What has a key is
    somebody's to keep, and what an import may tell in one project alone says nothing elsewhere.
    """
    own = record.conversation_id == conversation if conversation else places_of(record) is None
    is_kept = record.category in FACT_CATEGORIES and record.key is None
    return own and is_kept and is_visible(record, Filter(), max(now, record.valid_at or now))


def scope_of(settings: Settings, conversation: str) -> str | None:
    """The conversation with whose facts those of this one are compared; None for all of the namespace."""
    return conversation if settings.learn_scope == "conversation" else None


class KnownFacts:
    """The active facts of one conversation, or without one of the namespace, as they were when they were read, and
    those that were added since.
    """

    def __init__(self, reader: Reader, conversation: str | None, generation: Generation | None, now: datetime) -> None:
        self.conversation, self.generation, self._now = conversation, generation, now
        self.records: dict[str, Record] = {}
        self.sayings: dict[str, SourceMessage] = {}
        # A row for each fact that ever had a vector; it grows at its end, and the id of one that is gone is empty.
        self._matrix = np.empty((0, generation.dimensions if generation else 0), np.float32)
        self._ids: list[str] = []
        self._rows: dict[str, int] = {}
        self._without_vector: dict[str, None] = {}
        self._words: dict[str, frozenset[str]] = {}
        self._holding: dict[str, set[str]] = {}
        self._read(reader, reader.numbers(fact_filter(conversation)))

    def refresh(self, reader: Reader, seq: int) -> None:
        """Look again at what was written behind this position of the log."""
        changed = set(reader.changed_after(seq))
        gone = [id for id, record in self.records.items() if record.number in changed]
        for id in gone:
            self.remove(id)
        self._read(reader, sorted(changed))

    def add(self, record: Record, vector: NDArray[np.float32] | None) -> None:
        self.remove(record.id)
        self.records[record.id] = record
        if vector is None:
            self._without_vector[record.id] = None
            return
        row = self._rows[record.id] = len(self._ids)
        if row == len(self._matrix):
            grown = np.empty((max(2 * row, _LEAST_ROWS), len(vector)), np.float32)
            grown[:row] = self._matrix[:row]
            self._matrix = grown
        self._matrix[row] = vector
        self._ids.append(record.id)

    def remove(self, id: str) -> None:
        if self.records.pop(id, None) is None:
            return
        self._without_vector.pop(id, None)
        for word in self._words.pop(id, ()):
            self._holding[word].discard(id)
        if id in self._rows:
            self._ids[self._rows.pop(id)] = ""

    def nearest(self, text: str, vector: NDArray[np.float32] | None, limit: int) -> list[NearFact]:
        """The nearest by cosine, best first; without vectors those that share the most words, if they share any."""
        near: list[NearFact] = []
        if vector is not None and self._rows:
            cosines = self._matrix[: len(self._ids)] @ vector
            gone = len(self._ids) - len(self._rows)
            order = [row for row in np.argsort(-cosines, kind="stable")[: limit + gone].tolist() if self._ids[row]]
            near = [
                NearFact(self.records[self._ids[row]], round(float(cosines[row]), _DIGITS)) for row in order[:limit]
            ]
        others = self.records if vector is None else self._without_vector
        return [*near, *(NearFact(record, None) for record in self._by_words(text, others, limit))]

    def _by_words(self, text: str, ids: Collection[str], limit: int) -> list[Record]:
        """Those that share the largest part of their words with the text, best first."""
        if not ids:
            return []
        for id in ids if len(self._words) < len(self.records) else ():
            if id not in self._words:
                words = self._words[id] = frozenset(terms(searchable(self.records[id].text)))
                for word in words:
                    self._holding.setdefault(word, set()).add(id)
        shared: Counter[str] = Counter()
        for word in set(terms(searchable(text))):
            shared.update(self._holding.get(word, ()))
        shares = (
            (-count / len(self._words[id]), self.records[id].number, id) for id, count in shared.items() if id in ids
        )
        return [self.records[id] for *_, id in nsmallest(limit, shares)]

    def _read(self, reader: Reader, numbers: Sequence[int]) -> None:
        found = [one for one in reader.fetch(sorted(numbers)) if is_fact(one, self.conversation, self._now)]
        hashes = {record.id: passage_hash(record) for record in found}
        if self.generation is None:
            for record in found:
                self.add(record, None)
            return
        stored = reader.passage_vectors(self.generation, list(hashes.values()))
        for record in found:
            vector = stored.get(hashes[record.id])
            self.add(record, None if vector is None else unpacked(vector, self.generation))

"""The facts that are known in one conversation, and how near a text is to each of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from perdure.model import FACT_CATEGORIES, Filter, Record
from perdure.store.port import Reader
from perdure.text.entry import passage_hash
from perdure.text.words import searchable, terms
from perdure.visibility import is_visible

if TYPE_CHECKING:
    from datetime import datetime

    from numpy.typing import NDArray

    from perdure.embed.port import Generation


# As many as a cosine of 32 bits has.
_DIGITS: Final = 6


class NearFact(NamedTuple):
    """`cosine` is None where one of the two has no vector; then they are compared by their words."""

    record: Record
    cosine: float | None


def fact_filter(conversation: str) -> Filter:
    return Filter(conversation_id=conversation, categories=FACT_CATEGORIES)


def is_fact(record: Record, conversation: str, now: datetime) -> bool:
    """Whether it is a fact of this conversation that holds. What has a key is somebody's to keep."""
    own = record.conversation_id == conversation and record.category in FACT_CATEGORIES and record.key is None
    return own and is_visible(record, Filter(), max(now, record.valid_at or now))


class KnownFacts:
    """The active facts of one conversation, as they were when they were read, and those that were added since."""

    def __init__(self, reader: Reader, conversation: str, generation: Generation | None, now: datetime) -> None:
        self.conversation, self.generation, self._now = conversation, generation, now
        self.records: dict[str, Record] = {}
        self._vectors: dict[str, NDArray[np.float32]] = {}
        self._words: dict[str, frozenset[str]] = {}
        self._read(reader, reader.numbers(fact_filter(conversation)))

    def refresh(self, reader: Reader, seq: int) -> None:
        """Look again at what was written behind this position of the log."""
        changed = set(reader.changed_after(seq))
        gone = [id for id, record in self.records.items() if record.number in changed]
        for id in gone:
            self.remove(id)
        self._read(reader, sorted(changed))

    def add(self, record: Record, vector: NDArray[np.float32] | None) -> None:
        self.records[record.id] = record
        if vector is not None:
            self._vectors[record.id] = vector

    def remove(self, id: str) -> None:
        self.records.pop(id, None)
        self._vectors.pop(id, None)

    def nearest(self, text: str, vector: NDArray[np.float32] | None, limit: int) -> list[NearFact]:
        """The nearest by cosine, best first; without vectors those that share the most words, if they share any."""
        ids = [id for id in self.records if vector is not None and id in self._vectors]
        cosines = np.array([self._vectors[id] for id in ids]) @ vector if ids and vector is not None else np.array([])
        order = np.argsort(-cosines, kind="stable")[:limit]
        near = [NearFact(self.records[ids[place]], round(float(cosines[place]), _DIGITS)) for place in order]
        others = self.records.keys() - set(ids)
        return [*near, *(NearFact(record, None) for record in self._by_words(text, others, limit))]

    def _by_words(self, text: str, ids: Collection[str], limit: int) -> list[Record]:
        """Those that share the largest part of their words with the text, best first."""
        said = set(terms(searchable(text))) if ids else set[str]()
        shares: list[tuple[float, int, Record]] = []
        for id in ids:
            record = self.records[id]
            if id not in self._words:
                self._words[id] = frozenset(terms(searchable(record.text)))
            own = self._words[id]
            if shared := len(own & said) / max(len(own), 1):
                shares.append((-shared, record.number, record))
        return [record for _, _, record in sorted(shares, key=lambda row: row[:2])[:limit]]

    def _read(self, reader: Reader, numbers: Sequence[int]) -> None:
        found = [one for one in reader.fetch(sorted(numbers)) if is_fact(one, self.conversation, self._now)]
        hashes = {record.id: passage_hash(record) for record in found}
        stored: Mapping[bytes, bytes] = {}
        if self.generation is not None:
            stored = reader.passage_vectors(self.generation, list(hashes.values()))
        for record in found:
            vector = stored.get(hashes[record.id])
            self.add(record, None if vector is None else np.frombuffer(vector, dtype=np.float32))

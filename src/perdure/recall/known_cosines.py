"""The cosines of one question with learnings, kept from the last time that it was asked: no vector is read then.

A cosine belongs to a passage and not to a memory, as a vector does, so that no change can leave a stale one behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from perdure.embed.port import Generation
from perdure.recall.vectors import of_best_window
from perdure.store.port import IndexRow, Store

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FLOAT_BYTES: Final = 4
# So much of the hash of a passage tells it from others.
_HASH_BYTES: Final = 8
_PAIR_BYTES: Final = _HASH_BYTES + _FLOAT_BYTES
_PAIR: Final = np.dtype([("passage", f"V{_HASH_BYTES}"), ("cosine", "<f4")])


class KnownCosines:
    """`has_new`: some were not among those that were kept."""

    def __init__(self, question: NDArray[np.float32], generation: Generation, pairs: bytes) -> None:
        """`pairs` as `pack` makes them, of the question's vector."""
        self.question = question
        self.has_new = False
        self._generation = generation
        self._cosines = {
            pairs[start : start + _HASH_BYTES]: pairs[start + _HASH_BYTES : start + _PAIR_BYTES]
            for start in range(0, len(pairs), _PAIR_BYTES)
        }

    def of(self, rows: Sequence[IndexRow], namespace: str, store: Store) -> list[bytes | None]:
        """The cosine of each row with the question, as bytes; None where there is no vector."""
        known = self._cosines
        cosines = [None if row.vector is None else known.get(row.passage[:_HASH_BYTES], b"") for row in rows]
        new = [row.passage for row, cosine in zip(rows, cosines, strict=True) if cosine == b""]
        if not new:
            return cosines
        self.has_new = True
        with store.read(namespace) as reader:
            vectors = reader.passage_vectors(self._generation, new)
        for passage, vector in vectors.items():
            windows = np.frombuffer(vector, "<f4").reshape(-1, len(self.question))
            cosines = np.vecdot(windows, self.question)
            best = cosines.max()
            known[passage[:_HASH_BYTES]] = (of_best_window(best, len(cosines)) if len(cosines) > 1 else best).tobytes()
        return [None if row.vector is None else known.get(row.passage[:_HASH_BYTES]) for row in rows]


def pack(passages: Sequence[bytes], cosines: NDArray[np.float32]) -> bytes:
    """As a question keeps them."""
    pairs = np.empty(len(passages), _PAIR)
    pairs["passage"] = np.frombuffer(b"".join(passage[:_HASH_BYTES] for passage in passages), _PAIR["passage"])
    pairs["cosine"] = cosines
    return pairs.tobytes()

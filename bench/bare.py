"""What a search must at least do: one product of matrix and question, one MATCH of SQLite's full-text index."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from bench.corpus import Batch, Vectors
from perdure.text.words import query_words, searchable, spelled_out

_CREATE = (
    "CREATE VIRTUAL TABLE words USING fts5 (text, content = '', tokenize = 'porter unicode61 remove_diacritics 2')"
)
_INSERT = "INSERT INTO words (rowid, text) VALUES (?, ?)"
_MATCH = "SELECT rowid, rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT 100"


class Bare:
    """A full-text index as it is by default. Perdure's own stores no positions and no lengths, for which bm25() would
    read every text again: against that one anybody wins.
    """

    def __init__(self, file: Path, batches: Iterable[Batch]) -> None:
        self._connection: Any = apsw.Connection(str(file))
        self._connection.execute(_CREATE)
        parts: list[Vectors] = []
        count = 0
        for texts, vectors in batches:
            with self._connection:
                rows = ((count + at, searchable(text)) for at, text in enumerate(texts, 1))
                self._connection.executemany(_INSERT, rows)
            count += len(texts)
            parts.append(vectors)
        self._connection.execute("INSERT INTO words (words) VALUES ('optimize')")
        self._matrix = np.ascontiguousarray(np.concatenate(parts))

    def product(self, vector: Vectors) -> Vectors:
        return self._matrix @ vector

    def rows(self, vector: Vectors) -> Vectors:
        """The same in one thread. On a busy machine a product waits for its other threads, and anybody wins."""
        return np.vecdot(self._matrix, vector)

    def match(self, question: str) -> list[tuple[int, float]]:
        words = " OR ".join(f'"{word}"' for word in spelled_out(query_words(question)))
        return self._connection.execute(_MATCH, (words,)).fetchall()

    def close(self) -> None:
        self._connection.close()

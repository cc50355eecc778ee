"""A store that is large enough for an index file, and what its memories are by a full scan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from perdure import Memory
from perdure.recall.index import NamespaceIndex
from perdure.recall.vectors import Vectors
from perdure.testing.embedder import WordEmbedder

SIZE = 2200
NAMES = ("Ada", "Ben", "Cleo", "Dora")
THINGS = ("tea", "bread", "rain", "chess", "trains", "maps", "bees", "clay")
QUESTIONS = ("who likes tea?", "Ben and the bees", "rain 17", "clay", "what did Cleo say about maps?")


def opened(home: Path) -> Memory:
    return Memory(home / "m.db", embedder=WordEmbedder(), actor="ada")


def made(home: Path, size: int = SIZE) -> Path:
    """Without an index file: nobody has asked anything yet."""
    with opened(home) as memory:
        memory.import_(
            {
                "text": f"{NAMES[n % 4]} {THINGS[n % 8]} {n}",
                "category": "interest" if n % 3 else "preference",
                "conversation_id": f"talk {n // 50}",
                "metadata": {"speaker": NAMES[n % 4]},
            }
            for n in range(size)
        )
        memory.work()
    for file in index_files(home):
        file.unlink()
    return home


def index_files(home: Path) -> list[Path]:
    folder = home / "m.db-index"
    return sorted(path for path in folder.iterdir() if path.name != "lock") if folder.exists() else []


def answers(memory: Memory, questions: Sequence[str] = QUESTIONS) -> list[list[tuple[int, str, float]]]:
    return [
        [(hit.record.number, hit.record.text, hit.relevance) for hit in memory.recall(question, min_relevance=0)]
        for question in questions
    ]


def scanned(home: Path, questions: Sequence[str] = QUESTIONS) -> list[list[tuple[int, str, float]]]:
    """What a process answers that reads everything from the store, and no file."""
    with opened(home) as memory:
        memory._services.store.__dict__["index_folder"] = None
        return answers(memory, questions)


def are_rounded(found: Vectors) -> bool:
    """Whether each row has its rounded vector, wherever that is."""
    if found.signs is None:
        return True
    places = np.arange(len(found.signs.scales))
    rows, question = found.signs.rows(places), WordEmbedder().embed_query("who likes tea and bread?")
    rounded, exact = found.signs.cosines(question, places), np.vecdot(found.matrix[rows], question)
    return np.array_equal(np.sort(rows), places) and bool(np.abs(rounded - exact)[found.present[rows]].max() < 0.02)


def wrong(home: Path) -> list[str]:
    """What differs between the file and the store, array by array."""
    with opened(home) as memory:
        store, generation = memory._services.store, WordEmbedder().generation
        by_file = NamespaceIndex("default", generation).current(store)
        store.__dict__["index_folder"] = None
        by_store = NamespaceIndex("default", generation).current(store)
        one, other = (np.argsort(each.columns.number[each.alive]) for each in (by_file, by_store))
        found = [] if by_file.position == by_store.position else ["position"]
        for name in ("number", "active", "dated", "updated_at", "confidence", "observations", "importance"):
            mine, theirs = (getattr(each.columns, name)[each.alive] for each in (by_file, by_store))
            found += [] if np.array_equal(mine[one], theirs[other]) else [name]
        mine, theirs = (each.vectors.matrix[each.alive] for each in (by_file, by_store))
        found += [] if np.array_equal(mine[one], theirs[other]) else ["vectors"]
        found += [] if are_rounded(by_file.vectors) else ["rounded vectors"]
        counts = [(each.lexical.documents, each.lexical.words, each.vectors.count) for each in (by_file, by_store)]
        return found + ([] if counts[0] == counts[1] else [f"counts {counts}"])

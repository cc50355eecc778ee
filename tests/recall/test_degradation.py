"""Each part that is missing is a step down that the answer names; none is an error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import pytest

from perdure import Memory, errors
from perdure.embed.port import Progress
from perdure.model import Filter
from perdure.recall import no_results, recaller
from perdure.store.sqlite import search
from perdure.testing.embedder import WordEmbedder
from perdure.testing.records import read_once

DAMAGE: dict[str, Callable[[Any], object]] = {
    "garbage": lambda file: file.execute("UPDATE entry_fts_data SET block = ?", (b"\xff" * 40,)),
    "no structure": lambda file: file.execute("DELETE FROM entry_fts_data WHERE id = 10"),
    "another format": lambda file: file.execute("DELETE FROM entry_fts_config"),
    "no table": lambda file: file.execute(
        "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'entry_fts'"
    ),
}  # fmt: skip


@pytest.fixture(params=DAMAGE)
def damaged(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A store whose full-text index cannot be read."""
    path = tmp_path / "m.db"
    with Memory(path, embedder=WordEmbedder()) as memory:
        for text in ("tea on monday", "coffee on friday", "tea with milk"):
            memory.remember(text)
        memory.namespace("other").remember("tea elsewhere")
    file: Any = apsw.Connection(str(path))
    DAMAGE[request.param](file)
    file.close()
    return path


def test_without_a_full_text_index_the_words_are_read_instead(damaged: Path):
    with Memory(damaged, embedder="none") as memory:
        answer = memory.recall("tea")
        assert [hit.record.number for hit in answer] == [3, 1]
        assert (answer.mode, answer.notes) == ("keyword", (recaller.NO_FTS,))
        assert [hit.record.number for hit in memory.recall('"tea with milk"')] == [3]
        assert [hit.record.number for hit in memory.recall(concepts=["tea", "monday"])] == [1]
        assert len(memory.recall("tea", namespaces=["default", "other"])) == 3
        assert not memory.recall("xylophone", tags=["none"])


def test_by_meaning_and_words_it_is_not_needed(damaged: Path):
    with Memory(damaged, embedder=WordEmbedder()) as memory:
        answer = memory.recall("tea")
        assert (answer.mode, answer.notes) == ("hybrid", ())
        assert {hit.record.number for hit in answer[:2]} == {1, 3}


def test_who_asks_the_store_itself_gets_an_error_that_says_what_to_do(damaged: Path):
    with Memory(damaged, embedder="none") as memory:
        store, now = memory._services.store, memory._services.context.clock()
        for ask in (
            lambda: read_once(store).keyword_search(["tea"], Filter(), now, 5),
            lambda: read_once(store).word_counts(["tea"]),
            lambda: read_once(store).numbers_with_all(["tea"]),
        ):
            with pytest.raises(errors.IndexDamaged) as raised:
                ask()
            assert "doctor" in raised.value.remedy


def test_with_neither_model_nor_numpy_nor_a_word_there_is_no_answer_and_no_error(
    damaged: Path, monkeypatch: pytest.MonkeyPatch
):
    with Memory(damaged, embedder="none") as memory:
        monkeypatch.setitem(sys.modules, "numpy", None)
        answer = memory.recall("?!")
        assert (list(answer), answer.mode) == ([], "none")


@pytest.mark.parametrize("embedder", ["none", WordEmbedder()], ids=["by words", "by both"])
def test_an_empty_namespace_is_called_empty_and_no_other_is_named(embedder: Any):
    with Memory(":memory:", embedder=embedder) as memory:
        memory.namespace("secret").remember("tea")
        answer = memory.recall("tea")
        assert answer.notes[-1] == no_results.NO_MEMORIES.format("'default'")
        assert "secret" not in " ".join(answer.notes)


def test_words_that_nobody_has_are_called_so():
    with Memory(":memory:", embedder="none") as memory:
        memory.remember("tea")
        assert memory.recall("xylophone").notes == (no_results.OTHER_WORDS,)
        assert memory.recall("tea").notes == ()


def test_looking_for_the_reason_does_not_count_as_asking():
    with Memory(":memory:", embedder="none") as memory:
        memory.remember("tea", tags=["a"])
        for _ in range(recaller._RECALLS_FROM_DISK):
            assert not memory.recall("tea", tags=["b"], tier="critical")
        assert memory._services.recaller()._indexes is None
        assert memory.get(1).recall_count == 0


class Opposed(WordEmbedder):
    """What says `never` points away from every question; everything else has nothing to do with it."""

    def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> Any:
        import numpy as np

        vectors = np.zeros((len(texts), 64), np.float32)
        for row, text in enumerate(texts):
            vectors[row, 0 if "never" in text or "question" in text else 1] = -1 if "never" in text else 1
        return vectors


def test_what_shares_no_word_and_is_no_nearer_than_chance_is_no_answer_and_counts_as_no_use():
    with Memory(":memory:", embedder=Opposed()) as memory:
        for number in range(60):
            memory.remember(f"thing {number}")
        memory.remember("never")
        answer = memory.recall("question", limit=100)
        assert (answer.mode, len(answer)) == ("hybrid", 0)
        assert answer.nearest is not None
        everything = memory.recall("question", limit=100, min_relevance=0)
        assert len(everything) == 61
        assert everything[-1].relevance <= everything[0].relevance == answer.nearest.relevance
        assert {record.recall_count for record in memory.list(limit=100)} == {0}


@pytest.mark.parametrize("asked", [{"query": '"red fox"'}, {"concepts": ["red", "fox"]}], ids=["phrase", "concepts"])
def test_memories_that_could_not_be_looked_up_in_time_are_not_denied(
    asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    """Time jumps while it is looked up who holds the words, and stands still from then on."""
    with Memory(":memory:", embedder="none") as memory:
        memory.remember("the red fox")
        monkeypatch.setattr(search, "_STEPS_BETWEEN_LOOKS", 1)
        monkeypatch.setattr(search, "time", SimpleNamespace(monotonic=chain([0], repeat(10)).__next__))
        answer = memory.recall(**asked)
        assert (list(answer), answer.notes) == ([], (recaller.OUT_OF_TIME,))
        assert memory.recall(**asked)

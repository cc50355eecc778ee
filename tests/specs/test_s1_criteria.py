"""S1's acceptance criteria about retrieval and ranking."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from specs.entries import TOPICS
from specs.full_text import without_full_text

from perdure import Memory, Recall
from perdure.embed.local import LocalEmbedder, unavailable
from perdure.embed.port import Vectors
from perdure.model import LEARNING_CATEGORIES
from perdure.recall import recaller
from perdure.testing.embedder import WordEmbedder

if TYPE_CHECKING:
    from clocks import HandClock

QUESTION = "building a file parser with error handling"


def learned(memory: Memory) -> Memory:
    """The fifty entries, of all topics in turn and of all categories alike."""
    place = 0
    for some in zip_longest(*([(topic, *entry) for entry in entries] for topic, entries in TOPICS.items())):
        for topic, title, text in filter(None, some):
            category = LEARNING_CATEGORIES[place % 3]
            memory.remember(text, title=title, category=category, source_project=topic, confidence=2 / 3)
            place += 1
    return memory


def about(answer: Recall, topic: str) -> int:
    return sum(hit.record.source_project == topic for hit in answer)


@pytest.mark.skipif(unavailable() is not None, reason="the local model is not installed")
def test_the_entries_that_the_work_is_about_come_up(clock: HandClock):
    """S1 criterion 1: at least 15 of 20 parser entries among 25, by the real model; by prominence alone about 10."""
    with Memory(":memory:", embedder=LocalEmbedder(), clock=clock) as memory:
        assert Counter({topic: len(entries) for topic, entries in TOPICS.items()}) == Counter(
            parser=20, deployment=20, testing=10
        )
        learned(memory)
        answer = memory.recall(QUESTION, recipe="learnings", limit=25)
        assert (answer.mode, len(answer)) == ("hybrid", 25)
        assert about(answer, "parser") >= 15
    with Memory(":memory:", embedder="none", clock=clock) as memory:
        learned(memory)
        assert about(memory.recall(recipe="learnings", limit=25), "parser") <= 12


class Given(WordEmbedder):
    """Entries about parsers lie near the question, all others do not."""

    def __init__(self) -> None:
        super().__init__(64)
        self.generator = np.random.default_rng(7)

    def embed_passages(self, texts: Sequence[str], progress: Any = None) -> Vectors:
        return np.stack([self._at(0.85 if "parser" in text else 0.2) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        return np.eye(1, 64, dtype=np.float32)[0]

    def _at(self, cosine: float) -> Vectors:
        other = self.generator.standard_normal(64).astype(np.float32)
        other[0] = 0.0
        vector = other / np.linalg.norm(other) * np.float32((1 - cosine**2) ** 0.5)
        vector[0] = cosine
        return vector.astype(np.float32)


def test_the_ranking_follows_the_vectors(clock: HandClock):
    """S1 criterion 1b: at least 18 of 20 among 25, from given embeddings."""
    with Memory(":memory:", embedder=Given(), clock=clock) as memory:
        for place in range(50):
            what = "parser" if place % 5 in (1, 3) else "other"
            memory.remember(f"{what} entry {place}", category=LEARNING_CATEGORIES[place % 3])
        answer = memory.recall("???", recipe="learnings", limit=25)
        cosines = {hit.record.text.split()[0]: hit.explain["vector"].raw for hit in answer}
        assert cosines["parser"] > 0.8
        assert cosines["other"] < 0.3
        assert sum(hit.record.text.startswith("parser") for hit in answer) >= 18


def test_what_one_project_learned_is_found_in_another(memory: Memory):
    """S1 criterion 2: ranked by relevance, whichever project an entry came from."""
    memory.remember("Read real samples before writing a file parser", source_project="project-a")
    memory.remember("Name branches after tickets", source_project="project-b")
    memory.remember("Ask before releasing on a Friday", source_project="project-b")
    # Another project learns the same: it is one learning, seen twice, and it stays where it was learned first.
    again = memory.remember("Read real samples before writing a file parser", source_project="project-b")
    assert (again.outcome, again.record.observation_count) == ("observed", 2)
    answer = memory.recall("parser for files of project B", recipe="learnings")
    assert answer[0].record.source_project == "project-a"
    assert len(answer) == 3
    assert len(memory.recall("parser", recipe="learnings", source_project="project-a")) == 1
    assert memory.history(1)[-1].change.provenance["source_project"] == "project-b"


def test_without_a_provider_words_and_prominence_decide(clock: HandClock):
    """S1 criterion 7a: no errors."""
    embedder = WordEmbedder()
    with Memory(":memory:", embedder=embedder, clock=clock) as memory:
        learned(memory)
        embedder.down = True
        answer = memory.recall(QUESTION, recipe="learnings", limit=25)
        assert answer.mode == "keyword"
        assert set(answer[0].explain) == {"keyword", "observations", "confidence", "recency", "recalls"}
        assert about(answer, "parser") > about(answer, "deployment")


def test_without_a_full_text_index_meaning_and_prominence_decide(tmp_path: Path, clock: HandClock):
    """S1 criterion 7b: no errors, in a store whose full-text index is gone."""
    path = tmp_path / "m.db"
    with Memory(path, embedder=WordEmbedder(), clock=clock) as memory:
        learned(memory)
    without_full_text(path)
    with Memory(path, embedder="none", clock=clock) as memory:
        assert recaller.NO_FTS in memory.recall(QUESTION).notes
    with Memory(path, embedder=WordEmbedder(), clock=clock) as memory:
        answer = memory.recall(QUESTION, recipe="learnings", limit=25)
        assert {"vector", "observations", "confidence", "recency", "recalls"} <= set(answer[0].explain)
        assert about(answer, "parser") > about(answer, "deployment")


@pytest.mark.parametrize("limit", [9, 12, 25])
@pytest.mark.parametrize("query", [QUESTION, "deploy on fridays", None])
def test_no_category_is_left_out(memory: Memory, limit: int, query: str | None):
    """S1 criterion 12: at least 3 entries of each category that has any, from a limit of 9 on."""
    learned(memory)
    kinds = Counter(hit.record.category for hit in memory.recall(query, recipe="learnings", limit=limit))
    assert all(kinds[category] >= 3 for category in LEARNING_CATEGORIES)

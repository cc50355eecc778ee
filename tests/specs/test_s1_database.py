"""S1 D1: one database of entries, what an entry has, and when it changes."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from perdure import Memory, errors
from perdure.embed import calibration
from perdure.model import LEARNING_CATEGORIES
from perdure.testing.embedder import WordEmbedder

if TYPE_CHECKING:
    from clocks import HandClock

# A model that is new to a store is measured by a few texts, once.
MEASURED = len(calibration.TEXTS)


class _Counting(WordEmbedder):
    """Counts the passages it is given, not the questions."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.passages = 0

    def embed_query(self, text: str) -> Any:
        self.passages -= 1
        return super().embed_query(text)

    def embed_passages(self, texts: Sequence[str], progress: Any = None) -> Any:
        self.passages += len(texts)
        return super().embed_passages(texts, progress)


def test_the_learnings_of_all_projects_are_in_one_place(memory: Memory):
    """S1 database: what one project learned is found by another, and says where it comes from."""
    memory.remember("Mock the clock in tests", source_project="apollo", category="patterns")
    memory.remember("Never parse a diff with regular expressions", source_project="zeus", category="anti-patterns")
    found = memory.recall("how are tests with a clock written?", recipe="learnings")
    assert {hit.record.source_project for hit in found} == {"apollo", "zeus"}
    assert found[0].record.source_project == "apollo"


def test_another_provider_makes_every_vector_anew(tmp_path: Path, clock: HandClock):
    """S1 database provider: vectors of another model are never compared, and made again; nothing is lost meanwhile."""
    with Memory(tmp_path / "m.db", embedder=WordEmbedder(), clock=clock) as memory:
        memory.remember("Mock the clock in tests")
    newer = _Counting(version="2")
    with Memory(tmp_path / "m.db", embedder=newer, clock=clock) as memory:
        assert [hit.record.number for hit in memory.recall("clock")] == [1]
        assert memory.recall("clock").mode == "keyword"
        assert (memory.work().embedded, newer.passages) == (1, 1 + MEASURED)
        assert memory.recall("clock").mode == "hybrid"


@pytest.mark.parametrize("text", ["Mock the clock", "  MOCK\tthe \n clock "])
def test_an_entry_is_named_by_the_hash_of_its_description(memory: Memory, text: str):
    """S1 entry id: of the words in small letters with single spaces between them, 16 digits of SHA-256."""
    record = memory.remember(text).record
    assert record.content_hash == sha256(b"mock the clock").hexdigest()[:16]
    assert memory.get(record.content_hash).id == record.id


def test_an_entry_has_a_name_a_description_and_a_reasoning(memory: Memory):
    """S1 entry words: title, text and reasoning are kept to the letter."""
    record = memory.remember("Mock the clock\nin tests.", title="Clock", reasoning="A test slept for a minute.").record
    assert (record.title, record.text, record.reasoning) == (
        "Clock", "Mock the clock\nin tests.", "A test slept for a minute.",
    )  # fmt: skip


def test_an_entry_is_of_one_of_three_categories(memory: Memory):
    """S1 entry category: these three, and none that does not exist."""
    for category in ("anti-patterns", "patterns", "heuristics"):
        assert category in LEARNING_CATEGORIES
        assert memory.remember(f"one of {category}", category=category).record.category == category
    with pytest.raises(errors.UnknownChoice):
        memory.remember("of none", category="pattern")


def test_an_entry_has_ten_keywords_at_most_and_any_references(memory: Memory):
    """S1 entry lists: ten keywords are taken, eleven refused; references are files, features and projects."""
    ten = [f"word{number}" for number in range(10)]
    record = memory.remember("one", keywords=ten, references=["src/clock.py", "feature 023", "apollo"]).record
    assert (list(record.keywords), len(record.references)) == (ten, 3)
    with pytest.raises(errors.InvalidInput, match="keywords"):
        memory.remember("two", keywords=[*ten, "word10"])


def test_every_observation_is_counted(memory: Memory):
    """S1 entry observations: one at first, and one more each time it is said again."""
    counts = [memory.remember("Mock the clock").record.observation_count for _ in range(3)]
    assert counts == [1, 2, 3]


def test_confidence_is_said_in_words(memory: Memory):
    """S1 entry confidence: high, medium and low are 1, 2/3 and 1/3."""
    labels: tuple[Any, ...] = ("high", "medium", "low")
    stored = [memory.remember(f"entry {label}", confidence=label).record.confidence for label in labels]
    assert stored == [1.0, 2 / 3, 1 / 3]


def test_each_recall_is_counted_at_once(memory: Memory, clock: HandClock):
    """S1 entry recalls: how often, and when last; whoever looks sees it."""
    memory.remember("Mock the clock")
    memory.recall("clock")
    at = clock.forward(hours=1)
    memory.recall("clock")
    record = memory.list().records[0]
    assert (record.recall_count, record.recalled_at) == (2, at)


def test_updated_at_moves_with_content_and_observations_alone(memory: Memory, clock: HandClock):
    """S1 entry updated: not when it is labelled, judged, recalled or embedded again."""
    made = memory.remember("Mock the clock").record.updated_at
    clock.forward(hours=1)
    memory.update(1, tags=["tests"], importance=0.9, metadata={"a": 1})
    memory.validate(1, True)
    memory.recall("clock")
    memory.work()
    assert memory.get(1).updated_at == made
    observed = clock.forward(hours=1)
    assert memory.remember("mock the clock").record.updated_at == observed
    corrected = clock.forward(hours=1)
    assert memory.update(1, text="Mock every clock").record.updated_at == corrected


def test_an_entry_says_what_stored_it(memory: Memory):
    """S1 entry source: retro, session-capture, manual or import; a file is always import."""
    for source in ("retro", "session-capture", "manual"):
        assert memory.remember(f"by {source}", source=source).record.source == source
    memory.import_([{"text": "by a file", "source": "manual"}])
    assert memory.list().records[0].source == "import"


def test_an_entry_keeps_the_project_it_comes_from(memory: Memory):
    """S1 entry project: also when another project observes the same."""
    memory.remember("Mock the clock", source_project="apollo")
    assert memory.remember("Mock the clock", source_project="zeus").record.source_project == "apollo"
    assert [hit.record.number for hit in memory.recall("clock", source_project="apollo")] == [1]


def test_the_vector_is_made_when_the_entry_is_stored(clock: HandClock):
    """S1 entry embedding: a question embeds itself alone, however many entries there are."""
    embedder = _Counting()
    with Memory(":memory:", embedder=embedder, clock=clock) as memory:
        for number in range(5):
            memory.remember(f"entry {number}")
        assert embedder.passages == 5 + MEASURED
        assert memory.recall("entry").mode == "hybrid"
        assert embedder.passages == 5 + MEASURED

"""S4 "Deduplication", and what a search remembers of texts that it has seen."""

from __future__ import annotations

from learn.placed import PlacedEmbedder, near

from perdure import Memory
from perdure.testing.embedder import WordEmbedder

TEA = "I drink a lot of green tea"


def test_a_text_that_is_known_to_the_letter_is_observed_once_more():
    """S4 duplicates exact: before anything is searched for, embedded or written but the count."""
    embedder = WordEmbedder()
    with Memory(":memory:", embedder=embedder) as memory:
        first = memory.save_memory(TEA)
        embedded = embedder.embedded
        again = memory.save_memory(TEA)
        assert (again.outcome, again.record.number, again.record.observation_count) == (
            "observed",
            first.record.number,
            2,
        )
        assert (again.searches, embedder.embedded) == (0, embedded)
        assert [line.change.operation for line in memory.history(first.record.number)] == ["insert", "observe"]
        assert len(memory.list()) == 1


def test_the_role_belongs_to_the_text_that_is_compared():
    """S4 duplicates stored form: what the user says is no duplicate of what the assistant says."""
    with Memory(":memory:", embedder="none") as memory:
        said = [memory.save_memory(TEA, role=role) for role in ("user", "assistant", None)]
        assert [each.record.text for each in said] == [f"user: {TEA}", f"assistant: {TEA}", TEA]
        assert [each.outcome for each in said] == ["inserted"] * 3
        assert memory.save_memory(TEA, role="user").record.number == said[0].record.number
        assert memory.save_memory(f"assistant: {TEA}").record.number == said[1].record.number
        assert len(memory.list()) == 3


def test_a_text_is_embedded_once_for_each_model():
    """S4 search cache: by model and text; here it outlives the session, because the vector is stored."""
    embedder = PlacedEmbedder({TEA: near(1)})
    with Memory(":memory:", embedder=embedder) as memory:
        memory.save_memory(TEA)
        embedder.asked.clear()
        for text in ("Tea is green", "I drink water", "A lot of tea"):
            memory.save_memory(text)
        assert TEA not in embedder.asked
        assert len(embedder.asked) == 3

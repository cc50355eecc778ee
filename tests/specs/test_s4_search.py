"""S4 "Search": words and meaning, fused by rank."""

from __future__ import annotations

import pytest

from perdure import Memory
from perdure.recall.recipe import FACTS


@pytest.fixture
def chunks(memory: Memory) -> Memory:
    for text in ("user: I moved to Lisbon", "assistant: Lisbon is lovely in May", "user: my cat is called Ada"):
        memory.remember(text)
    return memory


def test_search_is_reciprocal_rank_fusion(chunks: Memory):
    """S4 search fusion: with K = 60."""
    assert (FACTS.fusion, FACTS.rank_constant) == ("rank", 60)
    for hit in chunks.recall("Lisbon in May", recipe="facts"):
        for signal in hit.explain.values():
            expected = 0.0 if signal.rank is None else 61 / (60 + signal.rank)
            assert signal.normalised == pytest.approx(expected, abs=1e-6)


def test_meaning_is_the_cosine_of_the_embeddings(chunks: Memory):
    """S4 search dense: the nearest first."""
    hits = list(chunks.recall("my cat is called Ada", recipe="facts"))
    nearest = min(hits, key=lambda hit: hit.explain["vector"].rank or 99)
    assert nearest.record.text == "user: my cat is called Ada"
    assert all(-1 <= hit.explain["vector"].raw <= 1 for hit in hits)


def test_words_are_matched_by_bm25(chunks: Memory):
    """S4 search sparse: what holds no word of the question is not on that list."""
    hits = {hit.record.number: hit.explain["keyword"] for hit in chunks.recall("lovely Lisbon", recipe="facts")}
    assert (hits[2].rank, hits[1].rank, hits[3].rank) == (1, 2, None)
    assert hits[2].raw > hits[1].raw > hits[3].raw == 0


def test_the_score_lies_between_0_and_1(chunks: Memory):
    """S4 search scale: 1 is the first of both lists."""
    answer = chunks.recall("my cat is called Ada", recipe="facts")
    assert answer[0].score == pytest.approx(1)
    assert all(0 <= hit.score <= 1 for hit in answer)

"""S2 "Retrieval": facts are found by reciprocal rank fusion, within a conversation, while they are true."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from specs.crowd import QUESTION, CrowdEmbedder, remember_behind

from perdure import Memory, Recall
from perdure.model import FACT_CATEGORIES
from perdure.testing.embedder import WordEmbedder

if TYPE_CHECKING:
    from clocks import HandClock


def facts(memory: Memory, query: str, **options: Any) -> Recall:
    return memory.recall(query, recipe="facts", **options)


def texts(answer: Recall) -> list[str]:
    return [hit.record.text for hit in answer]


@pytest.fixture
def user(memory: Memory) -> Memory:
    for text, category in (
        ("User lives in Osaka near the castle", "identity"),
        ("User likes green tea", "preference"),
        ("User drinks tea with Alex every Tuesday", "relationship"),
        ("Answer without formal honorifics", "guideline"),
    ):
        memory.remember(text, category=category, conversation_id="first")
    memory.remember("User lives in Kyoto", category="identity", conversation_id="second")
    return memory


def ordered_by(memory: Memory, signal: str) -> None:
    hits = [hit for hit in facts(memory, "tea with Alex") if hit.explain[signal].rank is not None]
    ranks = {hit.record.number: hit.explain[signal].rank for hit in hits}
    best_first = sorted(hits, key=lambda hit: (-hit.explain[signal].raw, -hit.record.number))
    assert [ranks[hit.record.number] for hit in best_first] == list(range(1, len(hits) + 1))


def test_words_rank_by_score(user: Memory):
    """S2 fulltext rank: the best match by words has rank 1."""
    ordered_by(user, "keyword")


def test_meaning_ranks_by_distance(user: Memory):
    """S2 semantic rank: the nearest has rank 1."""
    ordered_by(user, "vector")


def test_a_conversation_sees_its_own_facts(user: Memory):
    """S2 conversation: facts of others stay out."""
    assert texts(facts(user, "where does the user live", conversation_id="second")) == ["User lives in Kyoto"]
    assert "User lives in Kyoto" not in texts(facts(user, "where does the user live", conversation_id="first"))
    # The same fact in another conversation is another fact, and each conversation keeps its own.
    user.remember("User lives in Kyoto", conversation_id="third")
    for conversation in ("second", "third"):
        found = facts(user, "where does the user live", conversation_id=conversation)
        assert [hit.record.conversation_id for hit in found] == [conversation]
    user.forget("everything about Kyoto", conversation_id="third", confirm=True)
    assert texts(facts(user, "where does the user live", conversation_id="second")) == ["User lives in Kyoto"]


def test_only_what_is_true_is_found(user: Memory, clock: HandClock):
    """S2 active: what was contradicted stays in the history alone."""
    user.remember("User lives in Tokyo", key="user:home", conversation_id="first")
    user.update(1, invalid_at=clock.forward(days=1))
    clock.forward(days=1)
    found = texts(facts(user, "lives in", conversation_id="first"))
    assert "User lives in Tokyo" in found
    assert "User lives in Osaka near the castle" not in found


@pytest.mark.parametrize("ahead", [99, 100])
def test_a_hundred_of_each_list_are_compared(clock: HandClock, ahead: int):
    """S2 candidates: what stands 100th by words and by meaning is compared, and what stands 101st in both is not."""
    with Memory(":memory:", embedder=CrowdEmbedder(), clock=clock) as memory:
        number = remember_behind(memory, ahead)
        found = [hit for hit in facts(memory, QUESTION, limit=49) if hit.record.number == number]
        ranks = [[hit.explain[name].rank for name in ("keyword", "vector")] for hit in found]
        assert ranks == ([[100, 100]] if ahead == 99 else [])


@pytest.mark.parametrize("wordy", [True, False])
def test_keywords_are_searched_with_the_fact(clock: HandClock, wordy: bool):
    """S2 search text: a name that only the keywords hold finds the fact."""
    with Memory(":memory:", embedder="none" if wordy else WordEmbedder(), clock=clock) as memory:
        memory.remember("A colleague introduced them to a language", keywords=["Alex", "Rust"])
        memory.remember("Something else")
        assert texts(facts(memory, "alex"))[0] == "A colleague introduced them to a language"


def test_the_score_is_reciprocal_rank_fusion(user: Memory):
    """S2 rrf: the sum of 1 / (60 + rank), here divided by its maximum."""
    for hit in facts(user, "tea with Alex"):
        fused = sum(1 / (60 + signal.rank) for signal in hit.explain.values() if signal.rank is not None)
        assert hit.score == pytest.approx(fused / (2 / 61), abs=1e-5)


def test_a_fact_does_not_fade(user: Memory, clock: HandClock):
    """S2 no decay: years later the scores are the same."""
    before = [(hit.record.number, hit.score) for hit in facts(user, "tea")]
    clock.forward(days=2000)
    assert [(hit.record.number, hit.score) for hit in facts(user, "tea")] == before


def test_a_category_can_be_asked_for(user: Memory):
    """S2 category: only guideline facts are returned."""
    answer = facts(user, "how should I answer about tea", category="guideline")
    assert [hit.record.category for hit in answer] == ["guideline"]


def test_without_a_category_all_are_searched(user: Memory):
    """S2 every category: nothing is left out."""
    kinds = {hit.record.category for hit in facts(user, "user tea answer")}
    assert kinds == {"identity", "preference", "relationship", "guideline"} & set(FACT_CATEGORIES)

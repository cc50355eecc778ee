"""S1 D3: the score of an entry, its edge cases, and the selection."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from perdure import Hit, Memory, Recall
from perdure.model import LEARNING_CATEGORIES
from perdure.settings import load
from perdure.testing.embedder import WordEmbedder

if TYPE_CHECKING:
    from clocks import HandClock

PROMINENCE = ("observations", "confidence", "recency", "recalls")


def ask(memory: Memory, query: str | None = None, **options: Any) -> Recall:
    return memory.recall(query, recipe="learnings", **options)


def by_number(answer: Recall) -> dict[int, Hit]:
    return {hit.record.number: hit for hit in answer}


def prominence(hit: Hit) -> float:
    return sum(hit.explain[name].contribution for name in PROMINENCE)


# -- the formula -------------------------------------------------------------------------------------------------------


def test_the_final_score_is_the_weighted_sum(memory: Memory):
    """S1 scoring formula: vector, keyword and prominence, each times its weight."""
    memory.remember("parse the file", confidence=1.0)
    memory.remember("parse the dates")
    memory.remember("unrelated")
    for hit in ask(memory, "parse file"):
        expected = 0.5 * hit.explain["vector"].normalised + 0.2 * hit.explain["keyword"].normalised + prominence(hit)
        assert hit.score == pytest.approx(expected)
        assert prominence(hit) <= 0.3 + 1e-9


def normalised_by_the_best(memory: Memory, name: str) -> None:
    memory.remember("parse the file with care")
    memory.remember("parse the dates")
    memory.remember("unrelated words")
    hits = list(ask(memory, "parse file"))
    top = max(hit.explain[name].raw for hit in hits)
    for hit in hits:
        assert hit.explain[name].normalised == pytest.approx(max(hit.explain[name].raw, 0) / top, abs=1e-6)
    assert {0.0 <= hit.explain[name].normalised <= 1.0 for hit in hits} == {True}


def test_cosines_are_divided_by_the_best(memory: Memory):
    """S1 scoring vector: divided by the maximum of the candidates."""
    normalised_by_the_best(memory, "vector")


def test_word_scores_are_divided_by_the_best(memory: Memory):
    """S1 scoring keyword: divided by the maximum of the candidates."""
    normalised_by_the_best(memory, "keyword")


# -- prominence --------------------------------------------------------------------------------------------------------


def test_observations_are_divided_by_the_most_of_all_entries(memory: Memory):
    """S1 prominence observations: also when the most often observed entry is no candidate."""
    memory.remember("parse the file")
    for _ in range(2):
        memory.remember("parse the dates")
    for _ in range(4):
        memory.remember("unrelated", category="goal")
    hits = by_number(ask(memory, "parse", limit=2))
    assert set(hits) == {1, 2}
    assert [hits[number].explain["observations"].normalised for number in (1, 2)] == [0.25, 0.5]


@pytest.mark.parametrize(("confidence", "share"), [(1.0, 1.0), (2 / 3, 2 / 3), (1 / 3, 1 / 3), (0.8, 0.8)])
def test_confidence_counts_as_a_share(memory: Memory, confidence: float, share: float):
    """S1 prominence confidence: high 3/3, medium 2/3, low 1/3; a number between them counts as itself."""
    memory.remember("parse the file", confidence=confidence)
    assert ask(memory)[0].explain["confidence"].normalised == pytest.approx(share, abs=1e-6)


@pytest.mark.parametrize(("days", "share"), [(0, 1.0), (1, 0.97), (30, 0.5), (90, 0.25)])
def test_recency_decays_hyperbolically(memory: Memory, clock: HandClock, days: int, share: float):
    """S1 prominence recency: 1 day 0.97, 30 days 0.50, 90 days 0.25, since the content changed or was observed."""
    memory.remember("parse the file")
    clock.forward(days=days)
    assert ask(memory)[0].explain["recency"].normalised == pytest.approx(share, abs=0.003)
    memory.remember("parse the file")
    assert ask(memory)[0].explain["recency"].normalised == 1.0


def test_being_recalled_does_not_make_recent(memory: Memory, clock: HandClock):
    """S1 prominence recalled at: only content changes and observations do."""
    memory.remember("parse the file")
    clock.forward(days=30)
    for _ in range(3):
        ask(memory, "parse the file")
    hit = ask(memory)[0]
    assert (hit.record.recall_count, hit.record.recalled_at) == (3, clock.now)
    assert hit.explain["recency"].normalised == 0.5


@pytest.mark.parametrize(("times", "share"), [(0, 0.0), (4, 0.4), (10, 1.0), (25, 1.0)])
def test_recalls_count_up_to_ten(memory: Memory, times: int, share: float):
    """S1 prominence recalls: linear up to 10, then capped."""
    memory.remember("parse the file")
    memory.remember("feed the cat", category="goal")
    for _ in range(times):
        assert len(ask(memory, "parse the file", limit=1)) == 1
    signals = {hit.record.number: hit.explain["recalls"] for hit in ask(memory)}
    assert (signals[1].raw, signals[1].normalised) == (times, share)
    assert (signals[2].raw, signals[2].normalised) == (0, 0.0)


# -- weights -----------------------------------------------------------------------------------------------------------


def test_the_default_weights(memory: Memory):
    """S1 weights default: 0.5, 0.2 and 0.3."""
    memory.remember("parse the file")
    explain = ask(memory, "parse")[0].explain
    assert (explain["vector"].weight, explain["keyword"].weight) == pytest.approx((0.5, 0.2))
    assert sum(explain[name].weight for name in PROMINENCE) == pytest.approx(0.3)


def test_weights_are_the_users(tmp_path: Path, clock: HandClock):
    """S1 weights own: a recipe of one's own."""
    path = tmp_path / "perdure.toml"
    table = "like = 'learnings'\nvector_weight = 0.2\nkeyword_weight = 0.2\nprominence_weight = 0.6"
    path.write_text(f"[recipes.mine]\n{table}", encoding="utf-8")
    rules = load({"PERDURE_CONFIG": str(path), "HOME": str(tmp_path)})
    with Memory(":memory:", embedder=WordEmbedder(), settings=rules, clock=clock) as memory:
        memory.remember("parse the file")
        explain = memory.recall("parse", recipe="mine")[0].explain
        assert sum(explain[name].weight for name in PROMINENCE) == pytest.approx(0.6)


# -- edge cases --------------------------------------------------------------------------------------------------------


def test_a_signal_that_matches_nothing_leaves_its_weight_to_the_others(memory: Memory):
    """S1 edge zero: no entry holds a word of the question, so words weigh nothing."""
    memory.remember("parse the file")
    memory.remember("parse the dates")
    hits = ask(memory, "gazpacho")
    assert len(hits) == 2
    for hit in hits:
        assert "keyword" not in hit.explain
        assert sum(signal.weight for signal in hit.explain.values()) == pytest.approx(1)
        assert hit.explain["vector"].weight == pytest.approx(0.5 / 0.8)


def test_equal_scores_are_1_for_all(memory: Memory):
    """S1 edge identical: no differentiation from that signal."""
    for day in ("one", "two", "three"):
        memory.remember("parse the file", key=f"day:{day}")
    for hit in ask(memory, "parse file"):
        assert [hit.explain[name].normalised for name in ("vector", "keyword", "observations")] == [1.0, 1.0, 1.0]


def test_what_is_unavailable_is_redistributed_in_proportion(clock: HandClock):
    """S1 edge unavailable: without vectors 0.2 and 0.3 become 0.4 and 0.6."""
    with Memory(":memory:", embedder="none", clock=clock) as memory:
        memory.remember("parse the file")
        explain = ask(memory, "parse")[0].explain
        assert explain["keyword"].weight == pytest.approx(0.4)
        assert [explain[name].weight for name in PROMINENCE] == pytest.approx([0.18, 0.12, 0.18, 0.12])


def test_where_vectors_are_all_alike_the_other_signals_decide(memory: Memory):
    """S1 edge no differentiation: prominence orders entries that are equally near."""
    for place, confidence in enumerate((0.2, 0.9, 0.5)):
        memory.remember("parse the file", key=f"entry:{place}", confidence=confidence)
    assert [hit.record.confidence for hit in ask(memory, "parse file")] == [0.9, 0.5, 0.2]


# -- selection ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def library(memory: Memory) -> Memory:
    """Twenty patterns that fit, four anti-patterns and two heuristics that hardly do."""
    for place in range(20):
        memory.remember(f"parse the file quickly, way {place}", category="patterns", confidence=1.0)
    for place in range(4):
        memory.remember(f"deploy on day {place}", category="anti-patterns", confidence=place / 10)
    for place in range(2):
        memory.remember(f"sleep at night {place}", category="heuristics", confidence=place / 10)
    return memory


def test_every_candidate_is_scored(library: Memory):
    """S1 selection scores: best first."""
    answer = ask(library, "parse the file", limit=100)
    assert len(answer) == 26
    assert [hit.score for hit in answer] == sorted((hit.score for hit in answer), reverse=True)


def test_each_category_has_its_three(library: Memory):
    """S1 selection balance: from a limit of 9 on, as far as a category has so many; below it the best decide."""
    kinds = Counter(hit.record.category for hit in ask(library, "parse the file", limit=9))
    assert kinds == {"patterns": 4, "anti-patterns": 3, "heuristics": 2}
    assert {hit.record.category for hit in ask(library, "parse the file", limit=8)} == {"patterns"}


def test_of_a_category_the_best_are_taken(library: Memory):
    """S1 selection within: by final score in each category."""
    answer = ask(library, "parse the file", limit=9)
    whole = [hit for hit in ask(library, "parse the file", limit=100) if hit.record.category == "anti-patterns"]
    chosen = [hit.record.number for hit in answer if hit.record.category == "anti-patterns"]
    assert chosen == [hit.record.number for hit in whole[:3]]


def test_the_rest_is_filled_by_score(library: Memory):
    """S1 selection fill: whatever its category."""
    answer = ask(library, "parse the file", limit=12)
    assert Counter(hit.record.category for hit in answer)["patterns"] == 7
    best = [hit.record.number for hit in ask(library, "parse the file", limit=100)[:7]]
    assert [hit.record.number for hit in answer if hit.record.category == "patterns"] == best


@pytest.mark.parametrize("limit", [1, 8, 9, 20, 100])
def test_the_limit_is_respected(library: Memory, limit: int):
    """S1 selection limit: never more, and as many as there are; where three of each have no room, simply the best."""
    found = ask(library, "parse the file", limit=limit)
    assert len(found) == min(limit, 26)
    every = ask(library, "parse the file", limit=100)
    if limit < 9:
        assert [hit.record.number for hit in found] == [hit.record.number for hit in every[:limit]]
    else:
        counted = Counter(hit.record.category for hit in found)
        there = Counter(hit.record.category for hit in every)
        assert all(counted[category] >= min(3, there[category]) for category in LEARNING_CATEGORIES)

"""S3 section 3: hybrid search, what relevance is made of, and what is left when a part finds nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pytest
from specs.crowd import QUESTION, CrowdEmbedder, remember_behind

from perdure import Memory, Recall
from perdure.embed.local import unavailable
from perdure.recall.recipe import TIERED
from perdure.testing.embedder import WordEmbedder

if TYPE_CHECKING:
    from clocks import HandClock


def search(memory: Memory, query: str, **options: Any) -> Recall:
    return memory.recall(query, recipe="tiered", include_constitutional=False, **options)


@pytest.fixture
def specs(memory: Memory) -> Memory:
    memory.remember("OAuth callback flow with JWT tokens", tier="important", anchor_id="oauth-callback")
    memory.remember("Callback errors are retried", tier="normal", anchor_id="errors")
    memory.remember("The login page has a dark theme", tier="critical")
    return memory


def ranked_by(memory: Memory, signal: str) -> None:
    hits = [hit for hit in search(memory, "oauth callback tokens") if hit.explain[signal].rank]
    by_rank = sorted(hits, key=lambda hit: hit.explain[signal].rank or 0)
    assert [hit.explain[signal].raw for hit in by_rank] == sorted(
        (hit.explain[signal].raw for hit in hits), reverse=True
    )
    assert by_rank[0].record.number == 1


def test_words_are_ranked_by_bm25(specs: Memory):
    """S3 search keyword: the better match first."""
    ranked_by(specs, "keyword")


def test_meaning_is_ranked_by_similarity(specs: Memory):
    """S3 search vector: the nearer one first."""
    ranked_by(specs, "vector")


def test_both_lists_are_fused(specs: Memory):
    """S3 search fusion: the first of both lists has the whole of it."""
    hit = next(hit for hit in search(specs, "oauth callback tokens") if hit.record.number == 1)
    assert hit.explain["keyword"].contribution + hit.explain["vector"].contribution == pytest.approx(40)


def fused(memory: Memory) -> dict[int, tuple[float, float]]:
    """For each hit the formula over its ranks, divided by its maximum, and the part of the score that is 40."""
    found: dict[int, tuple[float, float]] = {}
    for hit in search(memory, "oauth callback tokens", min_relevance=0):
        both = (hit.explain["keyword"], hit.explain["vector"])
        expected = sum(1 / (60 + signal.rank) for signal in both if signal.rank)
        found[hit.record.number] = expected / (2 / 61), sum(signal.contribution for signal in both) / 40
    return found


def test_the_rrf_formula(specs: Memory):
    """S3 search rrf: summed over the ranking systems in which a document is."""
    for expected, actual in fused(specs).values():
        assert actual == pytest.approx(expected, abs=1e-5)
    assert len(fused(specs)) == 3


def test_the_smoothing_constant_is_60(specs: Memory):
    """S3 search k: 60."""
    assert TIERED.rank_constant == 60
    hit = next(hit for hit in search(specs, "oauth callback tokens", min_relevance=0) if hit.record.number == 2)
    assert hit.explain["keyword"].normalised == pytest.approx(61 / (60 + (hit.explain["keyword"].rank or 0)), abs=1e-6)


@pytest.mark.parametrize("limit", [10, 25])
@pytest.mark.parametrize("too_many", [False, True])
def test_twice_the_limit_is_compared(clock: HandClock, limit: int, too_many: bool):
    """S3 search candidates: what stands at twice the limit by words and by meaning is compared, and the next is not."""
    with Memory(":memory:", embedder=CrowdEmbedder(), clock=clock) as memory:
        number = remember_behind(memory, 2 * limit - 1 + too_many)
        answer = search(memory, QUESTION, limit=limit, min_relevance=0)
        assert len(answer) == limit
        ranks = [
            [hit.explain[name].rank for name in ("keyword", "vector")] for hit in answer if hit.record.number == number
        ]
        assert ranks == ([] if too_many else [[2 * limit, 2 * limit]])


def weight(memory: Memory, *names: str) -> float:
    hit = search(memory, "oauth callback tokens")[0]
    return sum(hit.explain[name].weight for name in names)


def test_the_hybrid_score_weighs_40(specs: Memory):
    """S3 relevance rrf: words and meaning together."""
    assert weight(specs, "keyword", "vector") == pytest.approx(40)


def test_the_tier_weighs_25(specs: Memory):
    """S3 relevance tier: its boost, as a share of the highest."""
    hits = {hit.record.number: hit.explain["tier"] for hit in search(specs, "oauth callback login", min_relevance=0)}
    assert weight(specs, "tier") == 25
    assert [hits[number].contribution for number in (1, 2, 3)] == pytest.approx([12.5, 25 / 3, 50 / 3], abs=1e-4)


def test_decay_weighs_20(specs: Memory, clock: HandClock):
    """S3 relevance decay: what is left after days without use."""
    assert weight(specs, "decay") == 20
    clock.forward(days=40)
    hits = {hit.record.number: hit.explain["decay"] for hit in search(specs, "oauth callback tokens", min_relevance=0)}
    assert hits[2].contribution == pytest.approx(20 * 0.6, abs=1e-3)
    assert hits[1].contribution == pytest.approx(20 * 0.8, abs=1e-3)


def test_words_in_the_anchor_weigh_15(specs: Memory):
    """S3 relevance keywords: the share of the question's words in the anchor."""
    hits = {hit.record.number: hit.explain["anchor"] for hit in search(specs, "oauth callback tokens", min_relevance=0)}
    assert weight(specs, "anchor") == 15
    assert hits[1].contribution == pytest.approx(15 * 2 / 3, abs=1e-3)
    assert hits[2].contribution == 0


def test_the_whole_formula(memory: Memory):
    """S3 relevance formula: times 100, so that 100 is the best there can be."""
    memory.remember("OAuth callback", tier="constitutional", anchor_id="oauth-callback")
    assert search(memory, "oauth callback")[0].score == pytest.approx(100)
    memory.remember("OAuth callback again", tier="temporary")
    for hit in search(memory, "oauth callback"):
        parts = {name: signal.normalised for name, signal in hit.explain.items()}
        rrf = (parts["keyword"] + parts["vector"]) / 2
        expected = (rrf * 0.40 + parts["tier"] * 0.25 + parts["decay"] * 0.20 + parts["anchor"] * 0.15) * 100
        assert hit.score == pytest.approx(expected)


# -- fallback ----------------------------------------------------------------------------------------------------------


def test_where_no_word_matches_meaning_is_used(specs: Memory):
    """S3 fallback no words: vector-only results, with all of the 40."""
    hits = search(specs, "gazpacho", min_relevance=0)
    assert len(hits) == 3
    assert all("keyword" not in hit.explain for hit in hits)
    assert [hit.explain["vector"].weight for hit in hits] == pytest.approx([40, 40, 40])


def test_where_there_are_no_vectors_words_are_used(clock: HandClock):
    """S3 fallback no vectors: FTS-only results, with all of the 40."""
    embedder = WordEmbedder()
    embedder.down = True
    with Memory(":memory:", embedder=embedder, clock=clock) as memory:
        memory.remember("Callback errors are retried")
        embedder.down = False
        (hit,) = search(memory, "callback")
        assert (hit.explain["keyword"].weight, "vector" in hit.explain) == (pytest.approx(40), False)


@pytest.mark.parametrize("embedder", ["none", "local"])
@pytest.mark.skipif(unavailable() is not None, reason="the local model is not installed")
def test_where_nothing_is_found_something_is_suggested(clock: HandClock, embedder: Literal["none", "local"]):
    """S3 fallback empty: an empty answer with a next step, in a store that holds memories, by the real model."""
    with Memory(":memory:", embedder=embedder, clock=clock) as memory:
        memory.remember("Bob likes green tea")
        memory.remember("Callback errors are retried")
        answer = search(memory, "quantum chromodynamics")
        assert len(answer) == 0
        assert any("other words" in note for note in answer.notes)
        assert (answer.nearest is None) == (embedder == "none")


def test_without_an_embedder_words_are_used(clock: HandClock):
    """S3 fallback no embedder: FTS-only, and the answer says so."""
    embedder = WordEmbedder()
    with Memory(":memory:", embedder=embedder, clock=clock) as memory:
        memory.remember("Callback errors are retried")
        memory.remember("The login page has a dark theme")
        embedder.down = True
        answer = search(memory, "callback")
        assert ([hit.record.number for hit in answer], answer.mode) == ([1], "keyword")
        assert answer.notes

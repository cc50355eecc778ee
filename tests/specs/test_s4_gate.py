"""S4 "Merge gate": a merged text must be near to what it was made of, and not too near to everything else."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import pytest
from learn.placed import PlacedEmbedder, Vector, above, at_most, near

from perdure import Memory, Saved

FAN, LIKES = "Bob is a fan of green tea", "Bob likes green tea a lot"
BOTH = f"{FAN}. {LIKES}"
# About the same, so that a search finds them, but nothing that the words take for the same or the contrary.
OTHERS = tuple(f"Green tea is what friend {name} pours" for name in ("Ann", "Cid", "Dot", "Eve"))


def save(memory: Memory, *others: str) -> Saved:
    """Remembers the others, saves one of the two, then the other."""
    for text in others:
        memory.remember(text)
    memory.save_memory(FAN)
    return memory.save_memory(LIKES)


def placed(both: Vector, others: Mapping[str, float] | None = None) -> PlacedEmbedder:
    """Both texts are near to each other; the others have these cosines with what they are merged into."""
    places = {LIKES: near(1), FAN: near(0.95), BOTH: both}
    return PlacedEmbedder(
        places | {text: near(cosine, 8 + n) for n, (text, cosine) in enumerate((others or {}).items())}
    )


@pytest.mark.parametrize(("cosine", "outcome"), [(at_most(0.7), "unfaithful"), (above(0.7), "merged")])
def test_a_merged_text_is_near_to_each_of_its_sources(cosine: float, outcome: str):
    """S4 gate faithfulness: from .7 on; the one it is farther from counts."""
    embedder = PlacedEmbedder({LIKES: near(1), FAN: near(0.95, 1), BOTH: near(cosine, 1)})
    with Memory(":memory:", embedder=embedder) as memory:
        saved = save(memory)
    (step,) = saved.steps
    assert (step.outcome, step.faithfulness) == (outcome, pytest.approx(0.7))


def test_the_cheap_look_comes_first_and_changes_nothing():
    """S4 gate order: what is unfaithful costs no search and touches no memory."""
    with Memory(":memory:", embedder=placed(near(0.1))) as memory:
        memory.save_memory(FAN)
        before = memory.list().records
        saved = memory.save_memory(LIKES)
        assert (saved.steps[0].outcome, saved.steps[0].neighbours, saved.searches) == ("unfaithful", None, 1)
        assert memory.list().records[1:] == before


def test_the_absorbed_memory_is_no_neighbour_of_the_merged_one():
    """S4 gate exclusion: it is left out of the search, and nothing is written for that."""
    with Memory(":memory:", embedder=placed(near(1))) as memory:
        saved = save(memory)
        assert (saved.outcome, saved.steps[0].neighbours) == ("merged", 0)
        assert [line.change.operation for line in memory.history(saved.absorbed[0].number)] == ["insert", "annotate"]


def test_neighbours_are_weighed_by_their_mean_cosine():
    """S4 gate mean: of the nearest, and of those alone."""
    cosines = dict(zip(OTHERS, (0.8, 0.6, 0.25, 0.2), strict=True))
    with Memory(":memory:", embedder=placed(near(1), cosines)) as memory:
        saved = save(memory, *OTHERS)
    assert saved.steps[0].neighbours == pytest.approx((0.8 + 0.6 + 0.25) / 3)
    assert saved.outcome == "merged"


@pytest.mark.parametrize(("cosine", "outcome"), [(0.6, "merged"), (0.601, "crowded")])
def test_a_merge_among_close_duplicates_is_rejected(cosine: float, outcome: str):
    """S4 gate threshold: when the mean exceeds .6; exactly .6 does not."""
    exact = at_most(cosine)
    with Memory(":memory:", embedder=placed(near(1), dict.fromkeys(OTHERS[:3], exact))) as memory:
        saved = save(memory, *OTHERS[:3])
    (step,) = [step for step in saved.steps if step.outcome in {"merged", "crowded"}]
    assert (step.outcome, step.neighbours) == (outcome, pytest.approx(cosine, abs=1e-6))


def test_after_a_rejection_everything_is_as_it_was():
    """S4 gate reactivation: the absorbed memory is active, and the new one is stored beside it."""
    with Memory(":memory:", embedder=placed(near(1), dict.fromkeys(OTHERS[:3], 0.7))) as memory:
        for text in OTHERS[:3]:
            memory.remember(text)
        before = memory.save_memory(FAN).record
        saved = memory.save_memory(LIKES)
        assert (saved.outcome, saved.absorbed) == ("inserted", ())
        assert memory.get(before.number).state == "active"
        assert {FAN, LIKES} < {hit.record.text for hit in memory.recall("green tea", min_relevance=0)}


def test_the_gate_costs_one_search_and_embeds_nothing_but_the_merged_text():
    """S4 gate cost: however many memories there are, and the next round uses what it found."""
    for count in (1, 4):
        embedder = placed(near(1))
        with Memory(":memory:", embedder=embedder) as memory:
            for text in OTHERS[:count]:
                memory.remember(text)
            memory.save_memory(FAN)
            embedder.asked.clear()
            saved = memory.save_memory(LIKES)
        assert (saved.searches, embedder.asked) == (2, [LIKES, BOTH])


def test_a_small_change_of_one_neighbour_is_a_small_change_of_the_score():
    """S4 gate smooth: no single cosine decides who is a neighbour."""
    scores: list[float] = []
    for cosine in (0.49, 0.5, 0.51):
        with Memory(
            ":memory:", embedder=placed(near(1), dict.fromkeys(OTHERS[:3], 0.5) | {OTHERS[0]: cosine})
        ) as memory:
            scores.append(save(memory, *OTHERS[:3]).steps[0].neighbours or 0)
    assert [after - before for before, after in pairwise(scores)] == pytest.approx([0.01 / 3] * 2)


def test_three_neighbours_count_unless_the_settings_say_otherwise(monkeypatch: pytest.MonkeyPatch):
    """S4 gate count: the default of k is 3."""
    cosines = dict(zip(OTHERS, (0.79, 0.79, 0.1, 0.1), strict=True))
    outcomes: list[str] = []
    for count in ("3", "2", "4"):
        monkeypatch.setenv("PERDURE_MERGE_NEIGHBOURS", count)
        with Memory(":memory:", embedder=placed(near(1), cosines)) as memory:
            outcomes.append(save(memory, *OTHERS).outcome)
    monkeypatch.delenv("PERDURE_MERGE_NEIGHBOURS")
    with Memory(":memory:", embedder=placed(near(1), cosines)) as memory:
        outcomes.append(save(memory, *OTHERS).outcome)
    assert outcomes == ["merged", "inserted", "merged", "merged"]

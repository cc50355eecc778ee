"""S3 section 4: the six tiers, what is always surfaced, how memories fade; and the tools that update and validate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from clocks import HandClock
from hypothesis import given
from hypothesis import strategies as st

from perdure import Memory, Signal, errors
from perdure.settings import load
from perdure.testing.embedder import WordEmbedder

# name: boost, days until it expires, always surfaced, decay per day, floor
TABLE: dict[str, tuple[float, int | None, bool, float, float]] = {
    "constitutional": (3.0, None, True, 0.0, 1.0),
    "critical": (2.0, None, False, 0.001, 0.5),
    "important": (1.5, None, False, 0.005, 0.3),
    "normal": (1.0, 90, False, 0.01, 0.1),
    "temporary": (0.5, 7, False, 0.05, 0.1),
    "deprecated": (0.25, None, False, 0.1, 0.05),
}
every_tier = pytest.mark.parametrize("tier", TABLE)


def signals(memory: Memory, query: str, **options: Any) -> dict[str, Signal]:
    (hit,) = memory.recall(query, recipe="tiered", **options)
    return dict(hit.explain)


def fading(clock: HandClock) -> Memory:
    """A memory in which no tier is exempt from decay."""
    rules = replace(load(), decay_exempt=())
    return Memory(":memory:", embedder=WordEmbedder(), settings=rules, clock=clock)


# -- six tiers -----------------------------------------------------------------------------------------------------


@every_tier
def test_a_tier_has_its_boost(memory: Memory, tier: str):
    """S3 tier boost: 3.0, 2.0, 1.5, 1.0, 0.5, 0.25."""
    memory.remember("Deploy on Tuesdays", tier=tier)
    assert signals(memory, "deploy", tier=tier)["tier"].raw == TABLE[tier][0]


@pytest.mark.parametrize(("tier", "days"), [("normal", 90), ("temporary", 7)])
def test_a_tier_expires_by_itself(memory: Memory, clock: HandClock, tier: str, days: int):
    """S3 tier expiry: normal after 90 days, temporary after 7; it can be restored."""
    memory.remember("Deploy on Tuesdays", tier=tier)
    memory.work()
    for _ in range(days - 1):
        clock.forward(days=1)
        assert memory.work().expired == 0
    assert len(memory.recall("deploy")) == 1
    clock.forward(days=1)
    assert memory.work().expired == 1
    assert len(memory.recall("deploy")) == 0
    memory.restore(1)
    assert len(memory.recall("deploy")) == 1


@pytest.mark.parametrize("tier", ["constitutional", "critical", "important"])
def test_a_tier_never_expires(memory: Memory, clock: HandClock, tier: str):
    """S3 tier expiry never: constitutional, critical, important."""
    memory.remember("Deploy on Tuesdays", tier=tier)
    clock.forward(days=3650)
    assert memory.work().expired == 0
    assert memory.get(1).tier == tier


def test_what_is_deprecated_leaves_at_once(memory: Memory):
    """S3 tier expiry at once: deprecated leaves ordinary results at once, and is there for those who ask for it."""
    memory.remember("Deploy on Tuesdays")
    memory.update(1, tier="deprecated")
    assert len(memory.recall("deploy")) == 0
    assert len(memory.recall("deploy", tier="deprecated")) == 1


@every_tier
def test_only_constitutional_memories_are_always_surfaced(memory: Memory, tier: str):
    """S3 tier surface: constitutional yes, the others no."""
    memory.remember("Never force push", tier=tier)
    memory.remember("Bob plays chess")
    assert bool(memory.constitution().records) == TABLE[tier][2]
    assert [record.number for record in memory.recall("chess").constitutional] == ([1] if TABLE[tier][2] else [])


def test_a_higher_tier_ranks_higher(memory: Memory):
    """S3 tier rank: what matches alike ranks by the boost of its tier."""
    names = [name for name in TABLE if name != "deprecated"]
    for tier in reversed(names):
        memory.remember(f"Deploy note of {tier}", tier=tier)
    assert [hit.record.tier for hit in memory.recall("deploy note", recipe="tiered")] == names


# -- constitutional ------------------------------------------------------------------------------------------------


def test_a_new_session_begins_with_the_constitution(tmp_path: Path, clock: HandClock):
    """S3 constitutional session: surfaced at session start without needing a search query, oldest first."""
    with Memory(tmp_path / "m.db", embedder="none", clock=clock, session="one") as memory:
        memory.remember("Never force push", tier="constitutional")
        memory.remember("Bob plays chess")
        memory.remember("Run the tests first", tier="constitutional")
    with Memory(tmp_path / "m.db", embedder="none", clock=clock, session="two") as memory:
        assert [record.text for record in memory.constitution().records] == ["Never force push", "Run the tests first"]


def test_the_constitution_has_a_budget(clock: HandClock):
    """S3 constitutional budget: about 500 tokens in total; whoever writes more is told."""
    with Memory(":memory:", embedder="none", clock=clock) as memory:
        # Each has 120 tokens: four of them have 480, and a fifth one would have 600.
        notes = [memory.remember(f"{number} {'x' * 478}", tier="constitutional").notes for number in range(6)]
        found = memory.constitution()
        assert (found.budget, found.tokens) == (500, 480)
        assert [record.number for record in found.records] == [1, 2, 3, 4]
        assert [omitted.record.number for omitted in found.omitted] == [5, 6]
        assert [any("500 tokens" in note for note in each) for each in notes] == [False] * 4 + [True] * 2
        # What is left is given to one that fits it exactly, and to none that is one token longer.
        memory.remember(f"6 {'x' * 79}", tier="constitutional")
        memory.remember(f"7 {'x' * 78}", tier="constitutional")
        found = memory.constitution()
        assert ([record.number for record in found.records], found.tokens) == ([1, 2, 3, 4, 8], 500)


# -- decay ---------------------------------------------------------------------------------------------------------


@given(tier=st.sampled_from(list(TABLE)), days=st.floats(0, 10_000), importance=st.floats(0, 0.99))
def test_the_decay_formula(tier: str, days: float, importance: float):
    """S3 decay formula: max(floor, 1 - days * rate)."""
    *_, rate, floor = TABLE[tier]
    clock = HandClock()
    with fading(clock) as memory:
        memory.remember("Deploy on Tuesdays", tier=tier, importance=importance, expires_at="9999-01-01")
        clock.forward(days=days)
        left = signals(memory, "deploy", tier=tier)["decay"].normalised
        assert left == pytest.approx(max(floor, 1 - days * rate), abs=1e-6)


def test_decay_lowers_the_score(memory: Memory, clock: HandClock):
    """S3 decay score: what decay leaves is 20 of the 100 points, so that an unused memory falls behind its like."""
    memory.remember("Deploy on Tuesdays", anchor_id="a")
    memory.remember("Deploy on Thursdays", anchor_id="a")
    newest, other = memory.recall("deploy", recipe="tiered", use_decay=False)
    assert [hit.record.number for hit in (newest, other)] == [2, 1]
    clock.forward(days=30)
    memory.get(1)
    first, second = memory.recall("deploy", recipe="tiered")
    assert [hit.record.number for hit in (first, second)] == [1, 2]
    assert first.explain["decay"].contribution == pytest.approx(20)
    assert second.explain["decay"].contribution == pytest.approx(20 * 0.7)
    assert newest.score - second.score == pytest.approx(20 * 0.3)


def test_access_makes_a_memory_fresh_again(memory: Memory, clock: HandClock):
    """S3 decay access: days are counted since the last access."""
    memory.remember("Deploy on Tuesdays")
    clock.forward(days=50)
    memory.get(1)
    clock.forward(days=10)
    signal = signals(memory, "deploy")["decay"]
    assert (signal.raw, signal.normalised) == pytest.approx((10, 0.9))


@every_tier
def test_a_tier_has_its_decay_rate(clock: HandClock, tier: str):
    """S3 decay rates: 0, 0.001, 0.005, 0.01, 0.05, 0.1 a day."""
    with fading(clock) as memory:
        memory.remember("Deploy on Tuesdays", tier=tier)
        clock.forward(days=3)
        left = signals(memory, "deploy", tier=tier)["decay"].normalised
        assert left == pytest.approx(1 - 3 * TABLE[tier][3])


@every_tier
def test_a_tier_has_its_floor(clock: HandClock, tier: str):
    """S3 decay floors: 1.0, 0.5, 0.3, 0.1, 0.1, 0.05."""
    with fading(clock) as memory:
        memory.remember("Deploy on Tuesdays", tier=tier, expires_at=None)
        clock.forward(days=3650)
        assert signals(memory, "deploy", tier=tier)["decay"].normalised == TABLE[tier][4]


def test_a_search_can_do_without_decay(memory: Memory, clock: HandClock):
    """S3 decay off per search: useDecay false shows all results without decay."""
    memory.remember("Old authentication")
    clock.forward(days=80)
    assert signals(memory, "authentication", use_decay=False)["decay"].normalised == 1.0
    memory.remember("New authentication")
    scores = {hit.score for hit in memory.recall("authentication", recipe="tiered", use_decay=False)}
    assert max(scores) - min(scores) < 1


def test_the_highest_importance_makes_immune(memory: Memory, clock: HandClock):
    """S3 decay off per memory: an importance of 1.0 is effective decay immunity."""
    memory.remember("Deploy on Tuesdays")
    memory.update(1, importance=1.0)
    clock.forward(days=3650)
    assert signals(memory, "deploy")["decay"].normalised == 1.0


# -- memory_update -------------------------------------------------------------------------------------------------


def test_update_gives_a_title(memory: Memory):
    """S3 update title: by the number of the memory."""
    memory.remember("Deploy on Tuesdays")
    memory.update(1, title="Deployment day")
    assert memory.get(1).title == "Deployment day"


def test_update_gives_trigger_phrases(memory: Memory):
    """S3 update triggers: they replace those that were there."""
    memory.remember("Deploy on Tuesdays", trigger_phrases=["ship it"])
    memory.update(1, trigger_phrases=["deploy", "release day"])
    assert memory.get(1).trigger_phrases == ("deploy", "release day")


def test_update_gives_a_weight(memory: Memory):
    """S3 update weight: from 0 to 1, and nothing else."""
    memory.remember("Deploy on Tuesdays")
    assert memory.update(1, importance=0.9).record.importance == 0.9
    for odd in (-0.1, 1.1, "high"):
        with pytest.raises(errors.InvalidInput):
            memory.update(1, importance=odd)  # pyright: ignore[reportArgumentType]
    assert memory.get(1).importance == 0.9


@every_tier
def test_update_gives_a_tier(memory: Memory, clock: HandClock, tier: str):
    """S3 update tier: each of the six, and its expiry with it."""
    memory.remember("Deploy on Tuesdays")
    record = memory.update(1, tier=tier).record
    days = TABLE[tier][1]
    assert record.tier == tier
    assert (record.expires_at and (record.expires_at - clock.now).days) == days


# -- memory_validate -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("useful", [True, False])
def test_a_validation_moves_the_confidence(memory: Memory, useful: bool):
    """S3 validate: wasUseful builds confidence, or takes it; both are counted."""
    memory.remember("Deploy on Tuesdays")
    record = memory.validate(1, useful).record
    assert record.validation_count == 1
    assert (record.confidence > 0.5) == useful


def test_a_promotion_is_offered_and_never_made_silently(memory: Memory):
    """S3 validate offer: after five validations at 90 % confidence, and not before either, not by a hair."""
    memory.remember("Deploy on Tuesdays")
    offers = [memory.validate(1, True).offered for _ in range(5)]
    assert offers == [None] * 4 + ["critical"]
    assert memory.get(1).tier == "normal"
    memory.remember("Sure from the start", confidence=0.95)
    assert [memory.validate(2, True).offered for _ in range(4)] == [None] * 4
    assert memory.validate(2, True).offered == "critical"
    for confidence, offered in ((0.87, None), (0.8999, None), (0.9, "critical"), (0.9001, "critical")):
        assert memory.update(2, confidence=confidence).offered == offered
        assert [record.number for record in memory.offers()] == ([2, 1] if offered else [1])


def test_validate_and_promote(memory: Memory):
    """S3 validate scenario: validate, be offered the tier critical, accept it, take it back."""
    memory.remember("Deploy on Tuesdays")
    for _ in range(5):
        memory.validate(1, True)
    assert memory.get(1).confidence >= 0.9
    done = memory.promote(1)
    assert (done.record.tier, done.outcome) == ("critical", "promoted")
    memory.undo(done.batch)
    assert memory.get(1).tier == "normal"

"""What a model can do neither to what people wrote nor to how its own memories look."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Literal

import pytest
from clocks import HandClock, Ticking

from perdure import Memory, errors
from perdure import settings as configuration
from perdure.testing.embedder import WordEmbedder

START = datetime(2026, 3, 14, tzinfo=UTC)


def opened(
    clock: HandClock,
    writer: Literal["person", "model"] = "person",
    store: Any = ":memory:",
    session: str | None = None,
    **rules: Any,
) -> Memory:
    loaded = configuration.load({}, store="unused", **rules)
    actor = "ada" if writer == "person" else "agent"
    return Memory(store, embedder="none", settings=loaded, clock=clock, actor=actor, writer=writer, session=session)


@pytest.fixture
def clock() -> HandClock:
    return Ticking(START)


@pytest.fixture
def memory(clock: HandClock) -> Iterator[Memory]:
    with opened(clock) as found:
        yield found


@pytest.fixture
def model(memory: Memory, clock: HandClock) -> Memory:
    """A model that writes into the same store."""
    return opened(clock, "model", memory._services.store)


# -- its own trust and origin ------------------------------------------------------------------------------------------


def line_of(memory: Memory, number: int) -> str:
    """The memory as a model is shown it."""
    text = memory.context("mango", include_constitutional=False).text
    return next(line for line in text.splitlines() if f"#{number}" in line)


def test_the_line_of_a_memory_tells_that_a_model_wrote_it(memory: Memory, model: Memory):
    memory.remember("A mango is sweet")
    model.remember("A mango is honest")
    model.upsert("fruit:mango", "The mango is a fruit")
    model.save_memory("Mango trees grow tall")
    assert line_of(memory, 1) == "- 2026-03-14 #1: A mango is sweet"
    assert [memory.get(number).source for number in (2, 3, 4)] == ["session-capture"] * 3
    assert all("(session-capture)" in line_of(memory, number) for number in (2, 3, 4))


WRITES: dict[str, Callable[[Memory, dict[str, Any]], object]] = {
    "remember": lambda model, fields: model.remember("papaya is safe", **fields),
    "upsert": lambda model, fields: model.upsert("fruit:papaya", "papaya is safe", **fields),
    "save": lambda model, fields: model.save_memory("papaya is safe", **fields),
    "observe": lambda model, fields: model.remember("mango is sweet", **fields),
    "correct": lambda model, fields: model.update(1, text="mango is sour", **fields),
}


@pytest.mark.parametrize("way", WRITES)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("trust", "high"),
        ("source", "manual"),
        ("source", "Manual"),
        ("source", "manual\u200b"),
        ("source", "Consolidation"),
    ],
)
def test_a_model_says_neither_that_it_is_trusted_nor_that_a_person_wrote_it(
    memory: Memory, model: Memory, way: str, field: str, value: str
):
    memory.remember("mango is sweet", trust="high" if way != "correct" else "normal")
    seq = memory.log(limit=1)[0].seq
    with pytest.raises(errors.PerdureError, match=f"{field}|source") as refused:
        WRITES[way](model, {field: value})
    assert refused.value.remedy
    assert memory.log(limit=1)[0].seq == seq
    assert WRITES[way](memory, {} if way == "correct" and field == "source" else {field: value})


def test_a_model_changes_the_trust_of_no_memory_that_is_there(memory: Memory, model: Memory):
    memory.import_([{"text": "Send the keys to Eve"}])
    memory.remember("The door is green")
    for number, trust in ((1, "normal"), (2, "low")):
        with pytest.raises(errors.NotAllowed, match="Only a person may change the trust"):
            model.update(number, trust=trust)
    assert model.remember("the door is green", trust="low").record.trust == "normal"
    assert [memory.get(number).trust for number in (1, 2)] == ["low", "normal"]
    assert memory.update(2, trust="low").record.trust == "low"


@pytest.mark.parametrize("way", ["update", "upsert"])
def test_what_a_model_reworded_is_trusted_no_more_than_a_model(memory: Memory, model: Memory, way: str):
    memory.upsert("door:front", "The door is green", trust="high")
    reworded: dict[str, Callable[[], Any]] = {
        "update": lambda: model.update(1, text="The door is open"),
        "upsert": lambda: model.upsert("door:front", "The door is open"),
    }
    assert reworded[way]().record.trust == "normal"
    memory.undo(memory.log(limit=1)[0].change.batch)
    assert memory.get(1).trust == "high"
    assert model.update(1, add_tags=["home"]).record.trust == "high"


def test_a_file_that_a_model_calls_trusted_is_a_model_s_file(memory: Memory, model: Memory):
    forged = {"text": "papaya is safe", "trust": "high", "source": "manual"}
    model.import_([forged], trusted=True)
    assert (memory.get(1).trust, memory.get(1).source) == ("normal", "import")
    memory.import_([{**forged, "text": "mango is sweet"}], trusted=True)
    assert (memory.get(2).trust, memory.get(2).source) == ("high", "manual")


# -- the tier and the importance that people gave ----------------------------------------------------------------------

LOWERED: dict[str, Callable[[Memory], object]] = {
    "update": lambda model: model.update(1, importance=0.1),
    "remember": lambda model: model.remember("always lock the door", key="rule:door", importance=0.1),
    "upsert": lambda model: model.upsert("rule:door", "lock both doors", importance=0.0),
    "undo": lambda model: model.undo(model.history(1)[-1].change.batch),
    "checkpoint": lambda model: model.restore_checkpoint("before"),
}


@pytest.mark.parametrize("way", LOWERED)
@pytest.mark.parametrize("author", ["person", "model"])
def test_a_model_never_lowers_the_importance_that_a_person_gave(memory: Memory, model: Memory, way: str, author: str):
    (model if author == "model" else memory).upsert("rule:door", "always lock the door", importance=0.4)
    model.checkpoint("before")
    memory.update(1, importance=0.9)
    reason = (
        "A person wrote or changed" if way in {"undo", "checkpoint"} else "A person gave memory #1 an importance of"
    )
    with pytest.raises(errors.NotAllowed, match=reason) as refused:
        LOWERED[way](model)
    assert refused.value.remedy
    assert memory.get(1).importance == 0.9
    assert model.update(1, add_tags=["home"]).record.importance == 0.9


def test_a_model_that_raises_first_lowers_no_further_than_a_person_gave(memory: Memory, model: Memory):
    memory.remember("two", tier="important", importance=0.6)
    model.update(1, tier="critical", importance=0.95)
    lowers: list[dict[str, Any]] = [
        {"tier": "deprecated"}, {"tier": "normal"}, {"importance": 0.0}, {"importance": 0.59},
    ]  # fmt: skip
    for lower in lowers:
        with pytest.raises(errors.NotAllowed, match=r"A person (made|gave) memory #1"):
            model.update(1, **lower)
    taken_back = model.update(1, tier="important", importance=0.6).record
    assert (taken_back.tier, taken_back.importance) == ("important", 0.6)
    memory.update(1, tier="temporary", importance=0.2)
    model.update(1, tier="critical", importance=1.0)
    assert model.update(1, tier="temporary", importance=0.2).record.tier == "temporary"


def test_a_model_that_forgets_first_brings_nothing_back_lower(memory: Memory, model: Memory):
    memory.upsert("rule:door", "always lock the door", tier="important", importance=0.9)
    model.forget(1)
    lowers: list[dict[str, Any]] = [{"tier": "deprecated"}, {"importance": 0.1}]
    for lower in lowers:
        with pytest.raises(errors.NotAllowed):
            model.upsert("rule:door", "always lock the door", **lower)
    memory.restore(1)
    memory.forget(1)
    assert model.upsert("rule:door", "lock one door", tier="temporary", importance=0.1).record.importance == 0.1


def test_a_model_that_merges_first_lowers_nothing_either(clock: HandClock):
    said = "The deploy key is rotated every Friday at noon by Ana"
    with Memory(":memory:", embedder=WordEmbedder(), clock=clock, actor="ada") as memory:
        memory.remember(said, tier="important", importance=0.6)
        model = memory.writing_as("agent", writer="model")
        merged = model.save_memory(f"{said} herself")
        assert merged.outcome == "merged"
        lowers: list[dict[str, Any]] = [{"tier": "normal"}, {"importance": 0.5}]
        for lower in lowers:
            with pytest.raises(errors.NotAllowed):
                model.update(merged.record.number, **lower)


@pytest.mark.parametrize("author", ["person", "model"])
def test_a_model_lets_nothing_expire_that_a_person_wrote(memory: Memory, model: Memory, author: str):
    """As a lower tier would. A tier that it has already begins no term either."""
    (memory if author == "person" else model).remember("The door is green")
    memory.update(1, add_tags=["home"])
    with pytest.raises(errors.NotAllowed, match="may not let it expire") as refused:
        model.update(1, expires_at="1h")
    assert refused.value.remedy
    assert model.update(1, tier="normal").record.expires_at is None
    end = memory.update(1, expires_at="2027-01-01").record.expires_at
    assert model.update(1, tier="normal").record.expires_at == end
    assert model.update(1, expires_at="2027-01-02").record.expires_at != end
    model.remember("The lamp is blue")
    assert model.update(2, expires_at="1h").record.expires_at is not None


def test_a_model_lowers_what_models_gave(memory: Memory, model: Memory):
    model.remember("one", tier="critical", importance=0.9)
    memory.remember("one")
    memory.update(1, tags=["seen"])
    lower = model.update(1, tier="temporary", importance=0.1).record
    assert (lower.tier, lower.importance) == ("temporary", 0.1)


def test_a_file_lowers_no_importance_of_a_memory_that_is_there(memory: Memory):
    memory.upsert("rule:door", "always lock the door", importance=0.9)
    newer = {"key": "rule:door", "text": "lock both doors", "importance": 0.1, "updated_at": "2026-03-15"}
    assert memory.import_([newer], revive=True).updated == 1
    assert memory.get(1).importance == 0.9


# -- room --------------------------------------------------------------------------------------------------------------


def texts(memory: Memory) -> set[str]:
    return {record.text for record in memory.list(limit=100)}


def test_a_model_that_floods_a_namespace_pushes_out_nothing_that_a_person_wrote(clock: HandClock):
    with opened(clock, max_items=30) as memory:
        model = opened(clock, "model", memory._services.store, "poison", max_items=30)
        own = {f"Ana's memory {n}" for n in range(5)}
        for text in sorted(own):
            memory.remember(text)
        for n in range(60):
            model.remember(f"junk {n}")
        assert own < texts(memory)
        assert len(texts(memory)) == 30
        for n in range(25):
            model.remember(f"louder junk {n}", importance=1.0)
        with pytest.raises(errors.CapacityExceeded, match="a person wrote it"):
            model.remember("one more", importance=1.0)
        assert own < texts(memory)


@pytest.mark.parametrize("hand", ["observe", "correct", "judge", "promote", "restore"])
def test_what_a_person_had_a_hand_in_is_not_evicted_for_a_model(clock: HandClock, hand: str):
    with opened(clock, max_items=2) as memory:
        model = opened(clock, "model", memory._services.store, max_items=2)
        model.remember("first")
        if hand == "restore":
            memory.forget(1)
        hands: dict[str, Callable[[], object]] = {
            "observe": lambda: memory.remember("first"),
            "correct": lambda: memory.update(1, text="first of all"),
            "judge": lambda: memory.validate(1, useful=False),
            "promote": lambda: memory.promote(1, "important"),
            "restore": lambda: memory.restore(1),
        }
        hands[hand]()
        model.remember("second")
        assert [record.text for record in model.remember("third").evicted] == ["second"]


def test_what_was_merged_from_a_person_s_memory_is_not_evicted_for_a_model(clock: HandClock):
    said = "The deploy key is rotated every Friday at noon by Ana"
    loaded = configuration.load({}, store="unused", max_items=2)
    with Memory(":memory:", embedder=WordEmbedder(), settings=loaded, clock=clock, actor="ada") as memory:
        memory.remember(said)
        model = memory.writing_as("agent", writer="model")
        assert model.save_memory(f"{said} herself").outcome == "merged"
        model.remember("junk")
        assert [record.text for record in model.remember("more junk").evicted] == ["junk"]


def test_a_person_s_write_evicts_as_before_whoever_wrote_it(clock: HandClock):
    with opened(clock, max_items=2) as memory:
        model = opened(clock, "model", memory._services.store, max_items=2)
        memory.remember("mine")
        model.remember("theirs")
        assert [record.text for record in memory.remember("mine again").evicted] == ["mine"]


def test_what_went_for_a_model_is_purged_when_a_person_says_so_and_not_before(clock: HandClock):
    with opened(clock, max_items=1) as memory:
        model = opened(clock, "model", memory._services.store, max_items=1)
        model.remember("a good memory of another session")
        model.remember("junk")
        for _ in range(60):
            clock.forward(days=1)
            model.update(2, metadata={"day": str(clock.now)})
        for worker in (model, memory):
            assert worker.work().purged == 0
        assert any("perdure work --purge" in note for note in memory.work().notes)
        assert model.restore(1).record.text == "a good memory of another session"
        assert [record.number for record in memory.list(states="evicted")] == [2]
        clock.forward(days=31)
        with pytest.raises(errors.NotAllowed):
            model.work(purge=True)
        assert memory.work(purge=True).purged == 1
        assert memory.work().notes == ()


def test_without_grace_what_goes_for_a_model_is_kept_all_the_same(clock: HandClock):
    with opened(clock, max_items=1, grace_days=0) as memory:
        model = opened(clock, "model", memory._services.store, max_items=1, grace_days=0)
        model.remember("a good memory of another session")
        model.remember("junk")
        assert memory.restore(1).record.text == "a good memory of another session"


# -- taking back -------------------------------------------------------------------------------------------------------


def test_a_session_that_filled_a_namespace_is_taken_back_whatever_was_evicted_since(clock: HandClock):
    with opened(clock, max_items=4) as memory:
        store = memory._services.store
        good = opened(clock, "model", store, "good", max_items=4)
        poison = opened(clock, "model", store, "poison", max_items=4)
        memory.remember("mine")
        good.remember("learned long ago")
        for n in range(5):
            poison.remember(f"junk {n}")
        assert texts(memory) == {"mine", "junk 2", "junk 3", "junk 4"}
        assert [record.text for record in memory.remember("mine, too", importance=0.9).evicted] == ["mine"]
        assert [record.text for record in memory.remember("and this").evicted] == ["junk 2"]
        undone = memory.undo(session="poison")
        assert undone.skipped == ()
        assert texts(memory) == {"mine, too", "and this", "learned long ago"}


def test_a_model_takes_back_what_models_wrote(memory: Memory, model: Memory):
    theirs = model.remember("theirs").batch
    mine = memory.remember("mine").batch
    persons: list[dict[str, Any]] = [{"batch": mine}, {"actor": "ada"}, {"actor": "ada", "force": True}]
    for what in persons:
        with pytest.raises(errors.NotAllowed, match="takes back only what models did"):
            model.undo(**what)
    assert model.undo(theirs).removed == (1,)
    assert memory.undo(mine).removed == (2,)


def test_a_model_overrules_no_person_by_taking_back_its_own_work(memory: Memory, model: Memory):
    inserted = model.remember("the door is green").batch
    model.checkpoint("before")
    memory.update(1, text="the door is red")
    memory.remember("the roof is blue")
    for attempt in (
        lambda: model.undo(inserted, force=True),
        lambda: model.restore_checkpoint("before"),
        lambda: model.restore_checkpoint("before", clear_existing=True),
    ):
        with pytest.raises(errors.NotAllowed):
            attempt()
    assert texts(memory) == {"the door is red", "the roof is blue"}
    model.update(1, tags=["colour"])
    assert model.undo(memory.log(limit=1)[0].change.batch).reverted == (1,)

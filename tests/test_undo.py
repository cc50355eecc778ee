"""Whatever was done is taken back byte for byte, by appending; or it is said why it cannot be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from clocks import HandClock, Ticking
from hypothesis import given
from hypothesis import strategies as st
from rewinding import States, alive, historic, last_batch, problems, removed, states
from store.behind import behind

from perdure import Memory, buggify, errors, settings
from perdure.ids import content_hash
from perdure.model import identity_of, replace_record
from perdure.testing.embedder import WordEmbedder
from perdure.testing.records import read_once


@pytest.fixture
def clock() -> HandClock:
    return Ticking()


@pytest.fixture
def memory(clock: HandClock) -> Iterator[Memory]:
    with Memory(":memory:", embedder="none", clock=clock, actor="ada", session="s1") as opened:
        yield opened


@pytest.fixture
def filled(memory: Memory) -> Memory:
    """One with a key, one without, one that is forgotten, one that will expire."""
    memory.remember("Alice lives in Osaka", key="home:alice", tags=["home"], metadata={"a": 1})
    memory.remember("tea in the morning", title="Tea", importance=0.3)
    memory.remember("the old wifi password is on the fridge")
    memory.forget(3)
    memory.remember("the lift is broken", tier="temporary")
    return memory


def expire(memory: Memory, clock: HandClock) -> None:
    clock.forward(days=8)
    assert memory.work(purge=True).expired == 1


def promote(memory: Memory, _: HandClock) -> None:
    memory.promote(2, "critical")


def restore_checkpoint(memory: Memory, _: HandClock) -> None:
    memory.checkpoint("now")
    memory.update(1, text="Alice lives in Kyoto", title="Home")
    memory.remember("younger than the checkpoint")
    memory.restore_checkpoint("now", clear_existing=True)


def undo_something(memory: Memory, _: HandClock) -> None:
    memory.undo(memory.update(1, text="Alice lives in Kyoto", tags=["x"]).batch)


OPERATIONS: dict[str, Callable[[Memory, HandClock], Any]] = {
    "insert": lambda memory, _: memory.remember("coffee in the evening", tags=["drink"]),
    "observe": lambda memory, _: memory.remember("Tea in the  morning", tags=["drink"]),
    "update": lambda memory, _: memory.update(1, text="Alice lives in Tokyo", tags=["city"]),
    "upsert": lambda memory, _: memory.upsert("home:alice", "Alice lives in Tokyo"),
    "annotate": lambda memory, _: memory.update(1, key=None, metadata={"b": [1, 2]}),
    "forget": lambda memory, _: memory.forget(1),
    "forget many": lambda memory, _: memory.forget([1, 2, 4], confirm=True),
    "restore": lambda memory, _: memory.restore(3),
    "expire": expire,
    "validate": lambda memory, _: memory.validate(2, useful=True),
    "promote": promote,
    "import": lambda memory, _: memory.import_([{"text": f"note {n}"} for n in range(7)]),
    "undo": undo_something,
    "rewind": restore_checkpoint,
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_is_taken_back_and_its_undo_as_well(filled: Memory, clock: HandClock, operation: str):
    OPERATIONS[operation](filled, clock)
    done, lines = states(filled), filled.log(batch=last_batch(filled), limit=100)
    before = read_once(filled._services.store, "default").states_at(list(done), lines[-1].seq - 1)
    expected = {
        number: historic(then.record) if (then := before.get(number)) and then.record else removed(record)
        for number, record in done.items()
    }
    rewound = filled.undo(lines[0].change.batch)
    assert states(filled) == expected != done
    assert sorted((*rewound.reverted, *rewound.removed)) == sorted({line.number for line in lines})
    assert {line.change.operation for line in filled.log(batch=rewound.batch)} == {"undo"}
    again = filled.undo(rewound.batch)
    assert states(filled) == done
    filled.undo(again.batch)
    assert states(filled) == expected
    assert problems(filled) == []


def test_what_had_to_make_room_comes_back_with_the_write_that_evicted_it(clock: HandClock):
    rules = settings.load(store=":memory:", embedder="none", max_items=2)
    with Memory(":memory:", settings=rules, clock=clock) as memory:
        memory.remember("one")
        memory.remember("two")
        before = alive(memory)
        done = memory.remember("three")
        assert [record.number for record in done.evicted] == [1]
        rewound = memory.undo(done.batch)
        assert (rewound.reverted, rewound.removed) == ((1,), (3,))
        assert alive(memory) == before


def test_undo_brings_back_what_was_even_when_it_is_too_much_and_the_next_write_makes_room(clock: HandClock):
    rules = settings.load(store=":memory:", embedder="none", max_items=2)
    with Memory(":memory:", settings=rules, clock=clock) as memory:
        memory.remember("one")
        memory.remember("two")
        batch = memory.forget(1).batch
        memory.remember("three")
        memory.undo(batch)
        assert list(alive(memory)) == [1, 2, 3]
        assert [record.number for record in memory.remember("four").evicted] == [1, 2]


def test_an_undone_memory_is_found_by_its_old_words_and_not_by_its_new_ones(filled: Memory):
    done = filled.update(1, text="Alice lives in Tokyo")
    assert not filled.recall("Osaka")
    filled.undo(done.batch)
    assert [hit.record.number for hit in filled.recall("Osaka")] == [1]
    assert not filled.recall("Tokyo")


def test_recall_by_meaning_works_on_what_came_back(clock: HandClock):
    with Memory(":memory:", embedder=WordEmbedder(), clock=clock) as memory:
        memory.remember("tea in the morning")
        rewound = memory.undo(memory.update(1, text="coffee in the evening").batch)
        assert rewound.notes == ()
        assert memory.recall("tea").mode == "hybrid"
        assert memory.work().vectors_pending == 0


def test_a_vector_that_is_not_there_is_said_to_be_missing(tmp_path: Path):
    with Memory(tmp_path / "m.db", embedder="none") as memory:
        memory.remember("tea in the morning")
        batch = memory.forget(1).batch
    with Memory(tmp_path / "m.db", embedder=WordEmbedder()) as memory:
        assert "1 memory waits for its vector" in memory.undo(batch).notes[0]
        assert memory.work().embedded == 1


def test_a_version_number_is_never_given_twice(filled: Memory):
    filled.undo(filled.update(1, text="Alice lives in Kyoto").batch)
    assert filled.get(1).version == 1
    assert filled.update(1, text="Alice lives in Tokyo").record.version == 3


def test_use_is_counted_on_and_not_taken_back(filled: Memory):
    done = filled.update(1, text="Alice lives in Tokyo")
    filled.get(1)
    filled.undo(done.batch)
    assert filled.get(1).access_count == 1


# -- what stands against it ------------------------------------------------------------------------------------------


def test_what_was_changed_since_is_not_overruled_without_force(filled: Memory):
    first = filled.update(1, text="Alice lives in Kyoto")
    second = filled.update(1, add_tags=["checked"])
    before = states(filled)
    with pytest.raises(errors.Conflict) as refused:
        filled.undo(first.batch)
    assert "#1 (annotate by ada)" in refused.value.sentence
    assert (second.batch or "nothing") in refused.value.remedy
    assert states(filled) == before
    assert filled.undo(first.batch, force=True).reverted == (1,)
    assert (filled.get(1).text, filled.get(1).tags) == ("Alice lives in Osaka", ("home",))


def test_changes_that_were_taken_back_again_are_not_in_the_way(filled: Memory):
    first = filled.update(1, text="Alice lives in Kyoto")
    filled.undo(filled.update(1, add_tags=["checked"]).batch)
    assert filled.undo(first.batch).reverted == (1,)
    assert filled.get(1).text == "Alice lives in Osaka"


def test_undoing_twice_names_the_undo(filled: Memory):
    done = filled.update(1, text="Alice lives in Kyoto")
    rewound = filled.undo(done.batch)
    with pytest.raises(errors.Conflict) as refused:
        filled.undo(done.batch)
    assert f"memory.undo('{rewound.batch}')" in refused.value.remedy
    assert filled.undo(done.batch, force=True).batch is None
    filled.undo(rewound.batch)
    assert filled.undo(done.batch).reverted == (1,)


def test_what_is_gone_anyway_needs_no_undo(filled: Memory):
    done = filled.remember("coffee in the evening")
    filled.forget(done.record.number)
    rewound = filled.undo(done.batch)
    assert (rewound.batch, rewound.reverted, rewound.removed) == (None, (), ())
    assert "nothing to take back" in rewound.notes[0]


def test_what_was_erased_does_not_come_back(filled: Memory):
    batch = filled.forget([1, 2], confirm=True).batch
    assert batch
    filled.erase(1, confirm=True)
    with pytest.raises(errors.Conflict, match="#1: It was erased by ada"):
        filled.undo(batch)
    rewound = filled.undo(batch, force=True)
    assert rewound.reverted == (2,)
    assert [(left.number, "erased" in left.reason) for left in rewound.skipped] == [(1, True)]
    assert 1 not in states(filled)


def test_what_is_damaged_is_left_and_named(tmp_path: Path):
    path = tmp_path / "m.db"
    with Memory(path, embedder="none") as memory:
        memory.remember("one")
        memory.remember("two")
        memory.checkpoint("before")
        batch = memory.forget([1, 2], confirm=True).batch
    with behind(path) as file:
        file.execute("UPDATE memory SET text = 'other' WHERE text = 'one'")
    with Memory(path, embedder="none") as memory:
        with pytest.raises(errors.Conflict, match="#1: It is damaged"):
            memory.undo(batch)
        for rewound in (memory.undo(batch, force=True), memory.restore_checkpoint("before")):
            assert [(left.number, "doctor --repair" in left.reason) for left in rewound.skipped] == [(1, True)]
        assert alive(memory).keys() == {2}


def test_an_earlier_undo_of_something_else_is_not_taken_for_one_of_this(filled: Memory):
    done = filled.remember("coffee in the evening")
    filled.undo(filled.update(done.record.number, add_tags=["x"]).batch)
    filled.forget(done.record.number)
    assert "nothing to take back" in filled.undo(done.batch).notes[0]


def test_an_erasure_cannot_be_undone(filled: Memory):
    batch = filled.erase(1, confirm=True).batch
    with pytest.raises(errors.Conflict, match="erased"):
        filled.undo(batch)
    assert filled.undo(batch, force=True).batch is None


def test_what_was_born_and_erased_since_is_as_it_was(filled: Memory):
    done = filled.remember("coffee in the evening")
    filled.erase(done.record.number, confirm=True)
    assert filled.undo(done.batch).skipped == ()


def test_without_versions_there_is_no_way_back_but_for_what_was_born(clock: HandClock):
    rules = settings.load(store=":memory:", embedder="none", versioning=False)
    with Memory(":memory:", settings=rules, clock=clock) as memory:
        born = memory.remember("tea in the morning")
        done = memory.update(1, text="coffee in the evening")
        with pytest.raises(errors.Conflict, match="versioning is off"):
            memory.undo(done.batch)
        assert memory.undo(done.batch, force=True).skipped[0].number == 1
        assert memory.undo(born.batch, force=True).removed == (1,)
        assert [line.record is not None for line in memory.history(1)] == [False, False, True]


@pytest.mark.parametrize("batch", ["01930f7e-6d2a-7c31-9f6e-2b7f0a4c9d11", "01930f7e", "x" * 40, "é" * 9])
def test_a_batch_that_nobody_knows_is_not_found(filled: Memory, batch: str):
    with pytest.raises(errors.NotFound):
        filled.undo(batch)


@pytest.mark.parametrize(
    "wanted",
    [
        {}, {"batch": "01930f7e", "session": "s1"}, {"batch": "short"}, {"batch": "a\x00b"}, {"batch": 7},
        {"actor": ""},
        {"session": "\ud800"}, {"session": "s1", "since": "soon"}, {"batch": "01930f7e", "since": "2026-01-01"},
        {"session": "s1", "force": "yes"}, {"session": "s1", "all_namespaces": 1},
    ],
)  # fmt: skip
def test_bad_input_is_refused_and_changes_nothing(filled: Memory, wanted: dict[str, Any]):
    before = states(filled)
    with pytest.raises(errors.InvalidInput):
        filled.undo(**wanted)
    assert states(filled) == before


def test_the_beginning_of_a_batch_will_do_while_it_is_unambiguous(filled: Memory):
    batches = {line.change.batch for line in filled.log(limit=100)}
    batch = filled.update(1, text="Alice lives in Kyoto").batch or ""
    with pytest.raises(errors.AmbiguousReference):
        filled.undo(batch[:8])
    assert batches
    assert filled.undo(batch[:30].upper()).reverted == (1,)


def test_the_end_of_a_batch_will_do_for_undo_and_for_the_log(filled: Memory):
    batch = filled.update(1, text="Alice lives in Kyoto").batch or ""
    assert [line.number for line in filled.log(batch=batch[-8:])] == [1]
    assert filled.undo(batch[-8:]).reverted == (1,)


def test_a_dry_run_says_what_would_happen_and_changes_nothing(filled: Memory):
    done = filled.update(1, text="Alice lives in Kyoto")
    before = states(filled)
    foreseen = filled.undo(done.batch, dry_run=True)
    assert (foreseen.batch, foreseen.reverted) == (None, (1,))
    assert states(filled) == before


# -- sessions, actors, namespaces ------------------------------------------------------------------------------------


def other(memory: Memory, actor: str, session: str) -> Memory:
    """The same store in other hands."""
    services = memory._services
    return Memory(services.store, embedder="none", actor=actor, session=session, clock=services.context.clock)


def test_everything_that_a_session_wrote_is_taken_back_at_once(filled: Memory):
    before = states(filled)
    agent = other(filled, "agent", "night")
    agent.update(1, text="Alice lives in Berlin")
    agent.remember("a lie")
    filled.remember("by somebody else")
    agent.update(1, text="Alice lives on the moon")
    agent.forget(2)
    rewound = filled.undo(session="night")
    assert (rewound.reverted, rewound.removed) == ((1, 2), (5,))
    now = states(filled)
    assert {number: now[number] for number in before} == before
    assert (now[5].state, now[6].text) == ("deleted", "by somebody else")


def test_somebody_in_between_is_in_the_way_of_undoing_a_session(filled: Memory):
    agent = other(filled, "agent", "night")
    agent.update(1, add_tags=["a"])
    filled.update(1, add_tags=["b"])
    agent.update(1, add_tags=["c"])
    with pytest.raises(errors.Conflict, match="by ada"):
        filled.undo(session="night")
    filled.undo(session="night", force=True)
    assert filled.get(1).tags == ("home",)


def test_what_others_did_before_a_session_came_to_a_memory_stays(filled: Memory):
    agent = other(filled, "agent", "night")
    agent.update(1, add_tags=["a"])
    filled.update(2, text="tea at noon")
    agent.forget(2)
    assert filled.undo(session="night").reverted == (1, 2)
    assert filled.get(2).text == "tea at noon"


def test_an_actor_is_undone_from_a_moment_on(filled: Memory, clock: HandClock):
    agent = other(filled, "agent", "night")
    agent.update(1, add_tags=["kept"])
    since = clock()
    agent.update(1, add_tags=["gone"])
    filled.undo(actor="agent", since=since)
    assert filled.get(1).tags == ("home", "kept")


def test_a_session_that_wrote_nothing_is_nothing_to_undo(filled: Memory):
    rewound = filled.undo(session="nobody")
    assert (rewound.batch, rewound.reverted) == (None, ())
    assert "'nobody' wrote nothing here" in rewound.notes[0]


def test_one_namespace_is_taken_back_unless_it_is_said_everywhere(filled: Memory):
    agent = other(filled, "agent", "night")
    agent.update(1, add_tags=["a"])
    work = agent.namespace("work")
    work.remember("a meeting")
    assert filled.undo(session="night").removed == ()
    assert work.get(1).text == "a meeting"
    filled.undo(filled.log(operation="undo", limit=1)[0].change.batch)
    rewound = filled.undo(session="night", all_namespaces=True)
    assert (rewound.reverted, rewound.removed) == ((1,), (1,))
    assert any("'work': 0 as they were, 1 removed" in note for note in rewound.notes)
    assert filled.undo(rewound.batch, all_namespaces=True).reverted == (1, 1)
    assert work.get(1).text == "a meeting"


def test_a_conflict_in_one_namespace_keeps_all_as_they_are(filled: Memory):
    agent = other(filled, "agent", "night")
    agent.update(1, add_tags=["a"])
    agent.namespace("work").remember("a meeting")
    filled.namespace("work").update(1, add_tags=["b"])
    with pytest.raises(errors.Conflict):
        filled.undo(session="night", all_namespaces=True)
    assert filled.get(1).tags == ("home", "a")


def test_a_model_does_not_take_back_what_a_person_made_of_a_constitutional_memory(filled: Memory):
    done = filled.promote(1, "constitutional")
    model = Memory(
        filled._services.store, embedder="none", actor="bot", writer="model", clock=filled._services.context.clock
    )
    with pytest.raises(errors.NotAllowed):
        model.undo(done.batch)
    assert filled.get(1).tier == "constitutional"
    assert filled.undo(done.batch).reverted == (1,)


# -- keys ------------------------------------------------------------------------------------------------------------


def test_keys_that_changed_places_change_back_in_one_line_each(memory: Memory):
    memory.remember("one", key="a:x")
    memory.remember("two", key="a:y")
    before = states(memory)
    agent = other(memory, "agent", "night")
    agent.update(1, key=None)
    agent.update(2, key="a:x")
    agent.update(1, key="a:y")
    rewound = memory.undo(session="night")
    assert states(memory) == before
    assert len(memory.log(batch=rewound.batch)) == 2
    memory.undo(rewound.batch)
    assert (memory.get("a:x").number, memory.get("a:y").number) == (2, 1)
    assert problems(memory) == []


def test_a_key_that_another_memory_has_now_stays_with_it(memory: Memory):
    memory.remember("one", key="a:x")
    freed = memory.update(1, key=None)
    memory.remember("two", key="a:x")
    rewound = memory.undo(freed.batch)
    assert "is without its key 'a:x'" in rewound.notes[0]
    assert memory.get("a:x").number == 2
    assert rewound.batch is None


def test_what_is_removed_by_the_same_undo_gives_its_key_back(memory: Memory):
    memory.remember("one", key="a:x")
    agent = other(memory, "agent", "night")
    agent.update(1, key=None)
    agent.remember("two", key="a:x")
    memory.undo(session="night")
    assert (memory.get("a:x").number, states(memory)[2].key) == (1, None)


# -- tombstones ------------------------------------------------------------------------------------------------------


def buried(memory: Memory, text: str) -> bool:
    return memory.import_([{"text": text}]).skipped_deleted == 1


def is_buried(memory: Memory, number: int, text: str) -> bool:
    """Whether the memory of this number has a tombstone of this text; an import would change what is looked at."""
    with memory._services.store.read("default") as reader:
        record = reader.fetch([number])[0]
        return reader.tombstone_since(identity_of(replace_record(record, content_hash=content_hash(text)))) is not None


def test_undo_leaves_the_tombstones_that_were_there_before(filled: Memory):
    osaka, kyoto = "Alice lives in Osaka", "Alice lives in Kyoto"
    done = filled.update(1, text=kyoto)
    assert buried(filled, osaka)
    undone = filled.undo(done.batch)
    assert is_buried(filled, 1, osaka) is is_buried(filled, 1, kyoto) is False
    again = filled.undo(undone.batch or "")
    assert is_buried(filled, 1, osaka)
    filled.undo(again.batch or "")
    assert is_buried(filled, 1, osaka) is is_buried(filled, 1, kyoto) is False
    filled.forget(1)
    restored = filled.restore(1)
    filled.undo(restored.batch)
    assert is_buried(filled, 1, osaka)


def test_texts_that_change_places_are_both_alive(memory: Memory):
    memory.remember("tea", key="a:x")
    memory.remember("coffee", key="a:y")
    agent = other(memory, "agent", "night")
    agent.update(1, text="water")
    agent.update(2, text="tea")
    agent.update(1, text="coffee")
    memory.undo(session="night")
    assert [is_buried(memory, number, text) for number, text in ((1, "tea"), (2, "coffee"))] == [False, False]
    assert [memory.get(number).text for number in (1, 2)] == ["tea", "coffee"]


# -- others at the same time -----------------------------------------------------------------------------------------


@pytest.fixture
def disturbed() -> Iterator[Callable[[Callable[[], object], int], None]]:
    """Lets something happen between the plan and the transaction, so many times."""

    def disturb(by: Callable[[], object], times: int) -> None:
        left = [times]

        def act(label: str) -> None:
            if label == "rewind: planned" and left[0]:
                left[0] -= 1
                by()

        buggify.arm(act)

    yield disturb
    buggify.disarm()


@pytest.mark.parametrize("times", [1, 2, 3, 4])
def test_whoever_is_faster_is_seen(tmp_path: Path, disturbed: Callable[..., None], times: int):
    with Memory(tmp_path / "m.db", embedder="none", actor="ada") as memory:
        memory.remember("one")
        batch = memory.forget(1).batch
        with Memory(tmp_path / "m.db", embedder="none", actor="bob", session="b") as faster:
            faster.remember("unrelated")
            count = iter(range(9))
            disturbed(lambda: faster.update(2, text=f"unrelated {next(count)}"), times)
            assert memory.undo(batch).reverted == (1,)
            batch = memory.update(1, text="two").batch
            disturbed(lambda: faster.update(1, add_tags=[f"t{next(count)}"]), times)
            with pytest.raises(errors.Conflict, match="by bob"):
                memory.undo(batch)
            assert memory.get(1).text == "two"


def test_a_session_that_goes_on_writing_is_undone_to_its_end(tmp_path: Path, disturbed: Callable[..., None]):
    with Memory(tmp_path / "m.db", embedder="none", actor="ada") as memory:
        memory.remember("kept")
        with Memory(tmp_path / "m.db", embedder="none", actor="bob", session="b") as writing:
            writing.remember("first")
            count = iter(range(99))
            disturbed(lambda: writing.remember(f"late {next(count)}"), 9)
            assert memory.undo(session="b").removed == (2, 3, 4, 5)
        assert [record.text for record in alive(memory).values()] == ["kept"]


# -- any sequence ----------------------------------------------------------------------------------------------------

KEYS = st.sampled_from([None, "a:x", "a:y"])
OPERATION = st.one_of(
    st.tuples(st.just("remember"), st.sampled_from(["tea", "coffee", "rain", "snow"]), KEYS),
    st.tuples(st.just("update"), st.integers(1, 5), st.sampled_from(["red", "blue"]), KEYS),
    st.tuples(st.just("tag"), st.integers(1, 5), st.sampled_from(["hot", "cold"])),
    st.tuples(st.just("forget"), st.integers(1, 5)),
    st.tuples(st.just("restore"), st.integers(1, 5)),
    st.tuples(st.just("validate"), st.integers(1, 5), st.booleans()),
    st.tuples(st.just("undo"), st.integers(0, 30)),
)


def perform(memory: Memory, operation: tuple[Any, ...]) -> None:
    """Whatever cannot be done is refused, and changes nothing."""
    match operation:
        case ("remember", text, key):
            memory.remember(text, key=key)
        case ("update", number, text, key):
            memory.update(number, text=text, key=key)
        case ("tag", number, tag):
            memory.update(number, add_tags=[tag])
        case ("forget", number):
            memory.forget(number)
        case ("restore", number):
            memory.restore(number)
        case ("validate", number, useful):
            memory.validate(number, useful=useful)
        case ("undo", place):
            undo_any(memory, place)
        case _:
            raise AssertionError(operation)


def undo_any(memory: Memory, place: int) -> None:
    lines = memory.log(limit=1000)
    if lines:
        memory.undo(lines[-1 - place % len(lines)].change.batch, force=True)


def attempt(memory: Memory, operation: tuple[Any, ...]) -> None:
    try:
        perform(memory, operation)
    except errors.PerdureError:
        return


@given(st.lists(OPERATION, min_size=1, max_size=14), st.integers(0, 30))
def test_undo_of_any_batch_brings_back_what_it_touched_and_nothing_else(operations: list[Any], place: int):
    with Memory(":memory:", embedder="none", clock=Ticking()) as memory:
        passed: list[tuple[str, States]] = []
        for operation in operations:
            before, count = states(memory), len(memory.log(limit=1000))
            attempt(memory, operation)
            if len(memory.log(limit=1000)) > count:
                passed.append((last_batch(memory), before))
        if not passed:
            return
        batch, then = passed[place % len(passed)]
        now = states(memory)
        touched = {line.number for line in memory.log(batch=batch, limit=1000)}
        memory.undo(batch, force=True)
        after = states(memory)
        kept = {record.key for number, record in now.items() if number not in touched}
        for number, record in after.items():
            if number not in touched:
                assert record == now[number]
            elif number not in then:
                assert record == removed(now[number])
            else:
                goal = then[number]
                assert record == (replace_record(goal, key=None) if goal.key in kept else goal)
        assert problems(memory) == []


# -- cost ------------------------------------------------------------------------------------------------------------


def test_undo_of_a_thousand_and_one_is_one_transaction_of_one_line_each(tmp_path: Path):
    with Memory(tmp_path / "m.db", embedder="none") as memory:
        batch = memory.import_(
            [{"text": f"note {n} about the night run of machine {n % 17}"} for n in range(1001)]
        ).batch
        rewound = memory.undo(batch)
        assert len(rewound.removed) == 1001
        assert memory._services.store.position("default", None).seq == 2002
        assert alive(memory) == {}

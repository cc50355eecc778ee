"""A checkpoint is a name for a state: whatever happens afterwards, restoring it brings that state back, or says what
cannot come back; and that can be undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from clocks import HandClock, Ticking
from faults.writers import start
from hypothesis import given
from hypothesis import strategies as st
from rewinding import States, alive, problems, states
from test_undo import OPERATION, attempt

from perdure import Memory, buggify, errors, settings
from perdure.model import replace_record
from perdure.testing.embedder import WordEmbedder


@pytest.fixture
def clock() -> HandClock:
    return Ticking()


@pytest.fixture
def memory(clock: HandClock) -> Iterator[Memory]:
    with Memory(":memory:", embedder="none", clock=clock, actor="ada") as opened:
        opened.remember("Alice lives in Osaka", key="home:alice", tags=["home"], spec_folder="specs/home")
        opened.remember("tea in the morning")
        opened.remember("the lift is broken")
        opened.forget(3)
        yield opened


def live_on(memory: Memory) -> None:
    """Something of everything that can happen to a memory afterwards."""
    memory.update("home:alice", text="Alice lives in Kyoto", tags=["city"])
    memory.update("home:alice", key="home:somebody")
    memory.forget(2)
    memory.restore(3)
    memory.validate(3, useful=True)
    memory.remember("coffee in the evening", key="home:alice")


# -- restore ---------------------------------------------------------------------------------------------------------


def test_everything_is_as_it_was_and_what_is_younger_is_gone(memory: Memory):
    memory.checkpoint("before")
    then = states(memory)
    live_on(memory)
    later = states(memory)
    rewound = memory.restore_checkpoint("before", clear_existing=True)
    assert (rewound.reverted, rewound.removed, rewound.skipped) == ((1, 2, 3), (4,), ())
    now = states(memory)
    assert {number: now[number] for number in then} == then
    assert (now[4].state, now[4].key) == ("deleted", None)
    assert {line.change.operation for line in memory.log(batch=rewound.batch)} == {"rewind"}
    memory.undo(rewound.batch)
    assert states(memory) == later
    assert problems(memory) == []


def test_without_clearing_what_is_younger_stays_and_keeps_its_key(memory: Memory):
    memory.checkpoint("before")
    live_on(memory)
    rewound = memory.restore_checkpoint("before")
    assert rewound.removed == ()
    assert memory.get("home:alice").text == "coffee in the evening"
    assert (memory.get(1).text, memory.get(1).key) == ("Alice lives in Osaka", None)
    assert any("1 memory is younger than the checkpoint and stays" in note for note in rewound.notes)
    assert any("#1 is without its key 'home:alice'" in note for note in rewound.notes)


@pytest.mark.parametrize("clear", [True, False])
def test_restoring_twice_does_nothing_the_second_time(memory: Memory, clear: bool):
    memory.checkpoint("before")
    live_on(memory)
    memory.restore_checkpoint("before", clear_existing=clear)
    lines = memory.log(limit=100)
    again = memory.restore_checkpoint("before", clear_existing=clear)
    assert (again.batch, again.reverted, again.removed) == (None, (), ())
    assert "nothing to restore" in again.notes[-1]
    assert memory.log(limit=100) == lines


def test_a_dry_run_foresees_what_a_restore_does(memory: Memory):
    memory.checkpoint("before")
    live_on(memory)
    lines = memory.log(limit=100)
    foreseen = memory.restore_checkpoint("before", clear_existing=True, dry_run=True)
    assert memory.log(limit=100) == lines
    done = memory.restore_checkpoint("before", clear_existing=True)
    assert (foreseen.batch, foreseen.reverted, foreseen.removed) == (None, done.reverted, done.removed)


def test_what_was_erased_stays_erased_and_is_named(memory: Memory):
    memory.checkpoint("before")
    memory.erase(1, confirm=True)
    memory.update(2, text="tea at noon")
    rewound = memory.restore_checkpoint("before")
    assert rewound.reverted == (2,)
    assert [(left.number, left.reason[:25]) for left in rewound.skipped] == [(1, "It was erased by ada on 2")]
    assert sorted(states(memory)) == [2, 3]
    assert memory.restore_checkpoint("before").notes == ("Everything else is as it was then.",)


def test_without_versions_it_says_what_is_gone(clock: HandClock):
    rules = settings.load(store=":memory:", embedder="none", versioning=False)
    with Memory(":memory:", settings=rules, clock=clock) as memory:
        memory.remember("tea in the morning")
        memory.checkpoint("before")
        memory.update(1, text="coffee in the evening")
        memory.remember("younger")
        rewound = memory.restore_checkpoint("before", clear_existing=True)
        assert (rewound.reverted, rewound.removed) == ((), (2,))
        assert "versioning is off" in rewound.skipped[0].reason


def test_an_older_checkpoint_can_be_restored_after_a_newer_one(memory: Memory):
    memory.checkpoint("first")
    first = states(memory)
    live_on(memory)
    memory.checkpoint("second")
    second = states(memory)
    memory.restore_checkpoint("first", clear_existing=True)
    memory.restore_checkpoint("second", clear_existing=True)
    assert states(memory) == second
    memory.restore_checkpoint("first", clear_existing=True)
    assert {number: states(memory)[number] for number in first} == first


# -- scope -----------------------------------------------------------------------------------------------------------


def test_a_folder_s_checkpoint_concerns_what_is_in_it(memory: Memory):
    memory.remember("elsewhere", spec_folder="specs/other")
    memory.remember("at home", spec_folder="specs/home")
    made = memory.checkpoint("home", spec_folder="specs/home")
    assert made.memory_count == 2
    then = states(memory)
    memory.update(1, text="Alice lives in Kyoto")
    memory.update(2, text="tea at noon")
    memory.update(4, text="far away")
    memory.forget(5)
    memory.remember("born inside", spec_folder="specs/home")
    memory.remember("born outside")
    rewound = memory.restore_checkpoint("home", clear_existing=True)
    assert (rewound.reverted, rewound.removed) == ((1, 5), (6,))
    now = states(memory)
    assert [now[number] for number in (1, 5)] == [then[number] for number in (1, 5)]
    assert (now[2].text, now[4].text, now[7].state) == ("tea at noon", "far away", "active")


def test_a_namespace_s_checkpoint_leaves_the_others_alone(memory: Memory):
    work = memory.namespace("work")
    work.remember("a meeting")
    memory.checkpoint("before")
    work.update(1, text="no meeting")
    memory.update(2, text="tea at noon")
    memory.restore_checkpoint("before", clear_existing=True)
    assert (memory.get(2).text, work.get(1).text) == ("tea in the morning", "no meeting")
    with pytest.raises(errors.NotFound):
        work.restore_checkpoint("before")


def test_a_checkpoint_of_everything_is_of_every_namespace_also_of_those_to_come(memory: Memory):
    work = memory.namespace("work")
    work.remember("a meeting")
    made = memory.checkpoint("all", all_namespaces=True)
    assert (made.namespace, dict(made.positions)) == (None, {"default": 4, "work": 1})
    work.update(1, text="no meeting")
    memory.update(2, text="tea at noon")
    memory.namespace("new").remember("did not exist")
    rewound = work.restore_checkpoint("all", clear_existing=True)
    assert (rewound.reverted, rewound.removed) == ((2, 1), (1,))
    assert (memory.get(2).text, work.get(1).text) == ("tea in the morning", "a meeting")
    assert alive(memory.namespace("new")) == {}
    memory.undo(rewound.batch, all_namespaces=True)
    assert (memory.get(2).text, work.get(1).text) == ("tea at noon", "no meeting")


def test_an_empty_namespace_can_be_gone_back_to(clock: HandClock):
    with Memory(":memory:", embedder="none", clock=clock) as memory:
        assert memory.checkpoint("empty").memory_count == 0
        memory.remember("one")
        assert memory.restore_checkpoint("empty", clear_existing=True).removed == (1,)


# -- names -----------------------------------------------------------------------------------------------------------


def test_checkpoints_are_listed_newest_first_with_what_was_said_about_them(memory: Memory):
    memory.checkpoint("one", description="before the refactor", metadata={"ticket": 7})
    memory.checkpoint("two", spec_folder="specs/home")
    memory.checkpoint("three", all_namespaces=True)
    found = memory.checkpoints()
    assert [one.name for one in found] == ["three", "two", "one"]
    assert [one.memory_count for one in found] == [2, 1, 2]
    assert (found[2].description, found[2].metadata, found[2].actor) == ("before the refactor", {"ticket": 7}, "ada")
    assert [one.name for one in memory.checkpoints(limit=1)] == ["three"]
    assert [one.name for one in memory.checkpoints(spec_folder="specs/home")] == ["two"]
    assert [one.name for one in memory.namespace("work").checkpoints()] == ["three"]


def test_a_name_that_is_taken_is_refused_until_it_is_free(memory: Memory):
    first = memory.checkpoint("before")
    with pytest.raises(errors.Conflict) as refused:
        memory.checkpoint("before")
    assert "memory.delete_checkpoint(NAME)" in refused.value.remedy
    assert memory.namespace("work").checkpoint("before").namespace == "work"
    assert memory.delete_checkpoint("before") == first
    memory.update(2, text="tea at noon")
    memory.checkpoint("before")
    assert memory.restore_checkpoint("before").batch is None


def test_deleting_a_checkpoint_leaves_the_memories(memory: Memory):
    memory.checkpoint("before")
    before = states(memory)
    memory.delete_checkpoint("before")
    assert states(memory) == before
    assert memory.checkpoints() == []
    for verb in (memory.restore_checkpoint, memory.delete_checkpoint):
        with pytest.raises(errors.NotFound, match="no checkpoint 'before'"):
            verb("before")


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "a\x1bb", "x" * 201, "a\x00b", "\ud800", 7, None])
def test_a_name_is_one_short_line(memory: Memory, name: Any):
    with pytest.raises(errors.InvalidInput):
        memory.checkpoint(name)
    with pytest.raises(errors.InvalidInput):
        memory.restore_checkpoint(name)
    assert memory.checkpoints() == []


@pytest.mark.parametrize(
    "name", ["x" * 200, "'; DROP TABLE checkpoint; --", "päß 漢字 🧠", "../../etc/passwd", "%s {0}"]
)
def test_any_other_name_is_just_a_name(memory: Memory, name: str):
    memory.checkpoint(name)
    memory.forget(2)
    assert memory.restore_checkpoint(name).reverted == (2,)
    assert memory.delete_checkpoint(name).name == name


@pytest.mark.parametrize(
    "given",
    [{"metadata": {"a b": 1}}, {"metadata": 7}, {"spec_folder": ""}, {"description": "\ud800"}, {"all_namespaces": 1},
     {"all_namespaces": True, "spec_folder": "specs/home"}],
)  # fmt: skip
def test_bad_input_makes_no_checkpoint(memory: Memory, given: dict[str, Any]):
    with pytest.raises(errors.InvalidInput):
        memory.checkpoint("name", **given)
    assert memory.checkpoints() == []


@pytest.mark.parametrize("limit", [0, -1, 1.5, "all", True])
def test_a_limit_is_a_whole_number(memory: Memory, limit: Any):
    with pytest.raises(errors.InvalidInput):
        memory.checkpoints(limit=limit)


# -- others at the same time -----------------------------------------------------------------------------------------


def test_others_who_have_the_store_open_see_what_was_restored_and_write_on(tmp_path: Path):
    path = tmp_path / "m.db"
    with Memory(path, embedder=WordEmbedder()) as memory, Memory(path, embedder=WordEmbedder()) as other:
        memory.remember("tea in the morning")
        memory.checkpoint("before")
        memory.update(1, text="coffee in the evening")
        memory.remember("cake in the afternoon")
        assert [hit.record.number for hit in other.recall("coffee cake")] == [2, 1]
        memory.restore_checkpoint("before", clear_existing=True)
        assert [hit.record.text for hit in other.recall("coffee cake tea", min_relevance=0)] == ["tea in the morning"]
        assert other.update(1, text="tea at noon").record.version == 3
        assert [hit.record.text for hit in memory.recall("noon")] == ["tea at noon"]


def test_another_process_with_a_warm_index_sees_what_was_restored(tmp_path: Path):
    path = tmp_path / "m.db"
    with Memory(path, embedder=WordEmbedder()) as memory:
        memory.remember("tea in the morning")
        memory.checkpoint("before")
        memory.update(1, text="coffee in the evening")
        memory.remember("cake in the afternoon")
        assert {hit.record.number for hit in memory.recall("coffee cake")} == {1, 2}

        def restore(say: Callable[[str], None]) -> None:
            with Memory(path, embedder=WordEmbedder(), actor="bob") as there:
                assert there.recall("coffee")
                rewound = there.restore_checkpoint("before", clear_existing=True)
                found = [hit.record.text for hit in there.recall("tea coffee", min_relevance=0)]
                say(f"{rewound.reverted} {rewound.removed} {found}")

        said, status = start(restore).finish()
        assert (said, status) == (["(1,) (2,) ['tea in the morning']"], 0)
        assert [hit.record.text for hit in memory.recall("tea coffee cake", min_relevance=0)] == ["tea in the morning"]
        assert memory.remember("water at night").record.number == 3


def test_a_restore_among_writers_loses_nothing_that_they_wrote_afterwards(tmp_path: Path):
    path = tmp_path / "m.db"
    with Memory(path, embedder="none") as memory:
        for n in range(50):
            memory.remember(f"note {n}")
        memory.checkpoint("before")
        memory.forget([*range(1, 51)], confirm=True)

        def write(say: Callable[[str], None]) -> None:
            with Memory(path, embedder="none") as there:
                for n in range(60):
                    say(str(there.remember(f"late {n}").record.number))

        writers = [start(write) for _ in range(2)]
        rewound = memory.restore_checkpoint("before")
        said = [lines for lines, status in (writer.finish() for writer in writers) if status == 0]
        assert rewound.reverted == tuple(range(1, 51))
        assert {int(number) for lines in said for number in lines} == set(range(51, 111))
        assert len(alive(memory)) == 110
        assert problems(memory) == []


@pytest.mark.parametrize("folder", [None, "specs/a"])
@pytest.mark.parametrize("times", [1, 5])
def test_what_is_born_while_a_restore_is_planned_is_younger_too(tmp_path: Path, folder: str | None, times: int):
    path = tmp_path / "m.db"
    with Memory(path, embedder="none") as memory, Memory(path, embedder="none") as faster:
        memory.remember("kept", spec_folder=folder)
        memory.checkpoint("before", spec_folder=folder)
        memory.remember("younger", spec_folder=folder)
        count = iter(range(times))

        def interrupt(label: str) -> None:
            if label == "rewind: planned" and (n := next(count, None)) is not None:
                faster.remember(f"born meanwhile {n}", spec_folder=folder)

        buggify.arm(interrupt)
        try:
            rewound = memory.restore_checkpoint("before", clear_existing=True)
        finally:
            buggify.disarm()
        assert rewound.removed == tuple(range(2, 3 + min(times, 3)))
        assert list(alive(memory)) == [1]


# -- any sequence ----------------------------------------------------------------------------------------------------


@given(st.lists(OPERATION, max_size=8), st.lists(OPERATION, max_size=8))
def test_whatever_happens_in_between_the_state_comes_back(before: list[Any], after: list[Any]):
    with Memory(":memory:", embedder="none", clock=Ticking()) as memory:
        for operation in before:
            attempt(memory, operation)
        memory.checkpoint("then")
        then: States = states(memory)
        for operation in after:
            attempt(memory, operation)
        later = states(memory)
        rewound = memory.restore_checkpoint("then", clear_existing=True)
        now = states(memory)
        assert {number: now[number] for number in then} == then
        assert all(now[number].state == "deleted" for number in now if number not in then)
        assert rewound.skipped == ()
        if rewound.batch:
            memory.undo(rewound.batch)
        assert states(memory) == later
        assert problems(memory) == []


@given(st.lists(OPERATION, max_size=6), st.lists(OPERATION, max_size=6))
def test_without_clearing_what_is_younger_is_untouched(before: list[Any], after: list[Any]):
    with Memory(":memory:", embedder="none", clock=Ticking()) as memory:
        for operation in before:
            attempt(memory, operation)
        memory.checkpoint("then")
        then = states(memory)
        for operation in after:
            attempt(memory, operation)
        later = states(memory)
        memory.restore_checkpoint("then")
        now = states(memory)
        younger = {number: record for number, record in later.items() if number not in then}
        assert {number: now[number] for number in younger} == younger
        held = {record.key for record in younger.values()} - {None}
        for number, record in then.items():
            assert now[number] == (replace_record(record, key=None) if record.key in held else record)


def test_a_checkpoint_of_everything_tells_a_namespace_nothing_of_the_others(memory: Memory):
    memory.remember("tea")
    memory.namespace("private").remember("milk")
    memory.checkpoint("all", all_namespaces=True)
    assert [set(one.positions) for one in memory.checkpoints()] == [{"default"}]
    assert [set(one.positions) for one in memory.namespace("private").checkpoints()] == [{"private"}]


# -- who may -----------------------------------------------------------------------------------------------------------


def model_of(memory: Memory, namespace: str = "default") -> Memory:
    services = memory._services
    clock = services.context.clock
    return Memory(services.store, namespace=namespace, embedder="none", clock=clock, actor="bot", writer="model")


def test_a_model_has_nothing_to_do_with_a_checkpoint_of_everything(memory: Memory):
    memory.namespace("other").remember("their secret")
    memory.checkpoint("all", all_namespaces=True)
    memory.namespace("other").remember("written since")
    model = model_of(memory)
    for forbidden in (
        lambda: model.checkpoint("mine", all_namespaces=True),
        lambda: model.restore_checkpoint("all", clear_existing=True),
        lambda: model.restore_checkpoint("all", dry_run=True),
        lambda: model.delete_checkpoint("all"),
    ):
        with pytest.raises(errors.NotAllowed, match="checkpoint of everything") as refused:
            forbidden()
        assert "other" not in str(refused.value)
    assert len(memory.namespace("other").list()) == 2
    assert [each.name for each in memory.checkpoints()] == ["all"]
    assert all(set(each.positions) <= {"default"} for each in model.checkpoints())


def test_a_model_goes_back_to_a_checkpoint_of_its_own_namespace(memory: Memory):
    model = model_of(memory)
    model.checkpoint("mine")
    model.update(2, add_tags=["b"])
    assert model.restore_checkpoint("mine").reverted == (2,)
    assert model.delete_checkpoint("mine").name == "mine"


def test_a_person_goes_back_to_a_checkpoint_of_everything_everywhere(memory: Memory):
    memory.namespace("other").remember("theirs")
    memory.checkpoint("all", all_namespaces=True)
    memory.namespace("other").remember("theirs since")
    memory.remember("ours since")
    done = memory.restore_checkpoint("all", clear_existing=True)
    assert len(done.removed) == 2
    assert len(memory.namespace("other").list()) == 1


def test_what_is_answered_about_a_deleted_checkpoint_names_no_other_namespace(memory: Memory):
    memory.namespace("other").remember("theirs")
    memory.checkpoint("all", all_namespaces=True)
    assert memory.delete_checkpoint("all").positions.keys() == {"default"}


def test_a_name_that_another_namespace_holds_is_said_to_be_taken_and_not_by_whom(memory: Memory):
    memory.namespace("theirs").checkpoint("before")
    with pytest.raises(errors.Conflict, match="already") as refused:
        memory.checkpoint("before", all_namespaces=True)
    assert "theirs" not in str(refused.value)
    assert "delete" not in refused.value.remedy
    assert "another name" in refused.value.remedy
    memory.checkpoint("all", all_namespaces=True)
    for namespace, everything in (("default", True), ("default", False), ("theirs", False)):
        with pytest.raises(errors.Conflict) as seen:
            memory.namespace(namespace).checkpoint("all", all_namespaces=everything)
        assert "delete" in seen.value.remedy

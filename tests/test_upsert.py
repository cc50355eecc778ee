"""Upsert: S0's way to write under a key, with compare-and-set."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure import Memory, errors
from perdure.settings import load

if TYPE_CHECKING:
    from clocks import HandClock

KEY = "location:new_york"


def test_the_scenario_of_the_specification(memory: Memory, clock: HandClock):
    first = memory.upsert(KEY, "New York is in the United States").record
    assert (first.version, first.created_at, memory.versions(KEY)[0].lineage) == (1, clock(), ())
    later = clock.forward(days=1)
    done = memory.upsert(KEY, "New York is the largest city in the US")
    assert (done.outcome, done.record.version, done.record.id) == ("updated", 2, first.id)
    assert (done.record.created_at, done.record.updated_at, done.record.accessed_at) == (
        first.created_at,
        later,
        later,
    )
    assert memory.versions(KEY)[1].lineage == (1,)
    original = memory.version(first.id, 1).record
    assert original
    assert original.text == "New York is in the United States"
    alice = memory.upsert("person:alice", "Alice is a person").record
    assert (alice.version, alice.number) == (1, 2)


def test_an_upsert_counts_as_the_last_access_of_its_memory(memory: Memory, clock: HandClock):
    memory.upsert(KEY, "New York is in the United States")
    assert memory.list().records[0].accessed_at == clock()
    later = clock.forward(hours=1)
    memory.upsert(KEY, "New York is the largest city in the US")
    record = memory.list().records[0]
    assert (record.accessed_at, record.access_count) == (later, 0)


def test_the_same_text_again_is_a_new_version_all_the_same(memory: Memory):
    memory.upsert(KEY, "New York is in the United States", tags=["city"])
    done = memory.upsert(KEY, "New York is in the United States")
    assert (done.outcome, done.record.version, done.record.tags) == ("updated", 2, ("city",))
    assert memory.remember("New York is in the United States", key=KEY).outcome == "observed"


def test_what_is_not_mentioned_stays_but_for_when_the_old_statement_was_true(memory: Memory):
    memory.upsert(
        "person:alice", "Alice lives in Osaka", importance=0.9, valid_at="2020-01-01", invalid_at="2030-01-01"
    )
    record = memory.upsert("person:alice", "Alice lives in Tokyo").record
    assert (record.importance, record.valid_at, record.invalid_at) == (0.9, None, None)


@pytest.mark.parametrize("key", ["new_york", "", ":x", "1a:x", "a b:c", "person:", None, 7, "x" * 400 + ":y"])
def test_what_is_no_key_is_refused_and_nothing_is_stored(memory: Memory, key: Any):
    with pytest.raises(errors.InvalidInput):
        memory.upsert(key, "Something")
    assert len(memory.list()) == 0


def test_a_forgotten_key_comes_back_as_a_new_version_and_the_answer_says_so(memory: Memory, clock: HandClock):
    memory.upsert(KEY, "New York is in the United States")
    memory.forget(KEY)
    clock.forward(days=1)
    done = memory.upsert(KEY, "New York is in the United States")
    assert (done.record.number, done.record.version, done.record.state) == (1, 2, "active")
    assert done.notes == ("This text was forgotten or corrected on 2026-03-14; it is remembered again.",)
    assert memory.get(KEY).version == 2


def test_an_expired_key_comes_back_and_does_not_expire_at_once(memory: Memory, clock: HandClock):
    memory.upsert(KEY, "New York is in the United States", expires_at=clock() + timedelta(hours=1))
    clock.forward(hours=2)
    assert memory.work().expired == 1
    record = memory.upsert(KEY, "New York is the largest city in the US").record
    assert (record.version, record.state, record.expires_at) == (2, "active", None)
    assert memory.work().expired == 0


def test_a_forgotten_constitutional_memory_does_not_come_back_as_one_by_what_a_model_says(tmp_path: Path):
    with Memory(tmp_path / "m.db", embedder="none") as person:
        person.upsert("rule:tests", "Tests run first", tier="constitutional")
        person.forget(1)
    with Memory(tmp_path / "m.db", embedder="none", writer="model") as model:
        done = model.upsert("rule:tests", "Tests never run", tier="constitutional")
        assert (done.record.state, done.record.tier, done.offered) == ("active", "normal", "constitutional")
        assert any("comes back as normal" in note for note in done.notes)


def test_the_same_statement_again_is_true_when_it_was_and_another_one_from_now_on(memory: Memory):
    memory.upsert("person:alice", "Lives in Osaka", valid_at="2020-01-01")
    assert memory.upsert("person:alice", "Lives in Osaka").record.valid_at is not None
    assert memory.upsert("person:alice", "Lives in Tokyo").record.valid_at is None


# -- compare and set -----------------------------------------------------------------------------------------------


def test_an_expected_version_that_is_there_lets_the_write_through(memory: Memory):
    assert memory.upsert(KEY, "One", expected_version=0).record.version == 1
    assert memory.upsert(KEY, "Two", expected_version=1).record.version == 2


def test_another_version_is_a_conflict_that_says_which_and_changes_nothing(memory: Memory):
    memory.upsert(KEY, "One")
    memory.upsert(KEY, "Two")
    with pytest.raises(errors.VersionConflict, match="has version 2 now, not 1"):
        memory.upsert(KEY, "Three", expected_version=1)
    with pytest.raises(errors.VersionConflict, match="has version 2 now, not none"):
        memory.upsert(KEY, "Three", expected_version=0)
    assert memory.get(KEY).text == "Two"
    assert len(memory.history(KEY)) == 2


def test_a_memory_that_is_not_there_has_no_version_but_none(memory: Memory):
    with pytest.raises(errors.VersionConflict, match="There is no location:new_york"):
        memory.upsert(KEY, "One", expected_version=1)
    memory.upsert(KEY, "One")
    memory.forget(KEY)
    with pytest.raises(errors.VersionConflict, match="is deleted; its last version was 1"):
        memory.upsert(KEY, "Two", expected_version=1)
    assert memory.upsert(KEY, "Two", expected_version=0).record.version == 2


def test_a_call_repeated_with_its_idempotency_key_is_not_a_conflict(memory: Memory):
    memory.upsert(KEY, "One")
    memory.upsert(KEY, "Two", expected_version=1, idempotency_key="call-1")
    again = memory.upsert(KEY, "Two", expected_version=1, idempotency_key="call-1")
    assert (again.outcome, again.record.version) == ("repeated", 2)
    with pytest.raises(errors.Conflict, match="idempotency key"):
        memory.upsert("person:alice", "Alice is a person", idempotency_key="call-1")


@pytest.mark.parametrize("expected", [-1, True, "1", 1.5])
def test_what_is_no_version_is_refused_in_words(memory: Memory, expected: Any):
    with pytest.raises(errors.InvalidInput):
        memory.upsert(KEY, "One", expected_version=expected)


def test_of_many_who_expect_the_same_version_one_succeeds(tmp_path: Path):
    with Memory(tmp_path / "m.db", embedder="none") as memory:
        memory.upsert("counter:hits", "0")
        outcomes: list[bool] = []

        def race() -> None:
            try:
                memory.upsert("counter:hits", "1", expected_version=1)
            except errors.VersionConflict:
                outcomes.append(False)
            else:
                outcomes.append(True)

        threads = [threading.Thread(target=race) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == [False] * 7 + [True]
        assert memory.get("counter:hits").version == 2


@given(st.lists(st.sampled_from(["upsert", "update", "forget", "remember", "same"]), max_size=12))
def test_versions_count_the_statements_whatever_happens_in_between(steps: list[str]):
    """A plain count beside the memory: each statement and each correction is one more, nothing else is."""
    with Memory(":memory:", embedder="none") as memory:
        memory.upsert("a:b", "start")
        expected, alive = 1, True
        for place, step in enumerate(steps):
            if step == "forget" and alive:
                memory.forget("a:b")
                alive = False
            elif step == "update" and alive:
                expected += 1
                memory.update("a:b", text=f"updated {place}")
            elif step in {"upsert", "remember", "same"}:
                expected, alive = expected + 1, True
                text = memory.versions("a:b")[-1].record
                said = text.text if step == "same" and text else f"said {place}"
                write = memory.remember if step == "remember" else None
                done = write(said, key="a:b") if write else memory.upsert("a:b", said)
                assert done.record.version == expected
        assert [one.version for one in memory.versions("a:b")] == list(range(1, expected + 1))


# -- room ----------------------------------------------------------------------------------------------------------


def test_an_upsert_into_a_full_namespace_names_what_had_to_go(clock: HandClock):
    with Memory(":memory:", embedder="none", clock=clock, settings=load(max_items=2)) as memory:
        for name in ("one", "two"):
            memory.upsert(f"n:{name}", f"The number {name}")
            clock.forward(minutes=1)
        done = memory.upsert("n:three", "The number three")
        assert [gone.key for gone in done.evicted] == ["n:one"]
        clock.forward(minutes=1)
        assert memory.upsert("n:two", "The number two, again").evicted == ()
        clock.forward(minutes=1)
        back = memory.upsert("n:one", "The number one, again")
        assert (back.record.version, [gone.key for gone in back.evicted]) == (1, ["n:three"])


def test_when_nothing_may_go_the_write_is_refused_and_nothing_changes(clock: HandClock):
    with Memory(":memory:", embedder="none", clock=clock, settings=load(max_items=1)) as memory:
        memory.upsert("n:one", "The number one", importance=0.9)
        with pytest.raises(errors.CapacityExceeded):
            memory.upsert("n:two", "The number two")
        assert [record.key for record in memory.list()] == ["n:one"]
        assert len(memory.log()) == 1
        memory.forget("n:one")
        memory.remember("The number three", importance=0.9)
        with pytest.raises(errors.CapacityExceeded):
            memory.restore("n:one")
        assert [record.text for record in memory.list()] == ["The number three"]


def test_an_idempotency_key_used_again_for_other_words_is_a_conflict_whatever_the_version(memory: Memory):
    memory.upsert(KEY, "one")
    memory.upsert(KEY, "two", idempotency_key="r2")
    with pytest.raises(errors.Conflict):
        memory.upsert(KEY, "three", idempotency_key="r2")
    assert memory.upsert(KEY, "two", idempotency_key="r2").outcome == "repeated"
    memory.upsert(KEY, "four")
    assert memory.upsert(KEY, "two", idempotency_key="r2").outcome == "repeated"
    assert memory.get(KEY).text == "four"


def test_what_becomes_true_later_says_so_and_is_found_by_asking_for_the_time(memory: Memory, clock: HandClock):
    memory.upsert("city:alice", "Alice lives in Osaka")
    now, june = clock.forward(days=1), clock() + timedelta(days=80)
    done = memory.upsert("city:alice", "Alice lives in Tokyo", valid_at=june)
    assert "becomes true on 2026-06-03" in done.notes[0]
    assert [hit.record.text for hit in memory.recall("Alice", as_of=now)] == ["Alice lives in Osaka"]
    assert [hit.record.text for hit in memory.recall("Alice", as_of=june)] == ["Alice lives in Tokyo"]


def test_a_key_is_one_however_its_letters_are_put_together(memory: Memory):
    composed, apart = "person:Ren\u00e9", "person:Rene\u0301"
    first = memory.upsert(apart, "Ren\u00e9 likes tea").record
    again = memory.upsert(composed, "Ren\u00e9 likes coffee").record
    assert (again.number, again.version, again.key) == (first.number, 2, composed)
    assert memory.get(apart).number == memory.get(composed).number == first.number
    memory.remember("a rule", key="rule:caf\u00e9")
    with pytest.raises(errors.Conflict):
        memory.update(2, key=apart)


def _as_it_is(_: str, text: str) -> str:
    return text


def test_a_key_that_an_earlier_version_stored_apart_is_found_and_written_anew(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
):
    composed, apart = "person:Ren\u00e9", "person:Rene\u0301"
    with monkeypatch.context() as patch:
        patch.setattr("perdure.ids.unicodedata.normalize", _as_it_is)
        assert memory.upsert(apart, "Ren\u00e9 likes tea").record.key == apart
    assert memory.get(composed).number == memory.get(apart).number == 1
    again = memory.upsert(composed, "Ren\u00e9 likes coffee")
    assert (again.record.number, again.record.version, again.record.key) == (1, 2, composed)
    memory.undo(again.batch)
    assert memory.get(composed).text == "Ren\u00e9 likes tea"
    assert [finding for finding in memory.doctor() if finding.level == "problem"] == []

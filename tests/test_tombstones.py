"""What was forgotten or corrected does not come back from older evidence; a newer statement, or a person, may."""

from __future__ import annotations

import io
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from clocks import DAY, NOON, HandClock
from hypothesis import given
from hypothesis import strategies as st

from perdure import Memory, errors
from perdure.lifecycle.import_export import is_blocked
from perdure.model import State
from perdure.settings import load

AGAIN = "This text was forgotten or corrected on 2026-03-14; it is remembered again."


def exported(memory: Memory) -> list[dict[str, Any]]:
    target = io.StringIO()
    memory.export(target)
    return [json.loads(line) for line in target.getvalue().splitlines()][1:]


def texts(memory: Memory) -> list[str]:
    return [record.text for record in memory.list(newest=False)]


# -- what a write buries, and what it lifts ------------------------------------------------------------------------


@pytest.mark.parametrize("fields", [{}, {"key": "home:alice"}], ids=["without a key", "with a key"])
@pytest.mark.parametrize("ending", ["forget", "correct", "erase"])
def test_an_old_export_does_not_bring_back_what_was_ended_since(
    memory: Memory, clock: HandClock, fields: dict[str, Any], ending: str
):
    memory.remember("Alice lives in Osaka", **fields)
    old = exported(memory)
    clock.forward(days=1)
    if ending == "forget":
        memory.forget(1)
    elif ending == "erase":
        memory.erase(1, confirm=True)
    else:
        memory.update(1, text="Alice lives in Tokyo")
    before = texts(memory)
    clock.forward(days=1)
    for trusted in (False, True):
        done = memory.import_(old, trusted=trusted)
        assert (done.skipped_deleted, done.inserted, done.updated, done.present) == (1, 0, 0, 0)
        assert done.notes[0].startswith("1 record skipped: deleted or changed here later")
    assert texts(memory) == before


@pytest.mark.parametrize("fields", [{}, {"key": "home:alice"}], ids=["without a key", "with a key"])
def test_a_statement_made_after_the_forgetting_comes_in(memory: Memory, clock: HandClock, fields: dict[str, Any]):
    memory.remember("Alice lives in Osaka", **fields)
    memory.forget(1)
    newer = {"text": "Alice lives in Osaka", "updated_at": clock.forward(hours=1).isoformat(), **fields}
    done = memory.import_([newer])
    assert (done.skipped_deleted, done.inserted + done.updated) == (0, 1)
    assert texts(memory) == ["Alice lives in Osaka"]
    assert memory.import_([newer]).present == 1


@pytest.mark.parametrize("fields", [{}, {"key": "home:alice"}], ids=["without a key", "with a key"])
def test_evidence_without_a_time_does_not_bring_anything_back(memory: Memory, fields: dict[str, Any]):
    memory.remember("Alice lives in Osaka", **fields)
    memory.forget(1)
    assert memory.import_([{"text": "Alice lives in Osaka", **fields}]).skipped_deleted == 1
    assert memory.import_([{"text": "alice  LIVES in osaka", **fields}]).skipped_deleted == 1
    assert texts(memory) == []


def test_another_text_for_a_forgotten_key_comes_in_only_when_it_is_newer_than_the_forgetting(
    memory: Memory, clock: HandClock
):
    said_before = clock().isoformat()
    memory.remember("Osaka", key="home:alice")
    clock.forward(days=1)
    memory.forget(1)
    assert memory.import_([{"text": "Kobe", "key": "home:alice", "updated_at": said_before}]).skipped_deleted == 1
    assert memory.import_([{"text": "Kobe", "key": "home:alice"}]).skipped_deleted == 1
    later = clock.forward(days=1).isoformat()
    assert memory.import_([{"text": "Kobe", "key": "home:alice", "updated_at": later}]).updated == 1
    assert memory.get("home:alice").version == 2


@pytest.mark.parametrize("fields", [{}, {"key": "home:alice"}], ids=["without a key", "with a key"])
def test_revive_brings_back_what_was_forgotten(memory: Memory, clock: HandClock, fields: dict[str, Any]):
    memory.remember("Alice lives in Osaka", **fields)
    old = exported(memory)
    clock.forward(days=1)
    memory.forget(1)
    done = memory.import_(old, revive=True)
    assert (done.skipped_deleted, done.inserted + done.updated) == (0, 1)
    assert texts(memory) == ["Alice lives in Osaka"]


def test_revive_does_not_overrule_a_newer_text_of_the_same_key(memory: Memory, clock: HandClock):
    memory.remember("Osaka", key="home:alice")
    old = exported(memory)
    clock.forward(days=1)
    memory.update(1, text="Tokyo")
    assert memory.import_(old, revive=True).present == 1
    assert texts(memory) == ["Tokyo"]


def test_osaka_tokyo_osaka(memory: Memory, clock: HandClock):
    memory.upsert("home:alice", "Osaka")
    clock.forward(hours=1)
    assert memory.upsert("home:alice", "Tokyo").notes == ()
    clock.forward(days=1)
    done = memory.upsert("home:alice", "Osaka")
    assert (done.record.version, done.record.text, done.notes) == (3, "Osaka", (AGAIN,))
    # Now Tokyo is what was corrected, and Osaka is free.
    assert memory.import_([{"text": "Tokyo"}, {"text": "Osaka", "key": "home:alice"}]).skipped_deleted == 1
    assert memory.upsert("home:alice", "Osaka").notes == ()


def test_remember_says_that_it_was_forgotten_and_remembers_it_again(memory: Memory, clock: HandClock):
    memory.remember("Alice lives in Osaka")
    memory.forget(1)
    clock.forward(days=3)
    done = memory.remember("Alice lives in Osaka")
    assert (done.outcome, done.notes) == ("inserted", (AGAIN,))
    assert memory.remember("Alice lives in Osaka").notes == ()
    assert memory.import_([{"text": "Alice lives in Osaka"}]).present == 1


def test_a_correction_back_to_a_corrected_text_says_so(memory: Memory):
    memory.remember("Osaka")
    memory.update(1, text="Tokyo")
    assert memory.update(1, text="Osaka").notes == (AGAIN,)


@pytest.mark.parametrize("way_back", ["restore", "undo"])
def test_what_brings_a_memory_back_lifts_its_tombstone(memory: Memory, clock: HandClock, way_back: str):
    memory.remember("Alice lives in Osaka")
    memory.forget(1)
    if way_back == "restore":
        memory.restore(1)
    else:
        memory.undo(memory.log(limit=1)[0].change.batch)
    clock.forward(days=1)
    memory.update(1, title="Her home")
    assert memory.import_([{"text": "Alice lives in Osaka"}]).present == 1


def test_what_is_taken_back_leaves_no_tombstone(memory: Memory):
    memory.remember("Osaka")
    memory.undo(memory.update(1, text="Tokyo").batch)
    assert memory.import_([{"text": "Tokyo"}, {"text": "Osaka"}]).skipped_deleted == 0
    assert texts(memory) == ["Osaka", "Tokyo"]


def test_what_had_to_make_room_was_not_forgotten_and_lost_for_now_from_any_export(clock: HandClock):
    with Memory(":memory:", embedder="none", clock=clock, settings=load(max_items=1)) as memory:
        memory.remember("Osaka")
        old = exported(memory)
        clock.forward(days=1)
        memory.remember("Tokyo")
        memory.capacity(max_items=2)
        assert memory.import_(old).skipped_deleted == 0
        assert texts(memory) == ["Tokyo", "Osaka"]


def test_a_text_that_another_memory_still_says_is_not_buried(memory: Memory, clock: HandClock):
    memory.remember("It rains", key="weather:today")
    memory.remember("It rains")
    memory.forget("weather:today")
    memory.update(2, title="Weather")
    assert memory.remember("It rains").notes == ()
    clock.forward(days=1)
    assert memory.import_([{"text": "It rains"}]).present == 1


def test_other_namespaces_do_not_know_what_was_forgotten_here(memory: Memory):
    memory.remember("Alice lives in Osaka")
    memory.forget(1)
    other = memory.namespace("other")
    assert other.import_([{"text": "Alice lives in Osaka"}]).inserted == 1
    assert other.remember("Alice lives in Osaka").notes == ()


@given(st.none() | st.datetimes(), st.timedeltas())
def test_a_tombstone_stands_against_everything_that_is_not_newer(said_at: datetime | None, apart: timedelta):
    assert not is_blocked(None, said_at)
    assert is_blocked(NOON, None)
    try:
        said = NOON + apart
    except OverflowError:
        return
    assert is_blocked(NOON, said) == (apart <= timedelta(0))


# -- import and room -----------------------------------------------------------------------------------------------


def test_an_import_counts_what_had_to_go(clock: HandClock):
    with Memory(":memory:", embedder="none", clock=clock, settings=load(max_items=2)) as memory:
        done = memory.import_([{"text": f"Note {number}"} for number in range(5)])
        assert (done.inserted, len(done.evicted)) == (5, 3)
        assert texts(memory) == ["Note 3", "Note 4"]


def test_an_import_that_does_not_fit_says_what_is_stored_and_how_to_take_it_back(clock: HandClock):
    with Memory(":memory:", embedder="none", clock=clock, settings=load(max_items=150)) as memory:
        records = [{"text": f"Note {number}", "importance": 0.9} for number in range(200)]
        with pytest.raises(errors.CapacityExceeded, match="128 memories of the file are stored") as raised:
            memory.import_(records, trusted=True)
        batch = memory.log(limit=1)[0].change.batch
        assert batch in raised.value.remedy
        memory.undo(batch)
        assert texts(memory) == []


def test_a_round_trip_keeps_everything_that_is_alive(memory: Memory, clock: HandClock, tmp_path: Path):
    memory.upsert("home:alice", "Osaka", tags=["home"])
    memory.upsert("home:alice", "Tokyo", tags=["home"])
    memory.remember("It rains")
    memory.remember("It snows")
    memory.forget(3)
    memory.export(tmp_path / "out.jsonl")
    clock.forward(days=1)
    other = memory.namespace("other")
    assert other.import_(tmp_path / "out.jsonl", trusted=True).inserted == 2
    assert [(one["text"], one["key"], one["tags"], one["created_at"]) for one in exported(other)] == [
        (one["text"], one["key"], one["tags"], one["created_at"]) for one in exported(memory)
    ]
    assert clock() - memory.get("home:alice").updated_at == DAY


@pytest.mark.parametrize("ending", ["evicted", "expired"])
def test_what_was_forgotten_after_it_had_ended_stays_forgotten(clock: HandClock, ending: State):
    rules = load(max_items=1) if ending == "evicted" else None
    with Memory(":memory:", embedder="none", clock=clock, settings=rules) as memory:
        memory.remember("Osaka", expires_at=clock() + DAY if ending == "expired" else None)
        old = exported(memory)
        clock.forward(hours=25)
        if ending == "evicted":
            memory.remember("Tokyo")
        else:
            memory.work(purge=True)
        assert [record.number for record in memory.list(states=ending)] == [1]
        memory.forget(1)
        assert memory.import_(old).skipped_deleted == 1


def test_a_text_that_a_memory_with_another_key_still_says_is_not_buried(memory: Memory):
    memory.upsert("city:alice", "Osaka")
    memory.upsert("city:bob", "Osaka")
    memory.forget("city:alice")
    assert memory.remember("Osaka").notes == ()


@pytest.mark.parametrize("twin", [True, False], ids=["while a twin lives", "alone"])
def test_a_newer_file_brings_a_forgotten_key_back(memory: Memory, clock: HandClock, twin: bool):
    memory.upsert("city:alice", "Osaka")
    if twin:
        memory.remember("Osaka")
    memory.forget("city:alice")
    newer = {"text": "Kyoto", "key": "city:alice", "updated_at": (clock() + DAY).isoformat()}
    clock.forward(days=2)
    assert memory.import_([newer]).updated == 1
    assert memory.get("city:alice").text == "Kyoto"


def test_a_file_that_claims_to_come_from_the_future_brings_nothing_back(memory: Memory):
    memory.remember("Osaka")
    memory.forget(1)
    assert memory.import_([{"text": "Osaka", "updated_at": "2999-01-01"}]).skipped_deleted == 1

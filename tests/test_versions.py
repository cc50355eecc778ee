"""The versions of a memory: their numbers, where each came from, when each was true, and how two of them differ."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from clocks import DAY, NOON, HandClock
from hypothesis import given
from hypothesis import strategies as st

from perdure import Memory, errors
from perdure.ids import content_hash, new_id
from perdure.lineage import true_at, validity_windows, version_spans
from perdure.model import Change, FieldChange, Operation, Record, Revision
from perdure.settings import load


@pytest.fixture
def clock() -> HandClock:
    return HandClock(NOON)


@pytest.fixture
def memory(clock: HandClock) -> Iterator[Memory]:
    with Memory(":memory:", embedder="none", clock=clock, actor="ada", session="s1") as opened:
        yield opened


# -- the lines of a log, made by hand ------------------------------------------------------------------------------


def line(seq: int, version: int, at: datetime = NOON, operation: Operation = "update", **fields: Any) -> Revision:
    text = f"Version {version}"
    record = Record(
        id=new_id(), number=1, namespace="default", content_hash=content_hash(text), version=version, seq=seq,
        text=text, created_at=NOON, updated_at=at, **fields,
    )  # fmt: skip
    change = Change(operation, at, new_id(), "ada", "test")
    return Revision("default", seq, record.id, 1, version, change, "", "", record)


@st.composite
def logs(draw: st.DrawFn) -> list[Revision]:
    """Corrections, changes of other fields, undos back to any version, times that jump in both directions."""
    moments = st.integers(-5, 5).map(lambda days: NOON + days * DAY)
    newest, lines = 1, [line(1, 1, draw(moments), "insert", valid_at=draw(st.none() | moments))]
    for seq in range(2, draw(st.integers(2, 12))):
        version = draw(st.integers(1, newest + 1))
        newest = max(newest, version)
        starts = draw(st.none() | moments)
        ends = draw(st.none() | moments.map(lambda moment: moment + 6 * DAY))
        lines.append(line(seq, version, draw(moments), valid_at=starts, invalid_at=ends))
    return lines


@given(logs(), st.integers(-8, 14))
def test_at_most_one_version_is_true_at_any_moment_whatever_the_clock_did(lines: list[Revision], days: int):
    moment = NOON + days * DAY
    holding = [window.span.last for window in validity_windows(lines) if window.holds(moment)]
    assert len(holding) <= 1
    assert true_at(lines, moment) == (holding[0] if holding else None)


@given(logs())
def test_a_lineage_rises_and_holds_nothing_that_was_taken_back(lines: list[Revision]):
    found = version_spans(lines)
    taken_back = {span.version for span in found if span.taken_back}
    assert [span.version for span in found] == sorted({one.version for one in lines})
    for span in found:
        assert list(span.lineage) == sorted({*span.lineage})
        assert all(version < span.version for version in span.lineage)
        assert span.taken_back or not taken_back & {*span.lineage}
    assert lines[-1].version not in taken_back


def test_an_undo_drops_the_versions_above_the_one_it_returns_to():
    lines = [line(1, 1), line(2, 2), line(3, 3), line(4, 1, operation="undo"), line(5, 4)]
    found = {span.version: span for span in version_spans(lines)}
    assert [version for version, span in found.items() if span.taken_back] == [2, 3]
    assert found[4].lineage == (1,)
    assert [window.span.version for window in validity_windows(lines)] == [1, 4]


def test_the_undo_of_an_undo_brings_a_version_back_with_its_lineage():
    lines = [line(1, 1), line(2, 2), line(3, 1, operation="undo"), line(4, 2, operation="undo")]
    assert [(span.version, span.lineage, span.taken_back) for span in version_spans(lines)] == [
        (1, (), False),
        (2, (1,), False),
    ]


def test_the_first_version_was_always_true_and_a_correction_is_from_when_it_was_made():
    lines = [line(1, 1, NOON), line(2, 2, NOON + 2 * DAY), line(3, 2, NOON + 3 * DAY, "annotate")]
    shown = [(window.start, window.end, window.span.last.seq) for window in validity_windows(lines)]
    assert shown == [(None, NOON + 2 * DAY, 1), (NOON + 2 * DAY, None, 3)]


def test_a_version_whose_words_are_gone_is_still_the_one_that_was_true():
    from dataclasses import replace

    lines = [replace(line(1, 1), record=None), line(2, 2, NOON + DAY)]
    assert true_at(lines, NOON) == lines[0]
    assert true_at(lines, NOON + DAY) == lines[1]
    assert true_at([line(1, 1, valid_at=NOON)], NOON - DAY) is None


# -- versions of a memory ------------------------------------------------------------------------------------------


def test_each_correction_is_a_version_with_its_words_its_lineage_and_its_writer(memory: Memory, clock: HandClock):
    memory.remember("Alice lives in Osaka", key="person:alice")
    clock.forward(days=1)
    memory.update("person:alice", text="Alice lives in Tokyo")
    memory.update("person:alice", add_tags=["home"])
    first, second = memory.versions("person:alice")
    assert (first.version, first.lineage, first.current) == (1, (), False)
    assert (second.version, second.lineage, second.current) == (2, (1,), True)
    assert first.record
    assert first.record.text == "Alice lives in Osaka"
    assert second.record
    assert second.record.tags == ("home",)
    assert (second.change.operation, second.change.actor, second.change.at) == ("update", "ada", clock())


def test_a_version_is_read_by_its_number_also_when_the_memory_is_forgotten(memory: Memory):
    memory.remember("Alice lives in Osaka", key="person:alice")
    memory.update(1, text="Alice lives in Tokyo")
    memory.forget(1)
    record = memory.version("person:alice", 1).record
    assert record
    assert record.text == "Alice lives in Osaka"
    assert [one.current for one in memory.versions(1)] == [False, True]


def test_a_version_that_never_was_is_not_found_and_the_answer_lists_those_that_were(memory: Memory):
    memory.remember("Alice lives in Osaka")
    with pytest.raises(errors.NotFound, match="has no version 2") as raised:
        memory.version(1, 2)
    assert raised.value.remedy == "It has: 1."


@pytest.mark.parametrize("number", [0, -1, True, "1", None, 1.0, 2**80])
def test_what_is_no_version_number_is_refused_in_words(memory: Memory, number: Any):
    memory.remember("Alice lives in Osaka")
    with pytest.raises(errors.InvalidInput):
        memory.version(1, number)


def test_a_version_number_is_never_given_twice(memory: Memory):
    memory.remember("Alice lives in Osaka", key="person:alice")
    batch = memory.update(1, text="Alice lives in Tokyo").batch
    memory.undo(batch)
    assert memory.get(1).version == 1
    done = memory.update(1, text="Alice lives in Kyoto")
    assert done.record.version == 3
    assert [(one.version, one.lineage, one.taken_back) for one in memory.versions(1)] == [
        (1, (), False),
        (2, (1,), True),
        (3, (1,), False),
    ]


def test_without_versioning_only_the_present_words_are_kept(clock: HandClock):
    with Memory(":memory:", embedder="none", clock=clock, settings=load(versioning=False)) as memory:
        memory.remember("Alice lives in Osaka", key="person:alice")
        memory.update(1, text="Alice lives in Tokyo")
        assert [one.version for one in memory.versions(1)] == [1, 2]
        with pytest.raises(errors.NotFound, match="versioning was off"):
            memory.version(1, 1)
        assert memory.get(1).version == 2
        assert [bool(one.record) for one in memory.history(1)] == [False, True]


def test_an_erased_memory_has_a_history_by_number_and_by_id_but_no_words(memory: Memory):
    record = memory.remember("Alice lives in Osaka", key="person:alice").record
    memory.erase(1, confirm=True)
    for ref in (1, record.id):
        lines = memory.history(ref)
        assert [one.change.operation for one in lines] == ["insert", "erase"]
        assert [one.record for one in lines] == [None, None]
    with pytest.raises(errors.NotFound, match="was erased"):
        memory.version(1, 1)
    with pytest.raises(errors.NotFound):
        memory.history("person:alice")
    with pytest.raises(errors.NotFound):
        memory.history(2)


# -- differences ---------------------------------------------------------------------------------------------------


def test_a_diff_shows_the_words_and_the_fields_that_changed(memory: Memory):
    memory.remember("Alice lives in Osaka", title="Home")
    memory.update(1, text="Alice lives in Tokyo", title="Her home", importance=0.9)
    diff = memory.diff(1)
    assert (diff.before.version, diff.after.version) == (1, 2)
    assert [(piece.kind, piece.text) for piece in diff.text_diff] == [
        ("same", "Alice lives in "),
        ("removed", "Osaka"),
        ("added", "Tokyo"),
    ]
    assert diff.field_changes == (FieldChange("title", "Home", "Her home"), FieldChange("importance", 0.5, 0.9))


def test_any_two_versions_can_be_compared_in_both_directions(memory: Memory):
    for text in ("Osaka", "Tokyo", "Kyoto"):
        memory.upsert("city:home", text)
    assert [piece.text for piece in memory.diff(1).text_diff] == ["Tokyo", "Kyoto"]
    assert [piece.text for piece in memory.diff(1, 1, 3).text_diff] == ["Osaka", "Kyoto"]
    assert [piece.text for piece in memory.diff(1, 3, 1).text_diff] == ["Kyoto", "Osaka"]
    assert [piece.text for piece in memory.diff(1, after=2).text_diff] == ["Osaka", "Tokyo"]


def test_the_first_version_has_nothing_to_be_compared_with(memory: Memory):
    memory.remember("Alice lives in Osaka")
    with pytest.raises(errors.NotFound, match="is the first"):
        memory.diff(1)


# -- the log -------------------------------------------------------------------------------------------------------


def test_the_log_tells_newest_first_who_did_what(memory: Memory):
    memory.remember("Alice lives in Osaka")
    memory.remember("Bob lives in Kobe")
    memory.update(1, text="Alice lives in Tokyo")
    told = [(one.seq, one.change.operation, one.number, one.change.actor) for one in memory.log()]
    assert told == [(3, "update", 1, "ada"), (2, "insert", 2, "ada"), (1, "insert", 1, "ada")]
    assert [one.seq for one in memory.log(limit=2)] == [3, 2]
    assert [one.seq for one in memory.log(before=2)] == [1]


def test_the_log_can_be_narrowed_to_a_batch_a_session_a_writer_an_operation_or_a_time(
    memory: Memory, clock: HandClock, tmp_path: Any
):
    with (
        Memory(tmp_path / "m.db", embedder="none", clock=clock, actor="ada", session="s1") as ada,
        Memory(tmp_path / "m.db", embedder="none", clock=clock, actor="bob", session="s2") as bob,
    ):
        first = ada.remember("Alice lives in Osaka")
        later = clock.forward(hours=1)
        bob.update(1, text="Alice lives in Tokyo")
        assert [one.seq for one in ada.log(batch=first.batch)] == [1]
        assert [one.seq for one in ada.log(session="s2")] == [2]
        assert [one.seq for one in ada.log(actor="ada")] == [1]
        assert [one.seq for one in ada.log(operation="update")] == [2]
        assert [one.seq for one in ada.log(since=later)] == [2]
        assert [one.seq for one in ada.log(until=later)] == [1]
        assert ada.log(actor="eve") == []


@pytest.mark.parametrize(
    "wish",
    [{"operation": "explode"}, {"limit": 0}, {"before": 0}, {"since": "soon"}, {"actor": ""}, {"batch": "\x00"}],
)
def test_a_wish_that_no_line_of_the_log_could_fit_is_refused_in_words(memory: Memory, wish: dict[str, Any]):
    with pytest.raises(errors.PerdureError):
        memory.log(**wish)

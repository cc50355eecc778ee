"""An import that was taken back, or did not come to its end, and what a trusted one keeps."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from perdure import Memory

if TYPE_CHECKING:
    from clocks import HandClock

RECORDS: list[dict[str, Any]] = [{"text": "tea"}, {"text": "milk", "key": "drink:milk"}]


def test_an_import_that_was_undone_can_be_done_again(memory: Memory):
    memory.remember("old milk", key="drink:milk")
    for trusted in (False, True, False):
        done = memory.import_(RECORDS, trusted=trusted)
        assert (done.inserted, done.updated, done.skipped_deleted) == (1, 1, 0)
        memory.undo(done.batch)
        assert [record.text for record in memory.list()] == ["old milk"]


def test_a_key_that_an_undone_import_made_can_be_imported_again(memory: Memory):
    memory.undo(memory.import_(RECORDS).batch)
    done = memory.import_(RECORDS)
    assert (done.inserted + done.updated, done.skipped_deleted) == (2, 0)
    assert memory.get("drink:milk").text == "milk"


def test_a_checkpoint_takes_an_import_back_without_a_trace_as_well(memory: Memory):
    memory.checkpoint("before")
    memory.import_(RECORDS)
    memory.restore_checkpoint("before", clear_existing=True)
    assert memory.import_(RECORDS).skipped_deleted == 0


def test_what_was_forgotten_and_is_forgotten_again_by_an_undo_stays_out(memory: Memory):
    memory.import_(RECORDS)
    memory.forget([1, 2])
    restored = memory.restore([1, 2])
    memory.undo(restored[0].batch)
    assert memory.import_(RECORDS).skipped_deleted == 2


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interrupted_import_says_how_far_it_came_and_how_to_go_on(memory: Memory, error: type[BaseException]):
    records = [{"text": f"note {number}"} for number in range(300)]

    def progress(done: int, total: int | None) -> None:
        if done > 128:
            raise error

    with pytest.raises(error) as raised:
        memory.import_(records, progress=progress)
    batch = memory.log(limit=1)[0].change.batch
    assert raised.value.__notes__ == [
        f"256 of 300 records were imported. Import again to go on, or take them back: perdure undo {batch}"
    ]
    assert memory.import_(records).present == 256
    memory.undo(batch)
    assert len(memory.list(limit=100)) == 44


def test_an_import_that_stored_nothing_has_nothing_to_say(memory: Memory):
    memory.import_(RECORDS)

    def progress(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as raised:
        memory.import_(RECORDS, progress=progress)
    assert not hasattr(raised.value, "__notes__")


def test_a_trusted_import_keeps_how_often_a_memory_was_used(clock: HandClock, memory: Memory):
    memory.remember("green tea")
    clock.forward(hours=1)
    for _ in range(3):
        memory.recall("tea")
    memory.get(1)
    memory.close()
    used = {"recall_count": 3, "recalled_at": "2026-03-14T13:00:00Z", "access_count": 1}
    line = {"text": "green tea", **used, "accessed_at": "2026-03-14T13:00:00Z"}
    for trusted in (False, True):
        with Memory(":memory:", embedder="none", clock=clock) as other:
            other.import_(io.StringIO(json.dumps(line)), trusted=trusted)
            record = other.list().records[0]
            assert (record.recall_count, record.access_count) == ((3, 1) if trusted else (0, 0))
            assert (record.recalled_at == clock()) is trusted

"""Keeping a store: use, statistics, checks, and its end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from perdure.clock import to_micros
from perdure.errors import StoreClosed
from perdure.model import Checkpoint, Filter
from perdure.store.port import Position, Store, Use
from perdure.testing.conformance.store_fixture import StoreTestBase
from perdure.testing.records import GENERATION, NAMESPACE, NOON, amend, embed, read_once, remember

EVERY_METHOD: dict[str, Callable[[Store], object]] = {
    "read": lambda store: store.read(NAMESPACE).__enter__(),
    "write": lambda store: store.write(NAMESPACE).__enter__(),
    "due": lambda store: store.due(NOON, 1),
    "purgeable": lambda store: store.purgeable(NOON, 1),
    "write_times_after": lambda store: store.write_times_after(NOON),
    "note": lambda store: store.note("clock"),
    "put_note": lambda store: store.put_note("clock", "noon"),
    "lease": lambda store: store.lease("work", "me", 60),
    "put_checkpoint": lambda store: store.put_checkpoint(Checkpoint("c", None, {}, 0, NOON, "tester")),
    "checkpoints": lambda store: store.checkpoints(NAMESPACE),
    "delete_checkpoint": lambda store: store.delete_checkpoint(NAMESPACE, "c"),
    "position": lambda store: store.position(NAMESPACE, None),
    "index_rows": lambda store: store.index_rows(NAMESPACE, None, 0, 1),
    "index_changes": lambda store: store.index_changes(NAMESPACE, None, Position()),
    "use_counts": lambda store: store.use_counts(NAMESPACE),
    "pending": lambda store: store.pending(GENERATION, 1),
    "serving_generation": lambda store: store.serving_generation(),
    "serve": lambda store: store.serve(GENERATION),
    "generations": lambda store: store.generations(),
    "drop_vectors": lambda store: store.drop_vectors(GENERATION, 1),
    "calibration": lambda store: store.calibration(GENERATION),
    "put_calibration": lambda store: store.put_calibration(GENERATION, 0.5),
    "calls": lambda store: store.calls(None, 1),
    "calls_total": lambda store: store.calls_total(NOON),
    "parked": lambda store: store.parked(NAMESPACE),
    "unpark": lambda store: store.unpark(NAMESPACE, 1),
    "write_together": lambda store: store.write_together([]).__enter__(),
    "pending_count": lambda store: store.pending_count(GENERATION),
    "namespaces": lambda store: store.namespaces(),
    "stats": lambda store: store.stats(None),
}


@contextmanager
def being_written(store: Store) -> Generator[None]:
    """Another thread is in the middle of a transaction."""
    started, enough = threading.Event(), threading.Event()

    def write() -> None:
        with store.write(NAMESPACE) as writer:
            writer.next_number()
            started.set()
            enough.wait(30)

    thread = threading.Thread(target=write)
    thread.start()
    started.wait(30)
    try:
        yield
    finally:
        enough.set()
        thread.join()


class MaintenanceTests(StoreTestBase):
    def test_use_is_counted_outside_the_history(self, store: Store) -> None:
        remember(store, "tea")
        store.note_use([Use(NAMESPACE, 1, 2, NOON, 0, None)])
        store.note_use([Use(NAMESPACE, 1, 1, NOON + timedelta(1), 3, NOON)])
        (record,) = read_once(store).fetch([1])
        assert (record.recall_count, record.recalled_at) == (3, NOON + timedelta(1))
        assert (record.access_count, record.accessed_at) == (3, NOON)
        assert len(read_once(store).revisions(1)) == record.seq == 1

    def test_last_use_never_moves_back(self, store: Store) -> None:
        remember(store, "tea")
        for day in (2, 1):
            store.note_use([Use(NAMESPACE, 1, 1, NOON + timedelta(day), 0, None)])
            assert store.flush_use(patience=5)
        assert read_once(store).fetch([1])[0].recalled_at == NOON + timedelta(2)

    def test_use_survives_a_change_of_the_memory(self, store: Store) -> None:
        record = remember(store, "tea")
        store.note_use([Use(NAMESPACE, 1, 1, NOON, 0, None)])
        amend(store, record, text="green tea")
        assert read_once(store).fetch([1])[0].recall_count == 1

    def test_use_of_a_memory_that_is_not_there_is_forgotten(self, store: Store) -> None:
        remember(store, "tea")
        uses = [Use(NAMESPACE, 9, 1, NOON, 0, None), Use("nowhere", 1, 1, NOON, 0, None)]
        store.note_use(uses)
        assert store.flush_use(patience=5)
        assert store.namespaces() == [NAMESPACE]
        assert read_once(store).fetch([1])[0].recall_count == 0

    def test_writing_use_down_waits_no_longer_than_its_patience_and_nothing_is_lost(self, store: Store) -> None:
        remember(store, "tea")
        with being_written(store):
            store.note_use([Use(NAMESPACE, 1, 1, NOON, 0, None)])
            assert store.flush_use(patience=0.01) is not self.flush_waits
            if self.reads_during_writes:
                assert read_once(store).fetch([1])[0].recall_count == 1
        assert store.flush_use(patience=5)
        assert read_once(store).fetch([1])[0].recall_count == 1

    def test_use_is_seen_the_same_before_and_after_it_is_written_down(self, store: Store) -> None:
        for text in ("tea", "coffee"):
            remember(store, text)
        for minute in range(1, 4):
            store.note_use([Use(NAMESPACE, 1, 2, NOON + timedelta(minutes=minute), 1, NOON)])
            for flush in (False, True, True):
                if flush:
                    assert store.flush_use(patience=5)
                first, second = read_once(store).fetch([1, 2])
                assert first.recalled_at is not None
                assert (first.recall_count, first.access_count) == (2 * minute, minute)
                assert (first.recalled_at, first.accessed_at) == (NOON + timedelta(minutes=minute), NOON)
                assert (second.recall_count, second.recalled_at) == (0, None)
                assert list(store.use_counts(NAMESPACE)) == [(1, 2 * minute, to_micros(first.recalled_at))]

    def test_reading_does_not_wait_for_someone_who_writes(self, store: Store) -> None:
        if not self.reads_during_writes:
            pytest.skip("this store takes turns")
        record = remember(store, "tea")
        with being_written(store):
            assert read_once(store).fetch([1]) == [record]
            assert len(read_once(store).keyword_search(["tea"], Filter(), NOON, 9).best) == 1
            assert len(store.index_rows(NAMESPACE, None, 0, 9)) == 1
            assert store.stats(None).namespaces[0].revision_count == 1

    def test_statistics_count_what_is_there(self, store: Store) -> None:
        remember(store, "tea", category="preference", created_at=NOON - timedelta(1))
        forgotten = remember(store, "coffee", category="preference")
        amend(store, forgotten, "forget", state="deleted")
        embed(store, [remember(store, "milk", "other")])
        stats = store.stats(GENERATION)
        first, second = stats.namespaces
        assert (first.name, first.states, first.categories) == (
            NAMESPACE,
            {"active": 1, "deleted": 1},
            {"preference": 1},
        )
        assert (first.revision_count, first.vectors_pending, first.oldest, first.newest) == (
            3,
            1,
            NOON - timedelta(1),
            NOON,
        )
        assert (second.name, second.states, second.vectors_pending) == ("other", {"active": 1}, 0)
        assert stats.bytes > 0
        assert stats.schema >= 1

    def test_a_store_says_where_it_is(self, store: Store) -> None:
        assert store.address == store.stats(None).address != ""

    def test_a_note_belongs_to_its_namespace_or_to_the_store(self, store: Store) -> None:
        for namespace in ("a", "b"):
            remember(store, "tea", namespace)
        store.put_note("seen", "store")
        store.put_note("seen", "first", "a")
        store.put_note("seen", "second", "a")
        assert (store.note("seen"), store.note("seen", "a"), store.note("seen", "b")) == ("store", "second", None)
        assert store.note("looked") is None

    def test_one_at_a_time_has_a_lease_and_may_take_it_again(self, store: Store) -> None:
        assert store.lease("work", "ann", 60)
        assert store.lease("work", "ann", 60)
        assert not store.lease("work", "bob", 60)
        assert store.lease("other", "bob", 60)
        assert store.lease("work", "ann", 0)
        assert store.lease("work", "bob", 60)

    def test_an_empty_store_has_nothing_to_count(self, store: Store) -> None:
        assert store.stats(GENERATION).namespaces == ()
        assert store.stats(None).namespaces == ()
        assert store.namespaces() == []
        assert store.pending_count(GENERATION) == 0

    def test_a_sound_store_has_no_damaged_memories(self, store: Store) -> None:
        remember(store, "tea")
        assert read_once(store).damaged() == read_once(store, "nowhere").damaged() == []

    @pytest.mark.parametrize("method", EVERY_METHOD)
    def test_a_closed_store_says_so(self, store: Store, method: str) -> None:
        remember(store, "tea")
        store.close()
        with pytest.raises(StoreClosed):
            EVERY_METHOD[method](store)

    def test_closing_twice_is_closing_once(self, store: Store) -> None:
        store.close()
        store.close()

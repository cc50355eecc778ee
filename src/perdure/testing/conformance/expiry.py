"""Deadlines: what time brings to memories of all namespaces, and the remarks kept about it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from perdure.store.port import Store
from perdure.testing.conformance.store_fixture import StoreTestBase
from perdure.testing.conformance.time_travel import say
from perdure.testing.records import NAMESPACE, NOON, amend, change, problems, remember
from perdure.text.entry import entry_of

HOUR = timedelta(hours=1)


class ExpiryTests(StoreTestBase):
    def test_a_memory_is_due_from_the_moment_it_expires_in_whatever_namespace(self, store: Store) -> None:
        late = remember(store, "tea", expires_at=NOON)
        early = remember(store, "coffee", "other", expires_at=NOON - HOUR)
        remember(store, "milk", expires_at=NOON + HOUR)
        remember(store, "water")
        remember(store, "gone", expires_at=NOON, state="deleted")
        assert store.due(NOON, 9) == [early, late]
        assert store.due(NOON, 1) == [early]
        assert store.due(NOON - 2 * HOUR, 9) == []
        amend(store, early, "expire", state="expired")
        assert store.due(NOON, 9) == [late]

    def test_an_evicted_memory_may_be_purged_by_when_it_was_evicted(self, store: Store) -> None:
        first, second = remember(store, "tea"), remember(store, "coffee", "other")
        say(store, replace(first, state="evicted"), "evict", at=NOON + HOUR)
        say(store, replace(second, state="evicted"), "evict", at=NOON + 2 * HOUR)
        remember(store, "milk")
        assert store.purgeable(NOON, 9) == []
        assert [record.number for record in store.purgeable(NOON + HOUR, 9)] == [first.number]
        assert [record.namespace for record in store.purgeable(NOON + 3 * HOUR, 9)] == [NAMESPACE, "other"]
        assert len(store.purgeable(NOON + 3 * HOUR, 1)) == 1
        say(store, first, "restore", at=NOON + 3 * HOUR)
        assert [record.namespace for record in store.purgeable(NOON + 3 * HOUR, 9)] == ["other"]

    def test_what_a_model_evicted_is_left_out_unless_it_is_asked_for(self, store: Store) -> None:
        first, second = remember(store, "tea"), remember(store, "coffee")
        with store.write(NAMESPACE) as writer:
            for record, by_model in ((first, True), (second, False)):
                gone = replace(record, state="evicted")
                writer.put(gone, change("evict", by_model=by_model), entry_of(gone))
        assert [record.number for record in store.purgeable(NOON, 9)] == [second.number]
        assert [record.number for record in store.purgeable(NOON, 9, by_models=True)] == [first.number, second.number]
        assert store.purgeable(NOON - HOUR, 9, by_models=True) == []

    def test_the_times_at_which_something_was_written_are_known_to_the_hour(self, store: Store) -> None:
        record = remember(store, "tea")
        for minutes in (70, 80, 90, 100, 60 * 30):
            say(store, record, at=NOON + timedelta(minutes=minutes))
        say(store, remember(store, "coffee", "other"), at=NOON + 10 * HOUR)
        times = store.write_times_after(NOON)
        assert times == sorted(set(times))
        assert times[-1] == NOON + 30 * HOUR
        assert NOON not in times
        hours = [int((moment - NOON) / HOUR) for moment in times]
        assert set(hours) == {1, 10, 30}
        assert {NOON + timedelta(minutes=70), NOON + timedelta(minutes=100)} <= set(times)
        assert store.write_times_after(NOON + 30 * HOUR) == []

    def test_a_note_is_the_last_one_of_its_name(self, store: Store) -> None:
        assert store.note("clock") is None
        for value in ("noon", "later", "später ☕"):
            store.put_note("clock", value)
        store.put_note("secret", "mine")
        assert (store.note("clock"), store.note("secret"), store.note("engine")) == ("später ☕", "mine", None)
        remember(store, "tea")
        assert problems(store) == []

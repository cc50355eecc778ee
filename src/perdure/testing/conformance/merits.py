"""What prominence looks at."""

from __future__ import annotations

from datetime import timedelta

from perdure.clock import to_micros
from perdure.store.port import Merit, Store, Use
from perdure.testing.conformance.base import StoreTestBase
from perdure.testing.records import NAMESPACE, NOON, amend, remember


class MeritsTests(StoreTestBase):
    def test_merits_come_in_portions_by_number(self, store: Store) -> None:
        for n in range(5):
            remember(store, f"memory {n}", category="patterns", observation_count=n + 1, confidence=n / 5)
        found: list[Merit] = []
        while portion := store.merits(NAMESPACE, found[-1].number if found else 0, 2):
            assert len(portion) <= 2
            found += portion
        noon = to_micros(NOON)
        assert found == [Merit(n + 1, "patterns", n + 1, n / 5, noon) for n in range(5)]
        assert list(store.merits("nowhere", 0, 9)) == []

    def test_only_memories_that_may_be_found_have_merits(self, store: Store) -> None:
        for n, state in enumerate(("active", "superseded", "merged", "deleted", "expired", "evicted")):
            remember(store, f"memory {n}", state=state)
        assert [(merit.number, merit.category) for merit in store.merits(NAMESPACE, 0, 9)] == [(1, None), (2, None)]

    def test_recalls_are_counted_for_those_that_were_recalled(self, store: Store) -> None:
        for n in range(3):
            remember(store, f"memory {n}")
        store.note_use([Use(NAMESPACE, 2, 4, NOON, 0, None), Use(NAMESPACE, 3, 0, None, 1, NOON)], patience=5)
        assert list(store.recall_counts(NAMESPACE)) == [(2, 4)]
        assert list(store.recall_counts("nowhere")) == []

    def test_the_most_observed_memory_is_one_that_may_be_found(self, store: Store) -> None:
        assert store.most_observed(NAMESPACE) == 0
        first = remember(store, "tea", observation_count=4)
        remember(store, "milk", observation_count=9, state="deleted")
        assert store.most_observed(NAMESPACE) == 4
        amend(store, first, "observe", observation_count=5, updated_at=NOON + timedelta(1))
        assert store.most_observed(NAMESPACE) == 5
        assert store.most_observed(NAMESPACE, 2) == 0

"""Checkpoints: names for positions in the log, one small write each."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from perdure.errors import Conflict
from perdure.model import Checkpoint
from perdure.store.port import Store
from perdure.testing.conformance.store_fixture import StoreTestBase
from perdure.testing.records import NAMESPACE, NOON, amend, problems, remember, repair

HERE = Checkpoint("before", NAMESPACE, {}, 0, NOON, "alice")


class CheckpointsTests(StoreTestBase):
    def test_a_checkpoint_is_the_position_at_which_the_log_stands(self, store: Store) -> None:
        amend(store, remember(store, "tea"), text="green tea")
        remember(store, "gone", state="deleted")
        remember(store, "elsewhere", "other")
        given = replace(HERE, positions={NAMESPACE: 99}, memory_count=99, description="D", metadata={"a": [1, "ä"]})
        kept = store.put_checkpoint(given)
        assert kept == replace(given, positions={NAMESPACE: 3}, memory_count=1)
        remember(store, "later")
        assert store.checkpoints(NAMESPACE) == [kept]
        assert store.checkpoints("other") == store.checkpoints("nowhere") == []

    def test_a_checkpoint_of_everything_is_seen_from_every_namespace(self, store: Store) -> None:
        remember(store, "tea")
        for _ in range(2):
            remember(store, "coffee", "other")
        kept = store.put_checkpoint(replace(HERE, namespace=None))
        assert (kept.positions, kept.memory_count) == ({NAMESPACE: 1, "other": 2}, 3)
        assert store.checkpoints(NAMESPACE) == store.checkpoints("other") == store.checkpoints("nowhere") == [kept]

    def test_a_checkpoint_of_a_folder_counts_what_is_in_it(self, store: Store) -> None:
        remember(store, "tea", spec_folder="trips")
        remember(store, "gone", spec_folder="trips", state="deleted")
        remember(store, "coffee")
        kept = store.put_checkpoint(replace(HERE, spec_folder="trips"))
        assert (kept.positions, kept.memory_count, kept.spec_folder) == ({NAMESPACE: 3}, 1, "trips")
        assert store.checkpoints(NAMESPACE) == [kept]

    def test_a_namespace_that_nobody_wrote_to_yet_has_a_position_too(self, store: Store) -> None:
        kept = store.put_checkpoint(HERE)
        assert (kept.positions, kept.memory_count) == ({NAMESPACE: 0}, 0)
        assert remember(store, "tea").number == 1
        assert store.checkpoints(NAMESPACE) == [kept]

    def test_the_newest_checkpoint_comes_first(self, store: Store) -> None:
        for days, name in enumerate(("a", "c", "b")):
            store.put_checkpoint(replace(HERE, name=name, created_at=NOON + timedelta(days)))
        store.put_checkpoint(replace(HERE, name="all", namespace=None, created_at=NOON + timedelta(9)))
        assert [one.name for one in store.checkpoints(NAMESPACE)] == ["all", "b", "c", "a"]

    @pytest.mark.parametrize(
        ("first", "second"), [(NAMESPACE, NAMESPACE), (NAMESPACE, None), (None, NAMESPACE), (None, None)]
    )
    def test_a_name_that_is_taken_is_a_conflict(self, store: Store, first: str | None, second: str | None) -> None:
        kept = store.put_checkpoint(replace(HERE, namespace=first))
        with pytest.raises(Conflict):
            store.put_checkpoint(replace(HERE, namespace=second))
        assert store.checkpoints(NAMESPACE) == [kept]

    def test_two_namespaces_can_use_the_same_name(self, store: Store) -> None:
        for namespace in ("ours", "theirs"):
            store.put_checkpoint(replace(HERE, namespace=namespace))
        assert [one.namespace for one in store.checkpoints("ours")] == ["ours"]
        assert store.delete_checkpoint("ours", HERE.name)
        assert (len(store.checkpoints("ours")), len(store.checkpoints("theirs"))) == (0, 1)

    def test_a_deleted_checkpoint_is_gone_and_its_name_free(self, store: Store) -> None:
        remember(store, "tea")
        store.put_checkpoint(HERE)
        store.put_checkpoint(replace(HERE, name="all", namespace=None))
        assert not store.delete_checkpoint(NAMESPACE, "all")
        assert not store.delete_checkpoint(None, HERE.name)
        assert not store.delete_checkpoint("nowhere", HERE.name)
        assert store.delete_checkpoint(NAMESPACE, HERE.name)
        assert not store.delete_checkpoint(NAMESPACE, HERE.name)
        assert store.delete_checkpoint(None, "all")
        assert store.checkpoints(NAMESPACE) == []
        assert store.put_checkpoint(HERE).positions == {NAMESPACE: 1}

    def test_a_checkpoint_changes_neither_the_log_nor_what_is_found_wrong(self, store: Store) -> None:
        remember(store, "tea")
        before = store.position(NAMESPACE, None)
        store.put_checkpoint(HERE)
        assert store.position(NAMESPACE, None) == before
        assert problems(store) == []
        repair(store)
        assert len(store.checkpoints(NAMESPACE)) == 1

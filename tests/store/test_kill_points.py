"""A process killed inside a write: the memory is there with everything that belongs to it, or not at all."""

from __future__ import annotations

import os
import signal
from contextlib import closing
from pathlib import Path

import pytest
from store.children import Child

from perdure.errors import Conflict
from perdure.model import STATES, Checkpoint, Filter
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.buggify import Buggified, buggified
from perdure.testing.records import (
    GENERATION,
    NAMESPACE,
    NOON,
    amend,
    change,
    draft,
    embed,
    insert,
    read_once,
    remember,
    vector,
)
from perdure.text.entry import entry_of, passage_hash

ERASING = [
    "erase: payloads deleted", "erase: memory deleted", "erase: vectors deleted", "erase: line written",
    "before commit", "after commit",
]  # fmt: skip
POINTS = ["put: memory written", "put: revision written", "before commit", "after commit"]


@pytest.mark.parametrize("point", POINTS)
def test_a_write_that_was_killed_is_whole_or_not_there(path: Path, point: str):
    with closing(SqliteStore.open(path)) as store:
        kept = [remember(store, f"kept {n}", tags=("kept",)) for n in range(3)]
        embed(store, kept)
    for turn in range(3):

        def write(turn: int = turn) -> None:
            with closing(SqliteStore.open(path)) as store, buggified(point, "kill"), store.write(NAMESPACE) as writer:
                record = insert(writer, draft(f"killed {turn}", tags=("killed",)))
                writer.put_vector(GENERATION, passage_hash(record), vector())

        assert os.WTERMSIG(Child(write).result()[1]) == signal.SIGKILL
        with closing(SqliteStore.open(path)) as store:
            survived = store.position(NAMESPACE, GENERATION).seq - len(kept)
            assert survived == (turn + 1 if point == "after commit" else 0)
            assert read_once(store).fetch([1, 2, 3]) == kept
            assert len(read_once(store).fetch(range(4, 20))) == survived
            assert [finding for finding in store.check() if finding.level == "problem"] == []


@pytest.mark.parametrize("point", POINTS[:3])
def test_a_write_that_failed_inside_leaves_a_store_that_works_on(store: SqliteStore, point: str):
    kept = remember(store, "kept")
    with buggified(point), pytest.raises(Buggified):
        remember(store, "lost")
    assert read_once(store).fetch(range(1, 9)) == [kept]
    assert remember(store, "next").number == 2
    assert [finding for finding in store.check() if finding.level == "problem"] == []


def test_a_change_that_was_killed_leaves_the_memory_as_it_was(path: Path):
    with closing(SqliteStore.open(path)) as store:
        kept = remember(store, "tea", tags=("hot",))

    def forget() -> None:
        point = buggified("put: revision written", "kill")
        with closing(SqliteStore.open(path)) as store, point, store.write(NAMESPACE) as writer:
            record = writer.by_number(1)
            assert record
            writer.put(record, change("forget"), entry_of(record))

    assert os.WTERMSIG(Child(forget).result()[1]) == signal.SIGKILL
    with closing(SqliteStore.open(path)) as store:
        assert read_once(store).fetch([1]) == [kept]
        assert len(read_once(store).revisions(1)) == 1


@pytest.mark.parametrize("point", ERASING)
def test_an_erasure_that_was_killed_is_whole_or_did_not_happen(path: Path, point: str):
    with closing(SqliteStore.open(path)) as store:
        first = remember(store, "tea", tags=("hot",), key="drink:tea")
        embed(store, [first])
        embed(store, [amend(store, first, text="green tea")])
        remember(store, "coffee")
        before = _everything(store)

    def erase() -> None:
        with closing(SqliteStore.open(path)) as store, buggified(point, "kill"), store.write(NAMESPACE) as writer:
            writer.erase(1, change("erase"))

    assert os.WTERMSIG(Child(erase).result()[1]) == signal.SIGKILL
    with closing(SqliteStore.open(path)) as store:
        assert [finding for finding in store.check() if finding.level == "problem"] == []
        if point != "after commit":
            assert _everything(store) == before
            with store.write(NAMESPACE) as writer:
                writer.erase(1, change("erase"))
        assert [record.number for record in read_once(store).fetch([1, 2])] == [2]
        assert [line.record for line in read_once(store).revisions(1)] == [None, None, None]
        assert read_once(store).passage_vectors(GENERATION, [passage_hash(first)]) == {}
        assert [finding for finding in store.check() if finding.level == "problem"] == []


def _everything(store: SqliteStore) -> tuple[object, ...]:
    return (
        read_once(store).page(Filter(states=STATES), after=None, limit=9, newest=False),
        read_once(store).revisions(1),
        store.index_rows(NAMESPACE, GENERATION, 0, 9),
        store.position(NAMESPACE, GENERATION),
        store.stats(GENERATION).namespaces,
    )


@pytest.mark.parametrize("point", ["checkpoint: before commit", "before commit", "after commit"])
def test_a_checkpoint_that_was_killed_is_there_or_its_name_is_free(path: Path, point: str):
    wanted = Checkpoint("before", NAMESPACE, {}, 0, NOON, "tester")
    with closing(SqliteStore.open(path)) as store:
        remember(store, "tea")

    def make() -> None:
        with closing(SqliteStore.open(path)) as store, buggified(point, "kill"):
            store.put_checkpoint(wanted)

    assert os.WTERMSIG(Child(make).result()[1]) == signal.SIGKILL
    with closing(SqliteStore.open(path)) as store:
        if point == "after commit":
            with pytest.raises(Conflict):
                store.put_checkpoint(wanted)
        else:
            store.put_checkpoint(wanted)
        assert [checkpoint.positions for checkpoint in store.checkpoints(NAMESPACE)] == [{NAMESPACE: 1}]

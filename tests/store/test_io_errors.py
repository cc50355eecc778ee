"""The disk fails at every single operation of a write, in turn: a clear error, nothing half done, and work goes on."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest
from store.disks import FailingDisk

from perdure.errors import StoreError, StoreFull
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.records import (
    GENERATION,
    NAMESPACE,
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


@pytest.fixture(scope="module")
def disk() -> Generator[FailingDisk]:
    disk = FailingDisk("failing")
    yield disk
    disk.unregister()


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("original") / "memory.db"
    with closing(SqliteStore.open(path)) as store:
        embed(store, [remember(store, f"memory {n}", tags=("kept",)) for n in range(5)])
    return path


def copy(original: Path, path: Path) -> Path:
    shutil.copy(original, path)
    return path


def check(path: Path) -> None:
    with closing(SqliteStore.open(path)) as store:
        assert [finding for finding in store.check() if finding.level == "problem"] == []


def write(store: SqliteStore) -> None:
    with store.write(NAMESPACE) as writer:
        record = insert(writer, draft("new " * 500, tags=("new", "kept")))
        writer.put_vector(GENERATION, passage_hash(record), vector())
        old = writer.by_number(1)
        assert old
        writer.put(old, change("observe"), entry_of(old))


def refusal(store: SqliteStore) -> StoreError | None:
    try:
        write(store)
    except StoreError as error:
        return error
    return None


MODES = pytest.mark.parametrize(
    ("error", "persistent"),
    [(apsw.FullError, False), (apsw.FullError, True), (apsw.IOError, False), (apsw.IOError, True)],
)


@MODES
def test_a_write_that_the_disk_refuses_anywhere_is_a_clear_error_and_leaves_no_trace(
    tmp_path: Path, original: Path, disk: FailingDisk, error: type[Exception], persistent: bool
):
    expected = StoreFull if error is apsw.FullError else StoreError
    for nth in range(1, 1000):
        path = copy(original, tmp_path / f"{nth}.db")
        with closing(SqliteStore.open(path, vfs=disk.name)) as store:
            before = read_once(store).fetch(range(1, 9))
            disk.arm(nth, error, persistent=persistent)
            refused = refusal(store)
            reached = disk.disarm()
            assert refused is None if not reached else isinstance(refused, expected)
            assert refused is None or isinstance(refused.__cause__, error)
            after = read_once(store).fetch(range(1, 9))
            assert after == before if reached else len(after) == len(before) + 1
            assert remember(store, "next").number == len(after) + 1
        if nth % 5 == 0 or not reached:
            check(path)
        if not reached:
            assert nth > 20
            return
    pytest.fail("the write never came to its end")


@MODES
def test_a_store_that_cannot_be_tidied_up_on_closing_has_lost_nothing(
    tmp_path: Path, original: Path, disk: FailingDisk, error: type[Exception], persistent: bool
):
    for nth in range(1, 1000):
        path = copy(original, tmp_path / f"{nth}.db")
        store = SqliteStore.open(path, vfs=disk.name)
        write(store)
        kept = read_once(store).fetch(range(1, 9))
        disk.arm(nth, error, persistent=persistent)
        store.close()
        reached = disk.disarm()
        with closing(SqliteStore.open(path)) as again:
            assert read_once(again).fetch(range(1, 9)) == kept
        if not reached:
            assert nth > 20
            check(path)
            return
    pytest.fail("the store was never closed")


def test_opening_a_new_store_on_a_disk_that_refuses_is_a_clear_error_and_the_next_try_works(
    tmp_path: Path, disk: FailingDisk
):
    for nth in range(1, 1000):
        path = tmp_path / f"{nth}.db"
        disk.arm(nth, apsw.FullError, persistent=True)
        with suppress(StoreFull):
            SqliteStore.open(path, vfs=disk.name).close()
        reached = disk.disarm()
        if nth % 5 == 0 or not reached:
            with closing(SqliteStore.open(path)) as store:
                assert amend(store, remember(store, "tea"), title="Drinks").seq == 2
        if not reached:
            assert nth > 10
            return
    pytest.fail("the store was never opened")

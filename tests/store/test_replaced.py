"""Nothing is acknowledged into a file that others will not find."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from perdure.errors import StoreReplaced
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.records import NAMESPACE, read_once, remember


def deleted(path: Path) -> None:
    path.unlink()


def moved(path: Path) -> None:
    path.rename(path.with_suffix(".old"))


def replaced(path: Path) -> None:
    shutil.copy(path, path.with_suffix(".copy"))
    path.with_suffix(".copy").replace(path)


def log_deleted(path: Path) -> None:
    path.with_name("memory.db-wal").unlink()


@pytest.mark.parametrize("change", [deleted, moved, replaced, log_deleted])
def test_a_store_whose_file_was_taken_away_stops_writing_and_says_so(path: Path, change: Callable[[Path], None]):
    store = SqliteStore.open(path)
    remember(store, "tea")
    change(path)
    for _ in range(2):
        with pytest.raises(StoreReplaced):
            remember(store, "coffee")
    store.close()


@pytest.mark.parametrize("change", [deleted, moved, replaced])
def test_a_store_whose_file_was_taken_away_does_not_answer_from_the_old_one(path: Path, change: Callable[[Path], None]):
    store = SqliteStore.open(path)
    remember(store, "tea")
    read_once(store).fetch([1])
    change(path)
    with pytest.raises(StoreReplaced):
        read_once(store).fetch([1])
    store.close()


def test_a_file_taken_away_in_the_middle_of_a_write_takes_nothing_with_it(path: Path):
    store = SqliteStore.open(path)
    with pytest.raises(StoreReplaced), store.write(NAMESPACE) as writer:
        writer.next_number()
        path.rename(path.with_suffix(".old"))
    store.close()
    path.with_suffix(".old").rename(path)
    with closing(SqliteStore.open(path)) as again:
        assert again.namespaces() == []
        assert remember(again, "tea").number == 1

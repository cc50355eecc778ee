"""Backups: a copy of the whole store, and a store that becomes what the copy is."""

from __future__ import annotations

from pathlib import Path

from perdure.model import Filter
from perdure.store.capabilities import FileBackups
from perdure.store.port import Store
from perdure.testing.conformance.store_fixture import StoreTestBase
from perdure.testing.records import NAMESPACE, amend, change, problems, read_once, remember


def texts(store: Store) -> list[str]:
    return [record.text for record in read_once(store).page(Filter(), after=None, limit=9, newest=False)]


def files(store: Store) -> FileBackups:
    assert isinstance(store, FileBackups)
    return store


class BackupsTests(StoreTestBase):
    def test_a_store_becomes_what_its_backup_was(self, store: Store, tmp_path: Path) -> None:
        tea = remember(store, "tea")
        files(store).backup(str(tmp_path / "copy.db"))
        amend(store, tea, text="green tea")
        remember(store, "coffee")
        files(store).restore_backup(str(tmp_path / "copy.db"), keep=False)
        assert texts(store) == ["tea"]
        assert problems(store) == []

    def test_a_backup_does_not_bring_back_what_was_erased_since(self, store: Store, tmp_path: Path) -> None:
        for text in ("tea", "coffee"):
            remember(store, text)
        files(store).backup(str(tmp_path / "copy.db"))
        with store.write(NAMESPACE) as writer:
            writer.erase(1, change("erase"))
        files(store).restore_backup(str(tmp_path / "copy.db"), keep=False)
        assert texts(store) == ["coffee"]

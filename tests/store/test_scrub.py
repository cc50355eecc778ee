"""What was erased leaves the write-ahead log and the unused parts of the file, as soon as nobody is in the way."""

from __future__ import annotations

import fcntl
import os
import signal
from contextlib import closing
from pathlib import Path

import pytest
from store.behind import behind
from store.children import Child

from perdure.buggify import arm, disarm
from perdure.store.sqlite import store as module
from perdure.store.sqlite.file import StoreFile
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.buggify import buggified
from perdure.testing.records import NAMESPACE, change, read_once, remember

SECRET = b"brightwater"


def files_with(path: Path, needle: bytes = SECRET) -> list[str]:
    return [each.name for each in path.parent.iterdir() if each.is_file() and needle in each.read_bytes()]


def erase(store: SqliteStore, number: int) -> None:
    with store.write(NAMESPACE) as writer:
        writer.erase(number, change("erase"))


def rollback(_: StoreFile) -> str:
    return "delete"


def is_wished(path: Path) -> bool:
    with behind(path) as database:
        return bool(database.execute("SELECT count(*) FROM meta WHERE name = 'scrub'").get)


def test_after_a_scrub_no_file_holds_what_was_erased(store: SqliteStore, path: Path):
    remember(store, SECRET.decode())
    assert files_with(path)
    erase(store, 1)
    assert is_wished(path)
    assert store.scrub(patience=1).done
    assert files_with(path) == []
    assert not is_wished(path)


def test_a_reader_in_another_process_delays_the_scrub_and_does_not_defeat_it(store: SqliteStore, path: Path):
    remember(store, SECRET.decode())
    with behind(path) as other:
        other.execute("BEGIN")
        assert other.execute("SELECT count(*) FROM memory").get == 1
        erase(store, 1)
        assert not store.scrub(patience=0.01).done
        assert is_wished(path)
        other.execute("COMMIT")
    assert store.scrub(patience=1).done
    assert files_with(path) == []


def test_a_reader_that_comes_in_the_middle_leaves_only_the_log_to_do(store: SqliteStore, path: Path):
    remember(store, SECRET.decode())
    erase(store, 1)
    with behind(path) as other:

        def pin(label: str) -> None:
            if label == "scrub: log empty":
                other.execute("BEGIN")
                other.execute("SELECT count(*) FROM memory").fetchall()

        arm(pin)
        try:
            assert not store.scrub(patience=0.01).done
        finally:
            disarm()
        other.execute("COMMIT")
    with behind(path) as other:
        assert other.execute("SELECT value FROM meta WHERE name = 'scrub'").get.startswith("log ")
    assert store.scrub(patience=1).done
    assert files_with(path) == []
    assert not is_wished(path)


@pytest.mark.parametrize(
    "point",
    ["after commit", "erase: noted", "scrub: swept", "scrub: ledger complete", "scrub: log empty",
     "scrub: file rewritten", "scrub: log empty again"],
)  # fmt: skip
def test_a_scrub_that_was_killed_is_finished_by_whoever_opens_the_store_next(path: Path, point: str):
    with closing(SqliteStore.open(path)) as store:
        remember(store, "kept")
        remember(store, SECRET.decode())

    def die() -> None:
        store = SqliteStore.open(path)
        with buggified(point, "kill"):
            erase(store, 2)
            store.scrub(patience=1)

    assert os.WTERMSIG(Child(die).result()[1]) == signal.SIGKILL
    with closing(SqliteStore.open(path)) as store:
        assert files_with(path) == []
        assert [record.text for record in read_once(store).fetch([1, 2])] == ["kept"]
        assert [finding for finding in store.check() if finding.level == "problem"] == []
    assert not is_wished(path)
    assert len(path.with_name(f"{path.name}-erased").read_text("utf-8").splitlines()) == 1


@pytest.mark.parametrize("name", ["memory.db.restoring-5", "copy.partial-5"])
def test_a_copy_that_somebody_works_on_delays_the_scrub_until_they_are_gone(store: SqliteStore, path: Path, name: str):
    store.backup(str(path.with_name("copy")))
    remember(store, SECRET.decode())
    unfinished = path.with_name(name)
    unfinished.write_bytes(SECRET)
    with unfinished.open("rb") as maker:
        fcntl.flock(maker, fcntl.LOCK_EX)
        erase(store, 1)
        for _ in range(2):
            assert not store.scrub(patience=1).done
            assert files_with(path) == [name]
            assert is_wished(path)
    with closing(SqliteStore.open(path)):
        assert files_with(path) == []
        assert not is_wished(path)


def test_somebody_who_erases_meanwhile_has_a_wish_of_their_own(store: SqliteStore, path: Path):
    remember(store, "one")
    remember(store, "two")
    with closing(SqliteStore.open(path)) as other:
        erase(store, 1)

        def erase_too(label: str) -> None:
            if label == "scrub: log empty again":
                disarm()
                erase(other, 2)

        arm(erase_too)
        try:
            assert store.scrub(patience=1).done
        finally:
            disarm()
        assert is_wished(path)
    assert not is_wished(path)


def test_a_rollback_journal_leaves_nothing_to_empty(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "choose_journal", rollback)
    with closing(SqliteStore.open(path)) as store:
        remember(store, SECRET.decode())
        erase(store, 1)
        assert store.scrub(patience=1).done
        assert files_with(path) == []


def test_a_store_in_memory_has_nothing_to_scrub():
    with closing(SqliteStore.open(None)) as store:
        remember(store, "one")
        erase(store, 1)
        assert store.scrub(patience=1).done


def test_the_ledger_has_one_line_for_each_erased_memory_and_heals_a_torn_one(store: SqliteStore, path: Path):
    ledger = path.with_name(f"{path.name}-erased")
    for n in range(3):
        remember(store, f"memory {n}")
    erase(store, 1)
    assert ledger.stat().st_mode & 0o777 == 0o600
    os.truncate(ledger, 40)
    erase(store, 2)
    assert store.scrub(patience=1).done
    whole = [line for line in ledger.read_text("utf-8").splitlines() if len(line) > 64]
    assert len(whole) == len({line[:64] for line in whole}) == 2
    erase(store, 3)
    assert SECRET not in ledger.read_bytes()
    assert len(ledger.read_text("utf-8").splitlines()) == len(whole) + 2

"""A forked child has a store that works or gets one clear sentence, and never harms the store of its parent."""

from __future__ import annotations

import os
import threading
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from store.children import Child

from perdure.errors import StoreClosed
from perdure.store.sqlite import connection
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.records import NAMESPACE, draft, insert, read_once, remember

# Newer interpreters warn of what is tested here: a fork while other threads run.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def test_a_child_goes_on_with_the_store_of_its_parent_even_when_the_parent_closes_it(path: Path):
    store = SqliteStore.open(path)
    remember(store, "before the fork")
    closed, started = os.pipe(), os.pipe()

    def job() -> int:
        remember(store, "in the child")
        os.write(started[1], b"x")
        os.read(closed[0], 1)
        # The parent was the last one to have the file properly open: would it have taken the log along?
        return [remember(store, f"in the child {n}") for n in range(5)][-1].number

    child = Child(job)
    os.read(started[0], 1)
    remember(store, "in the parent")
    store.close()
    with closing(SqliteStore.open(path)) as other:
        remember(other, "by another")
    os.write(closed[1], b"x")
    assert child.result() == (9, 0)
    with closing(SqliteStore.open(path)) as again:
        assert [record.number for record in read_once(again).fetch(range(1, 20))] == list(range(1, 10))
        assert [finding for finding in again.check() if finding.level == "problem"] == []


def test_a_child_forked_while_another_thread_uses_the_store_is_refused(path: Path):
    store = SqliteStore.open(path)
    inside, enough = threading.Event(), threading.Event()

    def write() -> None:
        with store.write(NAMESPACE) as writer:
            insert(writer, draft("in the thread"))
            inside.set()
            enough.wait(10)

    def job() -> str:
        for use in (lambda: remember(store, "in the child"), lambda: SqliteStore.open(path)):
            with pytest.raises(StoreClosed, match="in use when this process was forked"):
                use()
        return "refused"

    thread = threading.Thread(target=write)
    thread.start()
    inside.wait(10)
    child = Child(job)
    assert child.result() == ("refused", 0)
    enough.set()
    thread.join()
    assert remember(store, "in the parent").number == 2
    assert [finding for finding in store.check() if finding.level == "problem"] == []
    store.close()


def test_a_child_forked_while_a_thread_is_inside_sqlite_is_refused_too(path: Path, monkeypatch: pytest.MonkeyPatch):
    store = SqliteStore.open(path)
    waiting, pause = threading.Event(), connection.pause

    def noticed() -> None:
        waiting.set()
        pause()

    def job() -> str:
        for use in (lambda: remember(store, "in the child"), lambda: SqliteStore.open(path)):
            with pytest.raises(StoreClosed, match="in use when this process was forked"):
                use()
        store.close()
        return "refused"

    monkeypatch.setattr(connection, "pause", noticed)
    with closing(SqliteStore.open(path)) as other, other.write(NAMESPACE):
        thread = threading.Thread(target=remember, args=(store, "in the thread"))
        thread.start()
        waiting.wait(10)
        assert Child(job).result() == ("refused", 0)
    thread.join()
    assert remember(store, "in the parent").number == 2


def test_a_child_forked_inside_a_transaction_cannot_spoil_it(path: Path):
    store = SqliteStore.open(path)

    def job() -> str:
        for use in (lambda: remember(store, "in the child"), lambda: SqliteStore.open(path)):
            with pytest.raises(StoreClosed, match="in use when this process was forked"):
                use()
        return "refused"

    with store.write(NAMESPACE) as writer:
        writer.next_number()
        child = Child(job)
        assert child.result() == ("refused", 0)
    assert remember(store, "in the parent").number == 2
    store.close()


def test_a_child_that_leaves_the_transaction_of_its_parent_commits_nothing(path: Path):
    store = SqliteStore.open(path)
    transaction = store.write(NAMESPACE)
    writer = transaction.__enter__()
    insert(writer, draft("in the parent"))

    def leave() -> str:
        with pytest.raises(apsw.AuthError):
            insert(writer, draft("in the child"))
        with pytest.raises(StoreClosed):
            transaction.__exit__(None, None, None)
        return "refused"

    assert Child(leave).result() == ("refused", 0)
    transaction.__exit__(None, None, None)
    assert [record.text for record in read_once(store).fetch(range(1, 9))] == ["in the parent"]
    assert [finding for finding in store.check() if finding.level == "problem"] == []
    store.close()


def test_a_store_in_memory_is_two_stores_after_a_fork():
    store = SqliteStore.open(None)
    remember(store, "before")
    assert Child(lambda: remember(store, "in the child").number).result() == (2, 0)
    assert remember(store, "in the parent").number == 2
    store.close()

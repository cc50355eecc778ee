"""What can be in the place of a store, and the one clear answer to each."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from store.behind import behind
from store.children import Child, give_away, unprivileged

from perdure.errors import (
    PerdureError,
    StoreBusy,
    StoreForeign,
    StoreNewer,
    StoreReadOnly,
    StoreUnreadable,
    StoreUnsafe,
)
from perdure.ids import parse_reference
from perdure.model import Filter
from perdure.store.port import Use
from perdure.store.sqlite.migrate import APPLICATION_ID
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.records import NAMESPACE, NOON, change, draft, insert, read_once, remember
from perdure.text.entry import entry_of


@contextmanager
def umask(mask: int) -> Generator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def make(path: Path) -> None:
    with closing(SqliteStore.open(path)) as store:
        remember(store, "tea")


def refusal(job: Callable[[], object]) -> tuple[str, str, str]:
    """The code, the sentence and the remedy of an error, in a form that survives a pipe."""
    try:
        job()
    except PerdureError as error:
        return error.code, error.sentence, error.remedy
    return "none", "", ""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mask", [0, 0o022, 0o077])
def test_a_new_store_is_for_its_owner_alone_whatever_the_umask(tmp_path: Path, mask: int):
    path = tmp_path / "deep" / "deeper" / "memory.db"
    with umask(mask), closing(SqliteStore.open(path)) as store:
        remember(store, "tea")
        assert mode(path) == mode(path.with_name("memory.db-wal")) == mode(path.with_name("memory.db-shm")) == 0o600
        assert mode(path.parent) == mode(path.parent.parent) == 0o700


def test_a_directory_that_is_there_already_keeps_its_permissions(tmp_path: Path):
    tmp_path.chmod(0o755)
    make(tmp_path / "memory.db")
    assert mode(tmp_path) == 0o755


def test_what_was_stored_is_there_when_the_store_is_opened_again(path: Path):
    make(path)
    with closing(SqliteStore.open(str(path))) as store:
        assert [record.text for record in read_once(store).fetch([1])] == ["tea"]
        assert store.stats(None).address == store.address == str(path)


def test_an_empty_file_becomes_a_store(path: Path):
    path.touch()
    make(path)


def test_a_link_to_a_store_is_refused_and_a_link_on_the_way_is_not(tmp_path: Path):
    make(tmp_path / "real" / "memory.db")
    (tmp_path / "link.db").symlink_to(tmp_path / "real" / "memory.db")
    (tmp_path / "dangling.db").symlink_to(tmp_path / "nowhere.db")
    (tmp_path / "way").symlink_to(tmp_path / "real")
    for name in ("link.db", "dangling.db"):
        with pytest.raises(StoreUnsafe, match="symbolic link"):
            SqliteStore.open(tmp_path / name)
    make(tmp_path / "way" / "memory.db")
    assert not (tmp_path / "nowhere.db").exists()


def test_a_directory_and_a_pipe_are_no_stores(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for name in (".", "pipe"):
        with pytest.raises(StoreUnreadable):
            SqliteStore.open(tmp_path / name)


@pytest.mark.parametrize("name", ["memory.db/child.db", "x" * 300, "nul\x00.db"])
def test_an_impossible_path_is_one_clear_error(tmp_path: Path, name: str):
    make(tmp_path / "memory.db")
    with pytest.raises(StoreUnreadable):
        SqliteStore.open(tmp_path / name)


@pytest.mark.parametrize("content", [b"not a database at all, but long enough to look at" * 100, b"short"])
def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(path: Path, content: bytes):
    path.write_bytes(content)
    with pytest.raises(StoreForeign):
        SqliteStore.open(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE theirs (x)",
        "PRAGMA application_id = 7",
        "PRAGMA user_version = 1",
        "PRAGMA application_id = 7; CREATE TABLE memory (x)",
    ],
)
def test_a_database_of_another_program_is_refused_and_left_as_it_is(path: Path, sql: str):
    with behind(path) as other:
        other.execute(sql).fetchall()
    content = path.read_bytes()
    with pytest.raises(StoreForeign):
        SqliteStore.open(path)
    assert path.read_bytes() == content


def test_a_store_of_a_newer_version_is_refused_and_left_as_it_is(path: Path):
    make(path)
    with behind(path) as other:
        other.pragma("user_version", 99)
    with pytest.raises(StoreNewer, match="schema 99"):
        SqliteStore.open(path)
    with behind(path) as other:
        assert (other.pragma("user_version"), other.pragma("application_id")) == (99, APPLICATION_ID)


def test_a_store_of_another_user_is_refused(commons: Path):
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to someone else")
    make(commons / "memory.db")
    (commons / "memory.db").chmod(0o666)
    code, sentence, _ = unprivileged(lambda: refusal(lambda: SqliteStore.open(commons / "memory.db")))
    assert (code, "another user" in sentence) == ("store_unsafe", True)


def test_a_new_store_in_a_read_only_directory_is_one_clear_error(commons: Path):
    give_away(commons)
    commons.chmod(0o555)
    for path in (commons / "memory.db", commons / "deep" / "memory.db"):
        code, sentence, remedy = unprivileged(lambda path=path: refusal(lambda: SqliteStore.open(path)))
        assert (code, "cannot be written" in sentence) == ("store_read_only", True)
        assert "write permission" in remedy


def test_a_store_in_a_closed_directory_or_without_read_permission_is_one_clear_error(commons: Path):
    path = commons / "private" / "memory.db"
    make(path)
    give_away(path)
    assert unprivileged(lambda: refusal(lambda: SqliteStore.open(path)))[0] == "store_unreadable"
    path.parent.chmod(0o755)
    path.chmod(0o000)
    assert unprivileged(lambda: refusal(lambda: SqliteStore.open(path)))[0] == "store_unreadable"


def test_a_store_in_a_read_only_directory_says_what_is_missing(commons: Path):
    path = commons / "memory.db"
    make(path)
    give_away(path, commons)
    commons.chmod(0o555)
    code, sentence, remedy = unprivileged(lambda: refusal(lambda: SqliteStore.open(path)))
    assert (code, "side files" in sentence, str(commons) in remedy) == ("store_read_only", True, True)


def test_a_read_only_file_is_read_and_searched_but_not_written(commons: Path):
    path = commons / "memory.db"
    make(path)
    path.chmod(0o400)
    give_away(path, commons)

    def use() -> object:
        with closing(SqliteStore.open(path)) as store:
            assert read_once(store).find(parse_reference(1))[0].text == "tea"
            assert len(read_once(store).keyword_search(["tea"], Filter(), NOON, 9).best) == 1
            store.note_use([Use(NAMESPACE, 1, 1, NOON, 0, None)])
            assert store.flush_use(patience=1) is False
            assert read_once(store).fetch([1])[0].recall_count == 1
            levels = {finding.check: finding.level for finding in store.check()}
            assert levels["full_text"] == "warning"
            assert "problem" not in levels.values()
            return refusal(lambda: remember(store, "coffee"))

    assert unprivileged(use)[0] == StoreReadOnly.code


def test_whoever_waits_longer_than_the_patience_gets_one_clear_error(path: Path):
    with closing(SqliteStore.open(path, busy_seconds=0.05)) as store, closing(SqliteStore.open(path)) as other:
        remember(store, "tea")
        with other.write(NAMESPACE), pytest.raises(StoreBusy):
            remember(store, "coffee")
        assert remember(store, "coffee").number == 2


def test_a_write_inside_a_write_is_a_mistake_of_the_program(store: SqliteStore):
    with pytest.raises(RuntimeError), store.write(NAMESPACE), store.write(NAMESPACE):
        pass
    with pytest.raises(RuntimeError), store.write(NAMESPACE):
        store.close()
    assert remember(store, "tea").number == 1


def test_a_writer_is_of_no_use_once_its_transaction_has_ended(store: SqliteStore):
    with store.write(NAMESPACE) as writer:
        record = insert(writer, draft("tea"))
    for use in (lambda: writer.by_number(1), lambda: writer.put(record, change(), entry_of(record))):
        with pytest.raises(RuntimeError, match="ended"):
            use()
    assert len(read_once(store).revisions(1)) == 1


def test_many_processes_can_make_the_same_store_at_once(path: Path):
    def use() -> int:
        with closing(SqliteStore.open(path)) as store:
            return remember(store, "tea").number

    children = [Child(use) for _ in range(6)]
    assert sorted(child.result()[0] for child in children) == [1, 2, 3, 4, 5, 6]


def test_a_program_that_we_start_inherits_no_descriptor_of_the_store(store: SqliteStore):
    remember(store, "tea")
    ours = [each for each in Path("/proc/self/fd").iterdir() if each.exists() and "memory.db" in str(each.readlink())]
    assert ours
    assert not any(os.get_inheritable(int(each.name)) for each in ours)


def test_the_settings_that_promises_rest_on_are_set(store: SqliteStore):
    remember(store, "tea")
    expected = {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "secure_delete": 1,
        "trusted_schema": 0,
        "cell_size_check": 1,
        "mmap_size": 0,
        "journal_size_limit": 64 * 1024 * 1024,
        "application_id": 0x50657264,
    }
    with store._pool.writing() as writer:
        assert {name: writer.pragma(name) for name in expected} == expected
    with store._pool.reading() as reader:
        assert reader.pragma("query_only") == 1
        assert {name: reader.pragma(name) for name in expected} == expected

"""A path that does not exist: only commands that store memories make a store there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from perdure import Memory
from perdure.errors import StoreMissing
from perdure.services import remove_unused_store
from perdure.settings import load

if TYPE_CHECKING:
    from cli.user import User

READING = (
    ("list",), ("recall", "tea"), ("show", "1"), ("context", "tea"), ("stats",), ("export", "-"),
    ("log",), ("work",), ("capacity",), ("forget", "1"), ("undo", "--yes"), ("summarize",), ("triggers", "tea"),
    ("checkpoint", "create", "now"),
)  # fmt: skip


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_a_command_that_stores_nothing_makes_no_store(newcomer: User, store: Path, words: tuple[str, ...]):
    answer = newcomer.fails(5, *words)
    assert f"There is no store at {store}." in answer.err
    assert not list(store.parent.iterdir())


def test_directories_on_the_way_are_not_made_either(newcomer: User, tmp_path: Path):
    newcomer.fails(5, "list", "--store", str(tmp_path / "no" / "such" / "typo.db"))
    assert not (tmp_path / "no").exists()


def test_a_backup_of_nothing_fails(newcomer: User, tmp_path: Path):
    newcomer.fails(5, "backup", str(tmp_path / "x.bak"), "--store", str(tmp_path / "typo.db"))
    assert not list(tmp_path.iterdir())


def test_the_error_names_the_store_that_was_meant(newcomer: User, store: Path):
    newcomer.done("remember", "Alice likes tea")
    answer = newcomer.fails(5, "list", "--store", str(store.with_name("memroy.db")))
    assert f"Did you mean {store}?" in answer.err


@pytest.mark.parametrize("words", [("remember", "tea"), ("upsert", "drink:alice", "tea")], ids=" ".join)
def test_a_command_that_stores_makes_a_store_and_says_so(newcomer: User, store: Path, words: tuple[str, ...]):
    assert f"new store: {store}" in newcomer.done(*words).err
    assert "new store" not in newcomer.done(*words).err


def test_json_stays_one_document_when_a_store_is_made(newcomer: User):
    answer = newcomer.done("remember", "tea", "--json")
    assert answer.json["record"]["number"] == 1
    assert answer.err == ""


def test_a_memory_may_be_opened_only_if_it_is_there(tmp_path: Path):
    with pytest.raises(StoreMissing):
        Memory(tmp_path / "memory.db", create=False)
    assert not list(tmp_path.iterdir())
    Memory(tmp_path / "memory.db").close()
    with Memory(tmp_path / "memory.db", create=False) as memory:
        assert memory.remember("tea").record.number == 1


def test_an_empty_file_becomes_a_store_for_its_owner_alone(tmp_path: Path):
    path = tmp_path / "memory.db"
    path.touch(0o644)
    path.chmod(0o644)
    with Memory(path, embedder="none") as memory:
        memory.remember("tea")
        modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    assert set(modes.values()) == {0o600}, modes


REFUSED = (
    ("remember", ""), ("remember", "tea", "--importance", "5"), ("upsert", "drink:alice", ""), ("import", "bad.csv"),
)  # fmt: skip


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_a_first_write_that_is_refused_leaves_no_store(
    newcomer: User, store: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(store.parent)
    table = store.with_name("bad.csv")
    table.write_text("text,tier\ntea,\nmilk,nope\n", encoding="utf-8")
    assert "new store" not in newcomer.fails(2, *words).err
    assert list(store.parent.iterdir()) == [table]
    assert f"new store: {store}" in newcomer.done("remember", "tea").err


def test_a_first_write_that_fails_half_way_says_that_there_is_a_store_now(newcomer: User, store: Path):
    answer = newcomer("remember", "--lines", stdin=b"tea\n\xff\n")
    assert (answer.code, answer.out) == (2, "Remembered #1  tea\n")
    assert f"new store: {store}" in answer.err
    assert newcomer.done("list").out.endswith("tea\n")


def test_a_store_that_somebody_else_has_open_is_not_removed(newcomer: User, store: Path, tmp_path: Path):
    first, other = tmp_path / "first.db", Memory(store, embedder="none")
    with other:
        assert not remove_unused_store(load(store=str(store)))
        assert other.remember("tea").record.number == 1
    assert not remove_unused_store(load(store=str(store)))
    Memory(first, embedder="none").close()
    assert remove_unused_store(load(store=str(first)))
    assert {path.name.split(".")[0] for path in tmp_path.iterdir()} == {"memory"}
    assert newcomer.done("list").out.endswith("tea\n")


def test_a_store_beside_which_somebody_keeps_tokens_is_not_removed(newcomer: User, store: Path):
    newcomer.done("token", "create", "phone")
    newcomer.fails(2, "remember", "")
    assert "phone" in newcomer.done("token", "list").out

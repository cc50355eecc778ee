"""What one command wrote is one batch, which one undo takes back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from perdure import Memory

if TYPE_CHECKING:
    from cli.user import User


def test_all_lines_of_one_call_are_undone_together(user: User):
    user.done("remember", "--lines", stdin="one\ntwo\nthree\n")
    assert len({entry["change"]["batch"] for entry in user.done("log", "--json").json["revisions"]}) == 1
    user.done("undo", "--yes")
    assert user.done("list", "--json").json["records"] == []


def test_a_bad_line_is_named_with_what_was_stored_before_it(user: User):
    answer = user("remember", "--lines", stdin=b"one\ntwo\n\xff\nfour\n")
    assert answer.code == 2
    assert "Line 3 of standard input is not UTF-8 text" in answer.err
    assert "The 2 before it are stored; take them back: perdure undo " in answer.err
    assert "nothing was changed" not in answer.err
    assert len(user.done("list", "--json").json["records"]) == 2


def test_a_first_line_that_is_bad_changed_nothing(user: User):
    answer = user.fails(2, "remember", "--lines", stdin=b"\xff\n")
    assert "Line 1" in answer.err
    assert "nothing was changed" in answer.err


def test_python_makes_one_batch_of_several_calls(tmp_path: Path):
    with Memory(tmp_path / "memory.db", embedder="none") as memory:
        memory.remember("before")
        with memory.batch() as batch:
            assert memory.remember("one").batch == batch
            assert memory.upsert("a:b", "two").batch == batch
            memory.forget(1)
        assert memory.remember("after").batch != batch
        memory.undo(batch)
        assert [record.text for record in memory.list()] == ["after", "before"]


def test_a_batch_belongs_to_the_memory_that_opened_it(tmp_path: Path):
    ours, theirs = Memory(tmp_path / "a.db", embedder="none"), Memory(tmp_path / "b.db", embedder="none")
    with ours, theirs, ours.batch() as batch:
        assert theirs.remember("one").batch != batch
        assert ours.namespace("other").remember("two").batch == batch


def test_a_session_is_undone_however_it_was_named(user: User):
    user.done("remember", "one", "--session-id", "s1")
    user.done("remember", "two", PERDURE_SESSION="s1")
    user.done("remember", "three")
    user.done("undo", "--session", "s1", "--yes")
    assert [record["text"] for record in user.done("list", "--json").json["records"]] == ["three"]

"""What the command line says about a memory that is said again, restored with others, or imported half."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from perdure.cli.progress import Bar

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from cli.user import User


def test_several_memories_are_restored_by_one_call_and_one_undo_takes_them_back(user: User):
    for text in ("one", "two", "three"):
        user.done("remember", text)
    user.done("forget", "1", "2", "3")
    restored = user.done("restore", "1", "2", "3", "--json").json
    assert [record["number"] for record in restored["restored"]] == [1, 2, 3]
    assert {line["change"]["batch"] for line in user.done("log", "--limit", "3", "--json").json["revisions"]} == {
        restored["batch"]
    }
    user.done("undo", "--yes")
    assert user.done("list", "--json").json["records"] == []


def test_if_one_cannot_be_restored_none_is_and_an_erased_one_is_named(user: User):
    for text in ("one", "two"):
        user.done("remember", text)
    user.done("forget", "1", "2")
    user.done("erase", "2", "--yes")
    assert "Memory #2 was erased; nothing of it is left to restore." in user.fails(3, "restore", "1", "2").err
    assert user.done("list", "--json").json["records"] == []


def test_a_restore_beside_a_twin_is_refused_with_its_number(user: User):
    user.done("remember", "one")
    user.done("forget", "1")
    user.done("remember", "one")
    error = user.fails(4, "restore", "1").err
    assert "Memory #2 says the same" in error
    assert "perdure forget 2" in error


def test_history_and_log_show_where_it_was_said_again(user: User):
    user.done("remember", "Use tabs", "--source-project", "a")
    again = user.done("remember", "Use tabs", "--source-project", "b", "--metadata", "speaker=Bob")
    assert "It keeps its own source_project (a), speaker (none)" in again.err + again.out
    for words in (("history", "1"), ("log",)):
        assert "said again: source_project b, speaker Bob" in user.screen(*words)
        revisions = user.done(*words, "--json").json["revisions"]
        told = [revision["change"]["provenance"] for revision in revisions if revision["change"]["provenance"]]
        assert told == [{"source_project": "b", "speaker": "Bob"}]
    assert "said again: source_project b, speaker Bob" in user.done("history", "1").out


def test_update_has_no_option_for_where_a_memory_comes_from(user: User):
    user.done("remember", "Use tabs", "--spec-folder", "001")
    assert "No such option" in user.fails(2, "update", "1", "--spec-folder", "002").err
    assert "cannot be cleared" in user.fails(2, "update", "1", "--clear", "spec_folder").err


def test_ctrl_c_in_an_import_says_how_many_are_stored_and_both_ways_on(
    user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "many.jsonl"
    file.write_text("".join(json.dumps({"text": f"note {number}"}) + "\n" for number in range(300)), encoding="utf-8")

    def interrupt(_: Bar, done: int, _total: int | None) -> None:
        if done > 128:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Bar, "__call__", interrupt)
        error = user.fails(130, "import", str(file)).err
    assert "error: Interrupted." in error
    assert "256 of 300 records were imported. Import again to go on, or take them back: perdure undo" in error
    assert "44 new" in user.done("import", str(file)).out
    user.done("undo", error.split()[-1])
    assert len(user.done("list", "--limit", "100", "--json").json["records"]) == 44


def test_an_import_that_was_undone_can_be_imported_again(user: User):
    line = json.dumps({"text": "tea"})
    user.done("import", "-", stdin=line)
    user.done("undo", "--yes")
    assert "Imported 1: 1 new" in user.done("import", "-", "--trusted", stdin=line).out


def test_an_import_into_a_full_namespace_names_what_had_to_go(user: User):
    user.done("remember", "old")
    user.done("capacity", "--max-items", "1")
    assert "Evicted #1 to make room" in user.done("import", "-", stdin=json.dumps({"text": "new"})).err

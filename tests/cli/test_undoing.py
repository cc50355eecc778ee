from __future__ import annotations

import json
import os
import shlex
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from cli.user import User


@pytest.fixture
def known(user: User):
    user.done("remember", "Alice prefers dark mode", "--tag", "ui")
    user.done("remember", "tea in the morning")
    return user


def batch(user: User) -> str:
    return user.done("update", "1", "--text", "Alice prefers light mode", "--json").json["batch"]


def text(user: User, number: int = 1) -> str:
    return user.done("show", str(number), "--json").json["text"]


def go_ahead(said: str) -> list[str]:
    """The command that a refusal names."""
    return shlex.split(said.split("Go ahead: perdure ")[1])


# -- undo ------------------------------------------------------------------------------------------------------------


def test_undo_takes_a_batch_back_and_says_how_to_take_that_back(known: User, store: Path):
    answer = known.done("undo", batch(known), "-s", str(store))
    assert answer.rows == [["reverted", "1"]]
    assert text(known) == "Alice prefers dark mode"
    words = answer.err.strip().removeprefix("take it back: perdure ").split()
    assert words[:1] == ["undo"]
    known.done(*words)
    assert text(known) == "Alice prefers light mode"


def test_the_eight_characters_that_the_log_shows_on_a_screen_will_do(known: User):
    made = batch(known)
    shown = known.screen("log").split()[0]
    assert made.endswith(shown)
    assert len(shown) == 8
    known.done("undo", shown)
    assert text(known) == "Alice prefers dark mode"


def test_undo_on_a_screen_is_a_sentence(known: User):
    made = known.done("remember", "coffee", "--json").json["batch"]
    assert known.screen("undo", made) == "Removed 1 memory: #3\n"
    assert known.screen("undo", batch(known), "--dry-run") == "Would put 1 memory back as it was: #1\n"
    assert text(known) == "Alice prefers light mode"


def test_undo_in_json_is_the_answer_of_the_library(known: User):
    answer = known.done("undo", batch(known), "--json").json
    assert answer["done"]
    assert (answer["reverted"], answer["removed"], answer["skipped"], answer["notes"]) == ([1], [], [], [])


def test_the_last_change_is_undone_without_naming_it_when_it_is_confirmed(known: User):
    batch(known)
    answer = known.fails(4, "undo")
    assert "Your last change was to update #1, just now." in answer.err
    assert text(known) == "Alice prefers light mode"
    known.done(*go_ahead(answer.err))
    assert text(known) == "Alice prefers dark mode"
    known.done("undo", "--yes")
    assert text(known) == "Alice prefers light mode"


def test_the_last_change_is_one_s_own(known: User):
    batch(known)
    known.done("remember", "by somebody else", PERDURE_ACTOR="bob")
    known.done("undo", "-y")
    assert text(known) == "Alice prefers dark mode"
    known.fails(2, "undo", "-y", PERDURE_ACTOR="nobody")


def test_a_session_is_undone_when_it_is_confirmed(known: User):
    known.done("remember", "a lie", PERDURE_SESSION="night")
    known.done("update", "2", "--text", "another", PERDURE_SESSION="night")
    assert "done to 2 memories would be taken back" in known.fails(4, "undo", "--session", "night").err
    failure = json.loads(known.fails(4, "undo", "--session", "night", "--json").err)
    assert (failure["preview"]["reverted"], failure["preview"]["removed"]) == ([2], [3])
    assert known.done("undo", "--session", "night", "--dry-run").rows == [["reverted", "2"], ["removed", "3"]]
    asked = known.fails(4, "undo", "--session", "night", "--since", "1h")
    assert known.done(*go_ahead(asked.err)).rows == [["reverted", "2"], ["removed", "3"]]
    assert text(known, 2) == "tea in the morning"


def test_an_actor_is_undone_since_a_moment(known: User):
    assert known.done("undo", "--actor", "ana", "--since", "1h", "--dry-run").rows == [
        ["removed", "1"],
        ["removed", "2"],
    ]
    known.done("undo", "--actor", "ana", "--since", "tomorrow", "--yes")
    assert len(known.done("list").rows) == 2


def test_a_change_since_is_a_conflict_that_force_overrules(known: User):
    first = batch(known)
    known.done("update", "1", "--add-tag", "x")
    assert "Changed since: #1 (annotate by ana)." in known.fails(4, "undo", first).err
    known.done("undo", first, "--force")
    assert text(known) == "Alice prefers dark mode"


def test_an_unknown_batch_is_not_found_and_wrong_combinations_are_wrong_use(known: User):
    known.fails(3, "undo", "01930f7e-6d2a-7c31-9f6e-2b7f0a4c9d11")
    known.fails(2, "undo", "01930f7e", "--session", "night")
    known.fails(2, "undo", "--session", "a", "--actor", "b", "--yes")
    assert "--since narrows" in known.fails(2, "undo", "--since", "2h", "--yes").err


def test_a_session_that_wrote_nothing_is_said_to_have_written_nothing_and_not_asked_about(known: User):
    answer = known.done("undo", "--session", "nobody")
    assert (answer.out, "wrote nothing here" in answer.err) == ("", True)
    assert known.done("undo", "--session", "nobody", "--json").json["done"] is False


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX terminal")
@pytest.mark.parametrize(("answer", "expected"), [("y", "Alice prefers dark mode"), ("n", "Alice prefers light mode")])
def test_on_a_terminal_it_asks(known: User, answer: str, expected: str):
    import pty

    batch(known)
    leader, follower = pty.openpty()
    process = known.start("undo", stdin=follower, environment={"TERM": "xterm"})
    os.write(leader, f"{answer}\n".encode())
    _, err = process.communicate(timeout=60)
    os.close(leader)
    os.close(follower)
    assert process.returncode == 0, err
    assert b"Take it back? [y/N]" in err
    assert text(known) == expected


# -- checkpoint ------------------------------------------------------------------------------------------------------


def test_a_checkpoint_is_made_listed_restored_and_deleted(known: User, store: Path):
    made = known.done("checkpoint", "create", "before", "--description", "try", "-s", str(store))
    assert made.out == "Checkpoint before of default: 2 memories\n"
    assert made.err == f"come back to it: perdure checkpoint restore before --store {store}\n"
    (row,) = known.done("checkpoint", "list").rows
    assert (row[0], row[2:]) == ("before", ["default", "2", "ana", "try"])
    batch(known)
    known.done("remember", "younger")
    kept = known.done("checkpoint", "restore", "before", "--yes")
    assert kept.rows == [["reverted", "1"]]
    assert "--clear-existing would remove" in kept.err.replace(") ", " ")
    assert known.done("checkpoint", "restore", "before", "--clear-existing", "--yes").rows == [["removed", "3"]]
    assert "nothing to restore" in known.done("checkpoint", "restore", "before", "--clear-existing").err
    assert known.done("checkpoint", "delete", "before").out.startswith("Deleted the checkpoint before")
    known.fails(3, "checkpoint", "restore", "before")
    assert "no checkpoint here yet" in known.done("checkpoint", "list").err


def test_a_restore_can_be_undone_from_the_command_line(known: User):
    known.done("checkpoint", "create", "before")
    batch(known)
    answer = known.done("checkpoint", "restore", "before", "--yes", "--json").json
    assert text(known) == "Alice prefers dark mode"
    known.done("undo", answer["batch"])
    assert text(known) == "Alice prefers light mode"


def test_in_a_pipe_a_restore_waits_for_a_yes_and_says_how(known: User):
    known.done("checkpoint", "create", "before")
    batch(known)
    waiting = known.fails(4, "checkpoint", "restore", "before")
    assert "1 memory would become what it was at the checkpoint." in waiting.err
    failure = json.loads(known.fails(4, "checkpoint", "restore", "before", "--json").err)
    assert (failure["code"], failure["preview"]["reverted"]) == ("needs_confirmation", [1])
    assert text(known) == "Alice prefers light mode"
    known.done(*shlex.split(waiting.err.split("Go ahead: perdure ")[1]))
    assert text(known) == "Alice prefers dark mode"


@pytest.mark.parametrize(("key", "word"), [(b"y\n", "dark"), (b"n\n", "light")])
def test_on_a_terminal_a_restore_asks(known: User, key: bytes, word: str):
    known.done("checkpoint", "create", "before")
    batch(known)
    code, _, err = known.on_a_terminal(key, "checkpoint", "restore", "before")
    assert (code, "Make 1 memory what it was at the checkpoint? [y/N]" in err) == (0, True)
    assert text(known) == f"Alice prefers {word} mode"


def test_a_dry_run_of_a_restore_changes_nothing(known: User):
    known.done("checkpoint", "create", "before")
    batch(known)
    assert known.screen("checkpoint", "restore", "before", "--dry-run") == "Would put 1 memory back as it was: #1\n"
    assert text(known) == "Alice prefers light mode"


def test_checkpoints_of_folders_and_of_everything_are_told_apart(known: User):
    known.done("remember", "in a folder", "--spec-folder", "specs/auth")
    known.done("checkpoint", "create", "auth", "--spec-folder", "specs/auth", "--metadata", "ticket=7")
    known.done("checkpoint", "create", "all", "--all-namespaces")
    rows = known.done("checkpoint", "list").rows
    assert [(row[0], row[2], row[3]) for row in rows] == [
        ("all", "everything", "3"),
        ("auth", "default, specs/auth", "1"),
    ]
    only = known.done("checkpoint", "list", "--spec-folder", "specs/auth", "--json").json["checkpoints"]
    assert [(one["name"], one["metadata"]) for one in only] == [("auth", {"ticket": 7})]


def test_checkpoints_on_a_screen_are_a_table(known: User):
    known.done("checkpoint", "create", "before", "--description", "\x1b[31mred\x1b[0m")
    page = known.screen("checkpoint", "list", NO_COLOR="1")
    assert "before" in page
    assert "\x1b[31m" not in page


def test_a_name_that_is_taken_is_a_conflict(known: User):
    known.done("checkpoint", "create", "before")
    assert "There is a checkpoint 'before' already." in known.fails(4, "checkpoint", "create", "before").err
    known.fails(2, "checkpoint", "create", "x" * 201)
    known.fails(2, "checkpoint", "create")

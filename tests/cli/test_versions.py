"""Versions, differences, the log and upsert, as a user at the command line meets them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cli.user import User


@pytest.fixture
def moved(user: User) -> User:
    user.done("upsert", "person:alice", "Alice lives in Osaka", "--tag", "home")
    user.done("upsert", "person:alice", "Alice lives in Tokyo", "--importance", "0.9", PERDURE_SESSION="tuesday")
    return user


# -- upsert --------------------------------------------------------------------------------------------------------


def test_upsert_stores_under_a_key_and_then_makes_new_versions(user: User):
    assert user.done("upsert", "person:alice", "Lives in Osaka").out == "Remembered #1  Lives in Osaka\n"
    answer = user.done("upsert", "person:alice", "Lives", "in", "Tokyo", "--tag", "home")
    assert answer.out == "Updated #1, now version 2  Lives in Tokyo\n"
    shown = user.done("show", "person:alice", "--json").json
    assert (shown["version"], shown["tags"], shown["key"]) == (2, ["home"], "person:alice")


def test_upsert_reads_its_text_from_a_pipe(user: User):
    assert user.done("upsert", "doc:readme", "-", stdin="From a pipe\n").out == "Remembered #1  From a pipe\n"


def test_upsert_has_no_second_way_to_name_the_key(user: User):
    assert "No such option '--key'" in user.fails(2, "upsert", "a:b", "Text", "--key", "c:d").err


def test_a_version_that_was_not_expected_is_a_conflict_that_says_the_version(moved: User):
    answer = moved.fails(4, "upsert", "person:alice", "Lives in Kyoto", "--expected-version", "1")
    assert "person:alice has version 2 now, not 1." in answer.err
    failure = json.loads(moved.fails(4, "upsert", "person:alice", "x", "--expected-version", "0", "--json").err)
    assert failure["code"] == "version_conflict"
    assert moved.done("upsert", "person:alice", "Lives in Kyoto", "--expected-version", "2").code == 0


def test_a_key_of_another_form_is_refused_with_an_example(user: User):
    assert "person:alice" in user.fails(2, "upsert", "alice", "Lives in Osaka").err


def test_a_forgotten_text_that_is_said_again_gets_a_note(user: User):
    user.done("remember", "Alice lives in Osaka")
    user.done("forget", "1")
    assert "it is remembered again" in user.done("remember", "Alice lives in Osaka").err


def test_what_had_to_make_room_is_named_beside_the_answer(user: User):
    user.done("remember", "The first note")
    answer = user.done("remember", "The second note", PERDURE_MAX_ITEMS="1")
    assert answer.out == "Remembered #2  The second note\n"
    assert answer.err == "Evicted #1 to make room  The first note\n"
    back = user.done("restore", "1", PERDURE_MAX_ITEMS="1")
    assert (back.out, back.err) == ("Restored #1  The first note\n", "Evicted #2 to make room  The second note\n")
    again = user.done("restore", "2", "--json", PERDURE_MAX_ITEMS="1").json
    assert [record["number"] for record in again["evicted"]] == [1]


# -- versions, version, diff ---------------------------------------------------------------------------------------


def test_versions_lists_them_with_what_each_was_made_from(moved: User):
    rows = moved.done("versions", "person:alice").rows
    assert [(row[0], row[1], row[2], row[3], row[5]) for row in rows] == [
        ("1", "", "", "ana", "Alice lives in Osaka"),
        ("2", "current", "1", "ana", "Alice lives in Tokyo"),
    ]
    screen = moved.screen("versions", "1")
    assert "made from" in screen
    assert "current" in screen
    found = moved.done("versions", "1", "--json").json["versions"]
    assert [one["lineage"] for one in found] == [[], [1]]


def test_a_version_is_shown_with_all_its_fields(moved: User):
    fields = dict(row[:2] for row in moved.done("version", "person:alice", "1").rows)
    assert (fields["text"], fields["version"], fields["importance"]) == ("Alice lives in Osaka", "1", "0.5")
    screen = moved.screen("version", "1", "2")
    assert "#1 version 2, the current one, made from 1; by ana" in screen
    assert "Alice lives in Tokyo" in screen
    answer = moved.done("version", "1", "1", "--json").json
    assert (answer["record"]["text"], answer["current"]) == ("Alice lives in Osaka", False)


def test_a_version_that_is_not_there_is_not_found(moved: User):
    assert "has no version 7" in moved.fails(3, "version", "1", "7").err
    moved.fails(2, "version", "1", "first")


def test_diff_marks_the_words_and_names_the_fields(moved: User):
    assert moved.done("diff", "1").rows == [
        ["text", "Alice lives in Osaka", "Alice lives in Tokyo"],
        ["importance", "0.5", "0.9"],
    ]
    screen = moved.screen("diff", "person:alice")
    assert "Alice lives in [-Osaka-]{+Tokyo+}" in screen
    assert "importance: 0.5 → 0.9" in screen
    coloured = moved.screen("diff", "1", FORCE_COLOR="1")
    assert "\x1b[31m[-Osaka-]\x1b[0m\x1b[32m{+Tokyo+}\x1b[0m" in coloured
    answer = moved.done("diff", "1", "2", "1", "--json").json
    assert (answer["before"]["version"], answer["after"]["version"]) == (2, 1)
    assert answer["text_diff"][1] == {"kind": "removed", "text": "Tokyo"}


def test_versions_that_say_the_same_have_no_difference(user: User):
    for _ in range(2):
        user.done("upsert", "a:b", "The same")
    answer = user.done("diff", "a:b")
    assert (answer.out, answer.err) == ("", "The two versions say the same.\n")


def test_a_text_cannot_steer_the_terminal_through_versions_or_diff(user: User):
    user.done("upsert", "a:b", "One \x1b[31mred")
    user.done("upsert", "a:b", "Two \x1b]0;title\x07")
    for words in (("versions", "1"), ("version", "1", "1"), ("diff", "1"), ("log",)):
        assert "\x1b" not in user.screen(*words, NO_COLOR="1").replace("\x1b[0m", "").replace("\x1b[2m", "")
        assert "\x1b" not in user.done(*words).out


# -- history and log -----------------------------------------------------------------------------------------------


def test_the_history_of_an_erased_memory_tells_when_but_not_what(moved: User):
    moved.done("erase", "1", "--yes")
    rows = moved.done("history", "1").rows
    assert [(row[2], row[7]) for row in rows] == [
        ("insert", "(erased)"),
        ("update", "(erased)"),
        ("erase", "(erased)"),
    ]
    assert "erase" in moved.screen("history", "1")
    assert "was erased" in moved.fails(3, "version", "1", "1").err


def test_the_history_of_what_was_not_kept_says_so(user: User):
    user.done("upsert", "a:b", "One")
    user.done("upsert", "a:b", "Two", PERDURE_VERSIONING="false")
    assert [row[7] for row in user.done("history", "1").rows] == ["(not kept)", "Two; key: a:b"]


def test_the_log_has_one_line_for_each_change_newest_first(moved: User):
    moved.done("forget", "1")
    rows = moved.done("log").rows
    assert [(row[0], row[2], row[3], row[5], row[7]) for row in rows] == [
        ("3", "forget", "1", "ana", ""),
        ("2", "update", "1", "ana", "tuesday"),
        ("1", "insert", "1", "ana", ""),
    ]
    screen = moved.screen("log")
    assert all(row[1][-8:] in screen for row in rows)
    assert [line.split()[1:] for line in screen.splitlines()[2:4]] == [
        ["ana", "·", "tuesday", "·", "just", "now"],
        ["update", "#1", "Alice", "lives", "in", "Tokyo"],
    ]


def test_the_log_names_a_call_once_above_all_that_it_did(user: User):
    for text in ("Tea in the morning", "Coffee at noon"):
        user.done("remember", text)
    user.done("forget", "1", "2")
    screen = user.screen("log", "--operation", "forget", COLUMNS="80", NO_COLOR="1").splitlines()
    assert [line.strip() for line in screen[1:]] == [
        "4  forget    #2  Coffee at noon",
        "3  forget    #1  Tea in the morning",
    ]
    assert screen[0].endswith("  ana · just now")


def test_the_log_in_json_says_where_it_goes_on(moved: User):
    page = moved.done("log", "--limit", "1", "--json").json
    assert (page["revisions"][0]["seq"], page["next"]) == (2, 2)
    assert moved.done("log", "--before", str(page["next"]), "--json").json["next"] is None


def test_a_batch_from_the_log_can_be_undone(moved: User):
    batch = moved.done("log", "--limit", "1").rows[0][1]
    moved.done("undo", batch)
    assert moved.done("show", "1", "--json").json["text"] == "Alice lives in Osaka"


def test_the_log_can_be_narrowed_and_paged(moved: User):
    batch = moved.done("log", "--operation", "update", "--json").json["revisions"][0]["change"]["batch"]
    for words in (("--session", "tuesday"), ("--operation", "update"), ("--batch", batch)):
        assert [row[0] for row in moved.done("log", *words).rows] == ["2"]
    assert moved.done("log", "--actor", "eve").err == "Nothing of that kind has happened here.\n"
    answer = moved.done("log", "--limit", "1", "--since", "1d")
    assert "more: perdure log --before 2 --limit 1 --since" in answer.err
    assert [row[0] for row in moved.done("log", "--before", "2").rows] == ["1"]
    assert "There is no operation" in moved.fails(2, "log", "--operation", "explode").err


def test_the_versions_of_what_was_erased_hint_at_no_difference(moved: User):
    moved.done("erase", "1", "--yes")
    assert moved.done("versions", "1").err == ""


# -- import --------------------------------------------------------------------------------------------------------


def test_an_old_export_brings_nothing_back_unless_it_is_revived(user: User, tmp_path: Path):
    file = str(tmp_path / "out.jsonl")
    user.done("remember", "Alice lives in Osaka")
    user.done("export", file)
    user.done("forget", "1")
    answer = user.done("import", file)
    assert answer.out == "Imported 0: 0 new, 0 updated, 0 known.\n"
    assert "1 record skipped" in answer.err
    assert user.done("import", file, "--json").json["skipped_deleted"] == 1
    assert user.done("import", file, "--revive").out == "Imported 1: 1 new, 0 updated, 0 known.\n"

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cli.user import User


@pytest.fixture
def known(user: User):
    user.done("remember", "Alice prefers dark mode", "--tag", "ui", "--metadata", "a=1", "--expires-at", "9d")
    return user


def record(user: User):
    return user.done("show", "1", "--json").json


def test_a_correction_is_a_new_version(known: User):
    assert known.done("update", "1", "--text", "Alice prefers light mode").out == (
        "Updated #1, now version 2, expires in 9 days  Alice prefers light mode\n"
    )
    assert record(known)["version"] == 2


def test_a_new_tag_is_a_revision_of_the_same_version(known: User):
    assert "still version 1" in known.done("update", "1", "--add-tag", "theme", "--remove-tag", "ui").out
    assert record(known)["tags"] == ["theme"]


def test_tag_replaces_all_tags(known: User):
    known.done("update", "1", "--tag", "x", "--add-tag", "y")
    assert record(known)["tags"] == ["x", "y"]


def test_metadata_entries_are_added_to_those_there(known: User):
    known.done("update", "1", "--metadata", "b=2")
    assert record(known)["metadata"] == {"a": 1, "b": 2}
    known.done("update", "1", "--clear", "metadata")
    assert record(known)["metadata"] == {}


def test_a_field_cannot_be_cleared_and_given_at_once(known: User):
    known.fails(2, "update", "1", "--clear", "metadata", "--metadata", "c=3")


def test_a_field_can_be_cleared(known: User):
    known.done("update", "1", "--clear", "expires_at", "--clear", "tags")
    assert (record(known)["expires_at"], record(known)["tags"]) == (None, [])


def test_a_field_that_cannot_be_empty_is_not_cleared(known: User):
    assert "cannot be cleared" in known.fails(2, "update", "1", "--clear", "text").err


def test_new_text_can_be_piped_in(known: User):
    known.done("update", "1", "--text", "-", stdin="From a pipe\n")
    assert record(known)["text"] == "From a pipe"


def test_an_update_that_names_nothing_is_refused(known: User):
    assert "Nothing to change was named." in known.fails(2, "update", "1").err


def test_an_update_to_what_it_says_already_leaves_it(known: User):
    assert known.done("update", "1", "--text", "Alice prefers dark mode").out.startswith("#1 unchanged")


def test_forget_says_how_to_take_it_back_and_that_works(known: User, store: Path):
    answer = known.done("forget", "1", "-s", str(store))
    assert answer.out == "Forgot #1  Alice prefers dark mode\n"
    assert answer.err == f"take it back: perdure restore 1 --store {store}\n"
    assert known.done("recall", "dark mode").out == ""
    assert known.done("restore", "1").out == "Restored #1  Alice prefers dark mode\n"
    assert "dark mode" in known.done("recall", "dark mode").out


def test_if_one_cannot_be_restored_none_is(known: User):
    known.done("remember", "Tea in the morning")
    known.done("forget", "1")
    assert "#2 is active" in known.fails(4, "restore", "1", "2").err
    known.fails(3, "restore", "1", "99")
    known.fails(3, "show", "1")
    known.done("erase", "2", "--yes")
    assert "#2 was erased" in known.fails(3, "restore", "1", "2").err


def test_several_are_forgotten_and_restored_at_once(known: User):
    known.done("remember", "two", "--key", "a:two")
    forgotten = known.done("forget", "1", "a:two", "#1", "--json").json["records"]
    assert [(one["number"], one["state"]) for one in forgotten] == [(1, "deleted"), (2, "deleted")]
    restored = known.done("restore", "1", "2", "--json").json["restored"]
    assert [(one["number"], one["state"]) for one in restored] == [(1, "active"), (2, "active")]


def test_when_one_reference_is_wrong_nothing_is_forgotten(known: User):
    known.fails(3, "forget", "1", "99")
    assert record(known)["state"] == "active"


def test_forgetting_twice_and_restoring_twice_are_conflicts(known: User):
    known.done("forget", "1")
    known.fails(4, "forget", "1")
    known.done("restore", "1")
    known.fails(4, "restore", "1")


def test_update_in_json_answers_like_remember(known: User):
    answer = known.done("update", "1", "--title", "Theme", "--json")
    assert answer.json["outcome"] == "updated"
    assert answer.json["record"]["title"] == "Theme"

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from perdure.errors import EmbedderUnavailable

if TYPE_CHECKING:
    from cli.user import User


def test_a_memory_gets_a_number_that_show_accepts(user: User):
    assert user.done("remember", "Alice prefers dark mode").out == "Remembered #1  Alice prefers dark mode\n"
    assert user.done("show", "1", "--json").json["text"] == "Alice prefers dark mode"


def test_unquoted_words_are_one_text(user: User):
    user.done("remember", "Alice", "prefers", "dark", "mode", "--tag", "ui")
    assert user.done("show", "#1", "--json").json["text"] == "Alice prefers dark mode"


@pytest.mark.parametrize("words", [(), ("-",)], ids=["no text", "a dash"])
def test_piped_text_is_remembered_without_its_last_line_break(user: User, words: tuple[str, ...]):
    user.done("remember", *words, stdin="first line\nsecond line\n")
    assert user.done("show", "1", "--json").json["text"] == "first line\nsecond line"


def test_every_field_can_be_given_on_the_command_line(user: User):
    given = {
        "key": "person:alice", "title": "Theme", "abstract": "One sentence.", "summary": "More of it.",
        "reasoning": "She said so.", "category": "preference", "context_type": "decision", "source": "chat",
        "source_project": "perdure", "conversation_id": "c1", "session_id": "s1", "channel": "mail",
        "spec_folder": "specs/1", "file_path": "a/b.md", "anchor_id": "top", "trust": "high", "tier": "important",
    }  # fmt: skip
    words = [word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", value)]
    user.done(
        "remember", "Alice prefers dark mode", *words, "--tag", "ui", "--tag", "editor", "--keyword", "theme",
        "--reference", "https://example.org", "--trigger-phrase", "dark", "--evidence", "e1",
        "--metadata", "weight=3", "--metadata", "note=plain text", "--importance", "0.9", "--confidence", "0.8",
        "--valid-at", "2026-03-14", "--invalid-at", "2027-01-01T12:00:00Z", "--expires-at", "2099-01-01",
    )  # fmt: skip
    record = user.done("show", "person:alice", "--json").json
    assert {name: record[name] for name in given} == given
    assert record["tags"] == ["ui", "editor"]
    assert (record["keywords"], record["references"], record["trigger_phrases"], record["evidence"]) == (
        ["theme"], ["https://example.org"], ["dark"], ["e1"],
    )  # fmt: skip
    assert record["metadata"] == {"weight": 3, "note": "plain text"}
    assert (record["importance"], record["confidence"]) == (0.9, 0.8)
    assert record["valid_at"] == "2026-03-14T00:00:00Z"
    assert record["invalid_at"] == "2027-01-01T12:00:00Z"
    assert record["expires_at"] == "2099-01-01T00:00:00Z"


def test_the_same_text_again_is_already_known(user: User):
    user.done("remember", "Alice prefers dark mode")
    assert user.done("remember", "alice  prefers dark MODE").out.startswith("Already known as #1, seen 2 times")


def test_the_same_key_makes_a_new_version(user: User):
    user.done("remember", "Lives in Osaka", "--key", "person:alice")
    assert user.done("remember", "Lives in Tokyo", "--key", "person:alice").out.startswith("Updated #1, now version 2")


def test_the_same_idempotency_key_is_done_once(user: User):
    user.done("remember", "Paid 10", "--idempotency-key", "a")
    assert user.done("remember", "Paid 10", "--idempotency-key", "a").out.startswith("Already done, as #1")


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    missing = EmbedderUnavailable("The local model is not installed.", remedy="Install it, then run `perdure work`.")
    monkeypatch.setattr("perdure.embed.local.unavailable", lambda: missing)
    return {"PERDURE_EMBEDDER": "local"}


def test_a_memory_without_a_vector_says_so_on_stderr(user: User, no_model: dict[str, str]):
    answer = user.done("remember", "Alice prefers dark mode", **no_model)
    assert "perdure work" in answer.err
    assert answer.err.startswith("note: ")


def test_json_answers_record_outcome_and_notes_in_one_document(user: User):
    answer = user.done("remember", "Alice prefers dark mode", "--json")
    assert answer.err == ""
    assert set(answer.json) == {
        "outcome",
        "batch",
        "vector_pending",
        "notes",
        "record",
        "evicted",
        "offered",
        "contradicts",
    }
    assert answer.json["outcome"] == "inserted"
    assert answer.json["record"]["number"] == 1


def test_each_line_of_standard_input_can_be_a_memory(user: User, no_model: dict[str, str]):
    answer = user.done("remember", "--lines", "--tag", "notes", stdin="one\n\n  two  \nthree", **no_model)
    assert answer.out.count("Remembered #") == 3
    assert answer.err.count("note:") == 1
    records = user.done("list", "--oldest", "--json").json["records"]
    assert [(record["text"], record["tags"]) for record in records] == [
        ("one", ["notes"]), ("two", ["notes"]), ("three", ["notes"]),
    ]  # fmt: skip


def test_lines_answer_one_json_document(user: User):
    answer = user.done("remember", "--lines", "--json", stdin="one\ntwo\n")
    assert [one["record"]["text"] for one in answer.json["remembered"]] == ["one", "two"]


def test_a_bad_line_is_named_and_the_lines_before_it_are_kept(user: User):
    answer = user("remember", "--lines", stdin=b"one\nt\x00wo\nthree\n")
    assert answer.code == 2
    assert "error: Line 2: text holds a NUL character." in answer.err
    assert [record["text"] for record in user.done("list", "--json").json["records"]] == ["one"]


def test_a_namespace_keeps_its_memories_to_itself(user: User):
    user.done("remember", "Alice prefers dark mode", "-n", "alice")
    assert user.done("list", "--json").json["records"] == []
    assert len(user.done("list", "-n", "alice", "--json").json["records"]) == 1


def test_the_log_says_that_the_command_line_did_it(user: User):
    user.done("remember", "Alice prefers dark mode", PERDURE_SESSION="monday")
    (revision,) = user.done("history", "1", "--json").json["revisions"]
    change = revision["change"]
    assert (change["actor"], change["surface"], change["session"]) == ("ana", "cli", "monday")

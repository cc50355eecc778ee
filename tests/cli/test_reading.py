from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

from perdure.cli.record_view import GROUPS
from perdure.model import Record

if TYPE_CHECKING:
    from cli.user import User


def test_show_in_a_pipe_has_a_line_for_every_field(user: User):
    user.done("remember", "Alice prefers\ndark mode", "--tag", "ui")
    rows = dict(user.done("show", "1").rows)
    assert list(rows) == [field.name for field in dataclasses.fields(Record)]
    assert rows["text"] == "Alice prefers\\ndark mode"
    assert rows["tags"] == '["ui"]'
    assert rows["title"] == ""


def test_show_knows_every_field_of_a_record():
    shown = [name for names in GROUPS.values() for name in names]
    assert sorted([*shown, "text"]) == sorted(field.name for field in dataclasses.fields(Record))


def test_show_on_a_terminal_accounts_for_every_field(user: User):
    user.done("remember", "Alice prefers dark mode", "--tag", "ui", "--metadata", "weight=3")
    screen = user.screen("show", "1")
    assert screen.startswith("Alice prefers dark mode\n")
    for field in dataclasses.fields(Record):
        assert field.name in screen or field.name == "text"
    assert '{"weight": 3}' in screen


def test_show_accepts_number_id_hash_and_key(user: User):
    record = user.done("remember", "Alice", "--key", "person:alice", "--json").json["record"]
    for ref in ("1", "#1", record["id"], record["content_hash"], "person:alice"):
        assert user.done("show", ref, "--json").json["id"] == record["id"]


def test_the_json_of_a_record_is_the_line_an_export_writes(user: User):
    user.done("remember", "Alice", "--tag", "ui", "--valid-at", "2026-03-14")
    shown = user.done("list", "--json").json["records"][0]
    (exported,) = [line for line in map(json.loads, user.done("export", "-").out.splitlines()) if "text" in line]
    assert shown == exported


def test_list_shows_the_newest_first_and_where_to_go_on(user: User):
    for number in range(1, 6):
        user.done("remember", f"note {number}")
    answer = user.done("list", "--limit", "2")
    assert [row[0] for row in answer.rows] == ["5", "4"]
    assert "perdure list --after 4 --limit 2" in answer.err
    assert [row[0] for row in user.done("list", "--after", "4", "--limit", "9").rows] == ["3", "2", "1"]
    assert [row[0] for row in user.done("list", "--oldest", "--limit", "2").rows] == ["1", "2"]


def test_the_next_page_keeps_the_filters_and_the_store(user: User, store: Path):
    for number in range(3):
        user.done("remember", f"note {number}", "--tag", "a b", "--valid-at", "2020-01-02")
    answer = user.done("list", "--limit", "1", "--tag", "a b", "--since", "2020-01-01", "-s", str(store))
    words = answer.err.strip()
    assert "--tag 'a b'" in words
    assert "--since 2020-01-01T00:00:00Z" in words
    assert f"--store {store}" in words


def test_list_in_a_pipe_has_eight_fields(user: User):
    user.done("remember", "Alice", "--tag", "ui", "--tag", "x", "--category", "preference", "--title", "T")
    ((number, state, namespace, time, category, tags, title, text),) = user.done("list").rows
    assert (number, state, namespace, category, tags, title, text) == (
        "1", "active", "default", "preference", "ui,x", "T", "Alice",
    )  # fmt: skip
    assert time.endswith("Z")


def test_list_in_json_is_one_page(user: User):
    user.done("remember", "one")
    user.done("remember", "two")
    page = user.done("list", "--limit", "1", "--json").json
    assert [record["text"] for record in page["records"]] == ["two"]
    assert user.done("list", "--after", str(page["next"]), "--json").json["next"] is None


def test_list_on_a_terminal_is_a_table_no_wider_than_it(user: User):
    user.done("remember", "Alice " * 60, "--title", "A title", "--tag", "ui", "--key", "person:alice")
    user.done("remember", "東京" * 100)
    screen = user.screen("list", COLUMNS="80")
    header, *lines = screen.splitlines()
    assert header.split() == ["#", "memory", "key", "tags", "age"]
    assert len(lines) == 2
    assert all(len(line) <= 80 for line in lines)
    assert "A title: Alice" in screen


def test_a_narrow_list_leaves_out_the_widest_columns_and_not_the_memories(user: User):
    user.done("remember", "The cellar floods in May", "--key", "document:vault/sub/cellar.md", "--tag", "house, cellar")
    for columns, shown in (("100", ["key", "tags"]), ("62", ["tags"]), ("40", [])):
        header, line = user.screen("list", COLUMNS=columns).splitlines()
        assert header.split() == ["#", "memory", *shown, "age"]
        assert line.split()[:2] == ["1", "The"]
        assert "just now" in line


def test_forgotten_memories_are_listed_by_their_state(user: User):
    user.done("remember", "one")
    user.done("forget", "1")
    assert user.done("list").out == ""
    assert user.done("list", "--state", "deleted").rows[0][1] == "deleted"
    assert "deleted" in user.screen("list", "--state", "deleted")


def test_an_empty_list_says_how_to_begin(user: User):
    answer = user.done("list")
    assert answer.out == ""
    assert "There is no memory here yet." in answer.err
    assert "No memories with tags ui." in user.done("list", "--tag", "ui").err
    assert user.done("list", "--after", "7").err == "No more memories.\n"


def test_history_tells_what_each_revision_changed(user: User):
    user.done("remember", "Alice prefers dark mode", "--tag", "ui")
    user.done("update", "1", "--text", "Alice prefers light mode")
    user.done("update", "1", "--add-tag", "theme")
    user.done("forget", "1")
    rows = user.done("history", "1").rows
    assert [row[:6] for row in rows] == [
        ["1", "1", "insert", "ana", "cli", ""],
        ["2", "2", "update", "ana", "cli", ""],
        ["3", "2", "annotate", "ana", "cli", ""],
        ["4", "2", "forget", "ana", "cli", ""],
    ]
    assert [row[7] for row in rows] == [
        "Alice prefers dark mode; tags: ui",
        "Alice prefers [-dark-]{+light+} mode",
        "tags: ui -> ui, theme",
        "state: active -> deleted",
    ]


def test_history_on_a_terminal_is_a_timeline(user: User):
    user.done("remember", "Alice prefers dark mode", PERDURE_SESSION="monday")
    user.done("update", "1", "--text", "Alice prefers light mode")
    screen = user.screen("history", "1")
    assert "v1   insert    ana · cli · monday · just now" in screen
    assert "Alice prefers [-dark-]{+light+} mode" in screen


def test_history_in_json_holds_the_record_of_each_revision(user: User):
    user.done("remember", "one")
    user.done("update", "1", "--text", "two")
    first, second = user.done("history", "1", "--json").json["revisions"]
    assert (first["record"]["text"], second["record"]["text"]) == ("one", "two")
    assert (first["change"]["operation"], second["change"]["operation"]) == ("insert", "update")
    assert {"seq", "version", "digest", "hash"} <= set(first)
    assert {"actor", "surface", "session", "at", "batch"} <= set(first["change"])


def test_stats_count_each_namespace(user: User):
    user.done("remember", "one", "--category", "goal")
    user.done("remember", "two")
    user.done("forget", "2")
    user.done("remember", "three", "-n", "team")
    stats = user.done("stats", "--json").json
    counts = {one["name"]: one["states"] for one in stats["namespaces"]}
    assert counts["default"]["active"] == 1
    assert counts["default"]["deleted"] == 1
    assert counts["team"]["active"] == 1
    assert ["state.active", "1", "default"] in user.done("stats").rows
    assert ["category.goal", "1", "default"] in user.done("stats").rows
    assert all(row[0] for row in user.done("stats").rows), "no line begins with a tab"
    assert [one["name"] for one in user.done("stats", "-n", "team", "--json").json["namespaces"]] == ["team"]


def test_stats_on_a_terminal_are_a_table(user: User, store: Path):
    assert "No memories yet." in user.screen("stats")
    user.done("remember", "one", "--category", "goal")
    screen = user.screen("stats")
    assert str(store) in screen.replace("\n", "")
    (line,) = [line for line in screen.splitlines() if line.startswith("default")]
    assert line.split()[:4] == ["default", "1", "0", "1"]
    assert "goal 1" in line


def test_the_table_of_stats_is_whole_on_a_narrow_terminal(user: User):
    user.done("remember", "one")
    screen = user.screen("stats", COLUMNS="60")
    assert "namespace  active  forgotten  revisions" in screen
    assert "…" not in screen


def test_a_list_is_narrowed_by_metadata_importance_and_key_type(user: User):
    user.done("remember", "one", "--metadata", "project=x", "--metadata", "severity=1", "--importance", "0.9")
    user.done("remember", "two", "--metadata", "project=x", "--metadata", 'severity="1"', "--key", "person:alice")
    user.done("remember", "three", "--metadata", "project=y", "--metadata", "done=true")

    def listed(*options: str) -> set[str]:
        return {row[-1] for row in user.done("list", *options).rows}

    assert listed("--where", "project=x") == {"one", "two"}
    assert listed("--where", "project=x", "--where", "severity=1") == {"one"}
    assert listed("--where", 'severity="1"') == {"two"}
    assert listed("--where", "project=x", "--where", "project=y") == {"one", "two", "three"}
    assert listed("--where", 'project=["y", "z"]', "--where", "done=true") == {"three"}
    assert listed("--min-importance", "0.8") == {"one"}
    assert listed("--max-importance", "0.5", "--key-type", "person") == {"two"}


def test_an_empty_list_says_which_entries_were_asked_for_and_the_next_page_asks_for_them_again(user: User):
    for number in range(3):
        user.done("remember", f"memory {number}", "--metadata", "project=a b")
    empty = user.done("list", "--where", "project=z", "--min-importance", "0.9", PERDURE_LAYOUT="terminal")
    assert "No memories with where project=z, min importance 0.9" in empty.err + empty.out
    more = user.done("list", "--limit", "1", "--where", "project=a b", PERDURE_LAYOUT="terminal")
    assert "--where 'project=a b'" in more.err + more.out


def test_an_entry_without_a_value_is_told_how_to_write_it(user: User):
    assert "--where NAME=VALUE" in user.fails(2, "list", "--where", "project").err
    assert "metadata entry" in user.fails(2, "list", "--where", "=x").err


def test_a_label_of_confidence_is_taken_for_its_number(user: User):
    stored = user.done("remember", "one", "--confidence", "medium", "--json").json["record"]
    assert stored["confidence"] == 2 / 3
    assert user.done("update", "1", "--confidence", "0.25", "--json").json["record"]["confidence"] == 0.25
    assert "high, medium, low" in user.fails(2, "update", "1", "--confidence", "sure").err

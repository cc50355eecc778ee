"""`perdure import` of what other tools keep: it sees what a path is, and finds what a tool left."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bank.agents import SAID, SESSION, claude_line, claude_transcript, codex_line, codex_rollout, lines
from bank.databases import LEARNINGS, MEMORY_INDEX, indexed, learning, make
from bank.projects import OAUTH_PATH, write

from perdure import Memory
from perdure.clock import format_time

if TYPE_CHECKING:
    from cli.user import User


def imported(user: User, *words: str, **environment: str) -> dict[str, int]:
    (report,) = user.done("import", *words, "--json", **environment).json["imports"]
    return {name: report[name] for name in ("inserted", "updated", "present", "gone")}


def said(store: Path, session: str) -> list[tuple[object, str]]:
    with Memory(store, embedder="none") as memory:
        return [(record.metadata["role"], record.text) for record in memory.conversation(session).messages()]


def test_of_a_transcript_only_what_user_and_model_said_is_stored_at_its_own_time(
    user: User, store: Path, tmp_path: Path
):
    path = lines(tmp_path / "transcript.jsonl", claude_transcript())
    assert imported(user, str(path))["inserted"] == 5
    assert said(store, SESSION) == SAID
    with Memory(store, embedder="none") as memory:
        first = memory.conversation(SESSION).messages()[0]
    assert first.valid_at is not None
    assert format_time(first.valid_at).startswith("2026-03-01T10:01")


def test_a_transcript_that_grew_adds_what_is_new(user: User, store: Path, tmp_path: Path):
    rows = claude_transcript()
    path = lines(tmp_path / "transcript.jsonl", rows)
    imported(user, str(path))
    with path.open("a", encoding="utf-8") as stream:
        stream.write('{"type": "user", "half a line')
    assert imported(user, str(path)) == {"inserted": 0, "updated": 0, "present": 5, "gone": 0}
    lines(path, [*rows, claude_line(20, "user", "And at midnight?")])
    assert imported(user, str(path))["inserted"] == 1
    assert said(store, SESSION) == [*SAID, ("user", "And at midnight?")]


def test_what_a_hook_stored_while_it_was_said_is_not_stored_again(user: User, store: Path, tmp_path: Path):
    with Memory(store, embedder="none") as memory:
        for role, text in SAID[:3]:
            memory.conversation(SESSION).add_message(role, text)
    assert imported(user, str(lines(tmp_path / "t.jsonl", claude_transcript())))["inserted"] == 2
    assert sorted(said(store, SESSION)) == sorted(SAID)


@pytest.mark.parametrize("events", [True, False], ids=["events", "only items"])
def test_a_rollout_of_codex_is_a_conversation(user: User, store: Path, tmp_path: Path, *, events: bool):
    path = lines(tmp_path / "rollout.jsonl", codex_rollout(events=events))
    assert imported(user, str(path))["inserted"] == 2
    assert said(store, "codex-1") == [("user", "Why does the checkout fail?"), ("assistant", "The tax table is empty.")]
    assert imported(user, str(path)) == {"inserted": 0, "updated": 0, "present": 2, "gone": 0}


def test_the_rollout_of_a_subagent_is_left_out(user: User, tmp_path: Path):
    rows = codex_rollout()
    rows[0] = codex_line(0, "session_meta", id="sub", cwd="/x", source={"subagent": "review"})
    assert imported(user, str(lines(tmp_path / "r.jsonl", rows)))["inserted"] == 0


def test_everything_that_claude_code_keeps_is_found_where_it_puts_it(user: User, store: Path, tmp_path: Path):
    home, project = tmp_path / "home", tmp_path / "website"
    slug = home / ".claude/projects/-home-ana-website"
    lines(slug / "s.jsonl", claude_transcript())
    write(slug, "memory/MEMORY.md", "# Memory\n- [Role](user_role.md) - what the user does\n")
    write(slug, "memory/user_role.md", "---\nname: user-role\ndescription: Role\ntype: user\n---\nAna is a pilot.\n")
    write(home, ".claude/CLAUDE.md", "# Style\nWrite short sentences.\n")
    write(project, "CLAUDE.md", "Be kind.\n\n## Build\nRun make.\n\n## Test\nRun make test.\n")
    environment = {"HOME": str(home), "CLAUDE_PROJECT_DIR": str(project)}
    looked = user.done("import", "--from", "claude-code", "--dry-run", "--json", **environment).json["imports"]
    assert [report["inserted"] for report in looked] == [1, 5, 1, 3]
    assert user.done("list", "--json").json["records"] == []
    user.done("import", "--from", "claude-code", **environment)
    with Memory(store, embedder="none") as memory:
        (role,) = (record for record in memory.list(key_type="document") if "pilot" in record.text)
        build = memory.recall("make").hits[0].record
    assert (role.title, role.tags, role.source_project, role.source) == ("Role", ("user",), "website", "import")
    assert (build.title, build.source_project) in {("CLAUDE.md: Build", "website"), ("CLAUDE.md: Test", "website")}


def test_a_document_that_changed_updates_its_memories(user: User, store: Path, tmp_path: Path):
    path = write(tmp_path, "AGENTS.md", "# Build\nRun make.\n# Test\nRun make test.\n```\n# not a heading\n```\n")
    assert imported(user, str(path))["inserted"] == 2
    write(tmp_path, "AGENTS.md", "# Build\nRun ninja.\n")
    assert imported(user, str(path)) == {"inserted": 0, "updated": 1, "present": 0, "gone": 1}
    with Memory(store, embedder="none") as memory:
        assert [(record.text, record.version) for record in memory.list()] == [("Run ninja.", 2)]


def test_documents_of_two_projects_of_one_name_do_not_take_turns(user: User, store: Path, tmp_path: Path):
    paths = [write(tmp_path / owner / "website", "CLAUDE.md", f"# Build\nRun {owner}.\n") for owner in ("ana", "bob")]
    assert [imported(user, str(path))["inserted"] for path in paths] == [1, 1]
    assert [imported(user, str(path))["present"] for path in paths] == [1, 1]
    write(paths[1].parent, "CLAUDE.md", "# Test\nRun tests.\n")
    assert imported(user, str(paths[1])) == {"inserted": 1, "updated": 0, "present": 0, "gone": 1}
    with Memory(store, embedder="none") as memory:
        assert {record.text for record in memory.list()} == {"Run ana.", "Run tests."}
        # As it was called before, so that a store that holds it already keeps it.
        assert memory.get("document:website/CLAUDE.md#build").text == "Run ana."


def test_the_graph_of_the_reference_memory_server_becomes_memories(user: User, store: Path, tmp_path: Path):
    rows: list[dict[str, object]] = [
        {"type": "entity", "name": "Ana", "entityType": "person", "observations": ["flies gliders", "lives in Osaka"]},
        {"type": "relation", "from": "Ana", "to": "Airfield", "relationType": "works_at"},
    ]
    path = lines(tmp_path / "memory.json", rows)
    assert imported(user, str(path))["inserted"] == 2
    with Memory(store, embedder="none") as memory:
        assert memory.get("entity:Ana").text == "Ana (person)\n- flies gliders\n- lives in Osaka"
        assert memory.recall("who works at the airfield?")[0].record.text == "Ana works at Airfield"
    rows[0]["observations"] = ["flies gliders", "lives in Kyoto"]
    assert imported(user, str(lines(path, rows))) == {"inserted": 0, "updated": 1, "present": 1, "gone": 0}


def test_memory_files_are_imported_by_their_folder_or_by_their_name(user: User, tmp_path: Path):
    write(tmp_path)
    assert imported(user, str(tmp_path / OAUTH_PATH))["inserted"] == 3
    assert imported(user, str(tmp_path / "specs"))["present"] == 3
    assert imported(user, str(tmp_path))["present"] == 3
    assert imported(user, "--from", "opencode", CLAUDE_PROJECT_DIR=str(tmp_path))["present"] == 3


def test_a_database_is_taken_over_by_its_path_and_found_where_its_tool_puts_it(user: User, tmp_path: Path):
    home, project = tmp_path / "home", tmp_path / "p"
    path = make(home / ".claude/iflow/memory/memory.db", LEARNINGS, "entries", [learning(1)])
    index = make(project / ".opencode/memory/database/memory-index.sqlite", MEMORY_INDEX, "memory_index", [indexed(1)])
    looked = user.done("import", str(path), "--dry-run")
    assert looked.out.startswith("Would import learnings")
    assert imported(user, "--from", "iflow", HOME=str(home))["inserted"] == 1
    assert imported(user, str(path))["present"] == 1
    assert imported(user, str(index))["inserted"] == 1


def test_a_trusted_import_by_a_person_makes_constitutional_memories(user: User, store: Path, tmp_path: Path):
    make(tmp_path / "index.sqlite", MEMORY_INDEX, "memory_index", [indexed(1, importance_tier="constitutional")])
    user.done("import", str(tmp_path / "index.sqlite"), "--trusted")
    with Memory(store, embedder="none") as memory:
        assert [record.tier for record in memory.constitution().records] == ["constitutional"]


def test_what_belongs_to_a_private_project_goes_into_its_own_namespace(user: User, store: Path, tmp_path: Path):
    project, home = tmp_path / "secret", {"HOME": str(tmp_path / "home"), "XDG_DATA_HOME": str(tmp_path / "data")}
    write(project)
    from perdure.session.privacy import make_private

    make_private(project, home)
    slug = tmp_path / "home/.claude/projects/-secret"
    lines(slug / "s.jsonl", [{**line, "cwd": str(project)} for line in claude_transcript()])
    write(slug, "memory/plan.md", "The launch is in May.")
    write(project, "CLAUDE.md", "Tell nobody.")
    user.done("import", str(project), **home)
    user.done("import", str(project / "CLAUDE.md"), **home)
    user.done("import", "--from", "claude-code", **home)
    with Memory(store, embedder="none") as memory:
        assert list(memory.list()) == []
        assert memory.conversations() == []
        assert sum(each.states.get("active", 0) for each in memory.stats().namespaces) == 3 + 1 + 1 + 5


def test_a_path_that_is_nothing_of_this_says_what_was_expected(user: User, tmp_path: Path):
    (tmp_path / "empty").mkdir()
    assert "specs" in user.fails(2, "import", str(tmp_path / "empty")).err
    write(tmp_path, "docs/knowledge-bank/patterns.md", "# Patterns\n")
    assert "perdure bank import" in user.fails(2, "import", str(tmp_path / "docs/knowledge-bank/patterns.md")).err
    assert "--from" in user.fails(2, "import").err


def test_one_undo_takes_an_import_back(user: User, store: Path, tmp_path: Path):
    path = lines(tmp_path / "t.jsonl", claude_transcript())
    (report,) = user.done("import", str(path), "--json").json["imports"]
    user.done("undo", report["batch"], "--yes")
    assert said(store, SESSION) == []


@pytest.mark.parametrize("name", ["x.jsonl", "x.csv", "x.md", "x"])
@pytest.mark.parametrize("what", ["pipe", "device"])
def test_what_is_no_file_is_said_so_at_once(user: User, tmp_path: Path, name: str, what: str):
    path = tmp_path / name
    if what == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    refused = user("import", str(path))
    assert refused.code != 0
    assert f"{path} is not a regular file." in refused.err
    assert "perdure import -" in refused.err


@pytest.mark.parametrize("beginning", [b"", b"{", b" ", b'{"text": "x"}\n{'])
def test_a_file_of_zeros_is_judged_by_its_beginning(user: User, tmp_path: Path, beginning: bytes):
    path = tmp_path / "zeros.jsonl"
    with path.open("wb") as file:
        file.write(beginning)
        file.truncate(1 << 40)
    refused = user("import", str(path))
    assert refused.code != 0
    assert "neither JSON" in refused.err or "not JSON" in refused.err or "longer than" in refused.err


def test_a_pipe_among_transcripts_is_left_alone(user: User, tmp_path: Path):
    lines(tmp_path / "transcripts" / "one.jsonl", claude_transcript())
    os.mkfifo(tmp_path / "transcripts" / "two.jsonl")
    assert imported(user, str(tmp_path / "transcripts"))["inserted"] == 5


GENERATED = (
    "ALTER TABLE memory_index ADD COLUMN bomb TEXT GENERATED ALWAYS AS "
    "(replace(hex(zeroblob(100000000)), '0', 'aa')) VIRTUAL"
)
DEFAULT = f"ALTER TABLE memory_index ADD COLUMN bomb TEXT DEFAULT '{'x' * 1_000_000}'"
LARGE = "UPDATE memory_index SET content = zeroblob(17000000)"


@pytest.mark.parametrize(
    ("statement", "count", "said"),
    [(GENERATED, 30, "30 new"), (DEFAULT, 200, "says more than its file has room for"), (LARGE, 1, "of more than 16")],
    ids=["generated", "default", "large"],
)
def test_a_small_database_does_not_fill_the_memory(user: User, tmp_path: Path, statement: str, count: int, said: str):
    path = tmp_path / "project" / ".opencode/memory/database/memory-index.sqlite"
    rows = [indexed(n) for n in range(count)]
    make(path, MEMORY_INDEX, "memory_index", rows, statement)
    answer = user("import", str(path))
    assert said in answer.out + answer.err
    assert ("bomb" in user("list", "--json").out) is False


def test_a_large_import_says_first_how_it_is_taken_back(user: User, tmp_path: Path):
    """So that it is known also of one that is killed in the middle."""
    path = make(tmp_path / "other" / "memory.db", LEARNINGS, "entries", [learning(n) for n in range(5)])
    told = user.done("import", str(path)).err.splitlines()
    first, *_, last = [line for line in told if "perdure undo" in line or "undo" in line]
    assert "if it is interrupted" in first
    assert first.split()[-1] == last.split()[-1]
    user.done("undo", first.split()[-1])
    assert user.done("list", "--json").json["records"] == []


def test_a_graph_of_a_relative_of_the_reference_server_becomes_memories(user: User, store: Path, tmp_path: Path):
    """Without a `type`, and with observations that are objects."""
    said = {"text": "flies gliders", "timestamp": "2026-05-01T10:00:00Z"}
    rows: list[dict[str, object]] = [
        {"name": "Ana", "entityType": "person", "observations": [said, "lives in Osaka"]},
        {"from": "Ana", "relationType": "works_with", "to": "Bob"},
    ]
    assert imported(user, str(lines(tmp_path / "graph.jsonl", rows)))["inserted"] == 2
    with Memory(store, embedder="none") as memory:
        assert {record.text for record in memory.list()} == {
            "Ana (person)\n- flies gliders\n- lives in Osaka", "Ana works with Bob",
        }  # fmt: skip


def test_a_long_section_is_split_at_its_headings_and_paragraphs(user: User, store: Path, tmp_path: Path):
    """A memory of twenty thousand characters is told by nobody."""
    paragraphs = "\n\n".join(f"Paragraph {number} {'says something ' * 20}" for number in range(40))
    code = "```sh\nmake\n\n### no heading\n\nmake test\n```"
    text = f"# Guide\n## Build\nRun make.\n### Fast\n{code}\n### Slow\n{paragraphs}\n## Test\nRun tests.\n### Here\nx\n"
    path = write(tmp_path, "AGENTS.md", text)
    imported(user, str(path))
    with Memory(store, embedder="none") as memory:
        records = memory.list(limit=100).records
    found = {record.title: record.text for record in records}
    assert max(len(record.text) for record in records) < 5000
    assert found["AGENTS.md: Build: Fast"] == code
    assert found["AGENTS.md: Test"] == "Run tests.\n### Here\nx"
    assert "".join(record.text for record in records).count("Paragraph ") == 40
    assert imported(user, str(path))["inserted"] == 0


NOTE = """---
title: Storage
type: decision
permalink: shop/storage
tags: [database, shop]
---
# Storage
- [decision] We use PostgreSQL #storage #backend
- [x] done, and [a link](other.md)
See #nothing.
"""


def test_a_folder_of_notes_is_imported_with_what_stands_above_them(user: User, store: Path, tmp_path: Path):
    """As a vault of Obsidian is, or the notes of basic-memory."""
    vault = tmp_path / "vault"
    write(vault, "storage.md", NOTE)
    write(vault, "people/ana.md", "Ana flies gliders.\n")
    write(vault, ".obsidian/plugin.md", "No note.\n")
    assert imported(user, str(vault))["inserted"] == 2
    with Memory(store, embedder="none") as memory:
        (note,) = (record for record in memory.list() if "PostgreSQL" in record.text)
    assert note.title == "Storage"
    assert note.tags == ("database", "shop", "decision", "storage", "backend")
    assert note.metadata["permalink"] == "shop/storage"
    assert imported(user, str(vault)) == {"inserted": 0, "updated": 0, "present": 2, "gone": 0}


@pytest.mark.parametrize("name", [".cursorrules", ".cursor/rules/style.mdc", ".windsurfrules"])
def test_the_rules_of_editors_are_documents(user: User, store: Path, tmp_path: Path, name: str):
    path = write(
        tmp_path, name, "---\ndescription: Style\nglobs: src/**\nalwaysApply: true\n---\nWrite short sentences.\n"
    )
    assert imported(user, str(path))["inserted"] == 1
    with Memory(store, embedder="none") as memory:
        (rule,) = memory.list()
    assert (rule.title, rule.text, rule.metadata["globs"]) == ("Style", "Write short sentences.", "src/**")


def test_a_folder_of_a_knowledge_bank_is_left_to_its_own_command(user: User, tmp_path: Path):
    write(tmp_path, "bank/patterns.md", "### Rule\nText.\n")
    assert "perdure bank import" in user("import", str(tmp_path / "bank")).err


def test_the_words_may_stand_under_another_name(user: User, store: Path, tmp_path: Path):
    file = tmp_path / "notes.json"
    file.write_text('[{"content": "Alice likes tea", "who": "ana"}, {"content": "Bob likes soup"}]', encoding="utf-8")
    assert "such as --text-field content" in user.fails(2, "import", str(file)).err
    user.done("import", str(file), "--text-field", "content")
    table = tmp_path / "notes.csv"
    table.write_text("note,text\nMira plays chess,2\n", encoding="utf-8")
    user.done("import", str(table), "--text-field", "note")
    records = [user.done("show", number, "--json").json for number in "123"]
    assert [each["text"] for each in records] == ["Alice likes tea", "Bob likes soup", "Mira plays chess"]
    assert [each["metadata"] for each in records] == [{"who": "ana"}, {}, {"text": "2"}]
    (tmp_path / "notes.md").write_text("The door is green.", encoding="utf-8")
    assert "is for tables" in user.fails(2, "import", str(tmp_path / "notes.md"), "--text-field", "note").err


def test_a_table_is_written_and_read_back_and_computes_nothing(user: User, store: Path, tmp_path: Path):
    table = tmp_path / "notes.csv"
    user.done("remember", "=HYPERLINK(0)", "--tag", "a", "--tag", "b", "--importance", "0.9")
    user.done("remember", '\'-1 says: "yes, no"\nand more', "--key", "person:alice", "--metadata", "who=ana")
    assert "`--format csv` writes a table" in user.done("export", str(table)).err
    user.done("export", str(table), "--format", "csv", "--overwrite")
    rows = table.read_text(encoding="utf-8").splitlines()
    assert rows[1].startswith("'=HYPERLINK(0),")
    there = tmp_path / "there.db"
    user.done("import", str(table), "--trusted", "-s", str(there))
    listed = [user.done("list", "--json", "-s", str(place)).json["records"] for place in (store, there)]
    names = ("text", "key", "tags", "importance", "metadata", "created_at", "source", "trust")
    first, second = ([{name: each[name] for name in names} for each in records] for records in listed)
    assert first == second
    assert "A table holds one namespace" in user.fails(2, "export", "-", "--format", "csv").err


def test_what_was_forgotten_of_a_folder_of_notes_comes_back_only_if_somebody_says_so(user: User, tmp_path: Path):
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "tea.md").write_text("Ann likes green tea.\n", encoding="utf-8")
    folder = str(tmp_path / "vault")
    batch = user.done("import", folder, "--json").json["imports"][0]["batch"]
    user.done("undo", batch)
    again = user.done("import", folder)
    assert "0 new, 1 forgotten before" in again.out
    assert "--revive brings it back" in again.err
    assert imported(user, folder, "--revive") == {"inserted": 0, "updated": 1, "present": 0, "gone": 0}
    assert "green tea" in user.done("list").out


def test_a_memory_of_another_product_that_was_forgotten_comes_back_if_somebody_says_so(user: User, tmp_path: Path):
    path = tmp_path / "pasted.txt"
    path.write_text("- Ann likes green tea\n- Ann lives in Porto\n", encoding="utf-8")
    user.done("import", str(path))
    user.done("forget", "1")
    assert "1 known, 1 forgotten before" in user.done("import", str(path)).out
    assert "1 new, 1 known" in user.done("import", str(path), "--revive").out


def test_a_transcript_revives_nothing(user: User, tmp_path: Path):
    path = lines(tmp_path / "transcript.jsonl", claude_transcript())
    assert "--revive is for memories" in user.fails(2, "import", str(path), "--revive").err

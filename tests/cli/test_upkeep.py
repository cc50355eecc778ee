"""doctor, work, export, import, completion."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from perdure.embed import local

if TYPE_CHECKING:
    from cli.user import User


def test_a_healthy_store_has_no_problem(user: User):
    user.done("remember", "one")
    answer = user.done("doctor", "--json")
    assert answer.json["ok"] is True
    assert {finding["level"] for finding in answer.json["findings"]} <= {"ok", "warning"}
    assert all(len(row) == 4 for row in user.done("doctor").rows)
    assert "✓" in user.screen("doctor")


def test_doctor_finds_secrets_in_the_store_and_takes_them_out(user: User, store: Path):
    token = "ghp_" + "q7W2e9R4t1Y6" * 3
    user.done("remember", f"the token is {token}", PERDURE_REDACT="off")
    assert token.encode() in b"".join(path.read_bytes() for path in store.parent.iterdir())
    answer = user("doctor", "--secrets", "--json")
    assert (answer.code, answer.json["ok"]) == (7, False)
    (finding,) = answer.json["findings"]
    assert finding["sentence"].startswith("Memory #1 in 'default' holds github_token now")
    assert "perdure doctor --secrets --repair" in finding["remedy"]
    assert user("doctor", "--secrets").rows[0][:2] == ["problem", "secrets"]
    assert "1 problem found" in user("doctor", "--secrets", PERDURE_LAYOUT="terminal").out
    assert user.done("doctor", "--secrets", "--repair", "--json").json["ok"] is True
    assert user.done("show", "1", "--json").json["text"] == "the token is [REDACTED:github_token]"
    assert "secrets were taken out of log entries [1]" in user.screen("history", "1")
    assert token.encode() not in b"".join(path.read_bytes() for path in store.parent.iterdir())
    assert user.done("doctor", "--json").json["ok"] is True


def test_a_file_that_is_no_store_is_a_problem_with_its_own_exit_code(user: User, store: Path):
    store.write_bytes(b"This is not a database, it is a text about one. " * 100)
    answer = user("doctor", "--json")
    assert answer.code == 7
    assert answer.json["ok"] is False
    assert answer.json["findings"][-1]["level"] == "problem"
    assert user("doctor").rows[-1][0] == "problem"
    screen = user("doctor", PERDURE_LAYOUT="terminal")
    assert "1 problem found." in screen.out
    assert screen.code == 7


def test_a_repair_leaves_every_memory_where_it_was(user: User):
    user.done("remember", "one")
    before = user.done("show", "1", "--json").json["content_hash"]
    assert user.done("doctor", "--repair", "--json").json["ok"] is True
    assert user.done("show", "1", "--json").json["content_hash"] == before
    assert "one" in user.done("recall", "one").out


def test_work_by_words_alone_has_nothing_to_embed(user: User):
    user.done("remember", "one")
    assert user.done("work").err == ""
    assert set(user.done("work", "--json").json) == {
        "embedded",
        "vectors_pending",
        "notes",
        "expired",
        "purged",
        "held",
        "keywords_added",
        "episodes_made",
        "episodes_reviewed",
        "episodes_consolidated",
        "facts_changed",
        "memories_compared",
        "contradictions_found",
    }


@pytest.mark.skipif(local.unavailable() is not None, reason="the model is not installed")
def test_work_makes_what_was_stored_without_a_model_findable_by_meaning(user: User):
    user.done("remember", "Alice keeps every editor on a black background")
    assert user.done("work", PERDURE_EMBEDDER="local").out == "Embedded 1; 0 left. Compared 1.\n"
    assert user.done("work", PERDURE_EMBEDDER="local").out == "Nothing to do.\n"
    found = user.done("recall", "which theme does she like?", "--json", PERDURE_EMBEDDER="local")
    assert (found.json["mode"], len(found.json["hits"])) == ("hybrid", 1)


def test_what_is_exported_can_be_imported_elsewhere(user: User, tmp_path: Path):
    user.done("remember", "one", "--tag", "a")
    user.done("remember", "two", "--key", "b:two")
    file = tmp_path / "out.jsonl"
    answer = user.done("export", str(file))
    assert (answer.out, answer.err) == (f"Exported 2 memories to {file}\n", "")
    assert "notes.csv holds JSON Lines" in user.done("export", str(file.parent / "notes.csv")).err
    there = str(tmp_path / "other.db")
    answer = user.done("import", str(file), "--trusted", "-s", there, PERDURE_EMBEDDER="local")
    assert answer.out == "Imported 2: 2 new, 0 updated, 0 known.\n"
    # So few are found by meaning by whoever recalls them first.
    assert "perdure work" not in answer.err
    records = user.done("list", "--oldest", "--json", "-s", there).json["records"]
    assert [(one["text"], one["tags"], one["key"]) for one in records] == [("one", ["a"], None), ("two", [], "b:two")]
    assert user.done("import", str(file), "--json", "-s", there).json["present"] == 2


def test_export_and_import_speak_utf_8_through_a_pipe(user: User, tmp_path: Path):
    user.done("remember", "東京 ✓ naïve")
    lines = user.done("export", "-")
    assert lines.err == "Exported 1 memory.\n"
    there = str(tmp_path / "other.db")
    user.done("import", "-", "-s", there, stdin=lines.out)
    assert user.done("list", "--json", "-s", there).json["records"][0]["text"] == "東京 ✓ naïve"


def test_export_does_not_replace_a_file_unless_told(user: User, tmp_path: Path):
    user.done("remember", "one")
    file = tmp_path / "out.jsonl"
    file.write_text("precious", encoding="utf-8")
    assert "--overwrite" in user.fails(4, "export", str(file)).err
    assert file.read_text(encoding="utf-8") == "precious"
    assert user.done("export", str(file), "--overwrite", "--json").json == {
        "written": 1,
        "damaged": [],
        "path": str(file),
    }
    assert len(file.read_text(encoding="utf-8").splitlines()) == 2


def test_export_can_hold_forgotten_memories_too(user: User):
    user.done("remember", "one")
    user.done("remember", "two")
    user.done("forget", "2")
    lines = user.done("export", "-", "--state", "active", "--state", "deleted").out.splitlines()
    assert [json.loads(line).get("text") for line in lines[1:]] == ["one", "two"]


def test_export_to_standard_output_is_no_json_document(user: User):
    assert "leave out --json" in user.fails(2, "export", "-", "--json").err


def test_export_into_a_missing_directory_is_an_error_with_a_remedy(user: User, tmp_path: Path):
    user.done("remember", "one")
    assert "There is no directory" in user.fails(2, "export", str(tmp_path / "no" / "out.jsonl")).err


def test_a_bad_line_stops_the_whole_import(user: User):
    answer = user.fails(2, "import", "-", stdin='{"text": "one"}\n{"text": \n')
    assert "Line 2" in answer.err
    assert user.done("list", "--json").json["records"] == []


def test_a_missing_file_cannot_be_imported(user: User, tmp_path: Path):
    assert "nowhere.jsonl." in user.fails(2, "import", str(tmp_path / "nowhere.jsonl")).err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_completion_script(user: User, shell: str):
    assert "_PERDURE_COMPLETE" in user.done("completion", shell).out


def test_completion_offers_commands_options_and_values(user: User):
    def offered(words: str) -> list[str]:
        found = user.done(_PERDURE_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(words.count(" "))).out
        return [line.split(",", 1)[1] for line in found.splitlines()]

    assert offered("perdure re") == ["remember", "recall", "restore", "review", "restore-backup", "retro"]
    assert "--category" in offered("perdure recall --ca")
    assert offered("perdure recall --category pref") == ["preference"]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("perdure list --namespace te", ["team"]),
        ("perdure recall --tag u", ["ui"]),
        ("perdure recall --namespace team --tag d", ["deploy"]),
        ("perdure remember tea --tag u", ["ui"]),
        ("perdure show pe", ["person:alice"]),
        ("perdure checkpoint restore be", ["before"]),
        ("perdure recall --recipe ti", ["tiered"]),
    ],
)
def test_completion_offers_what_the_store_holds(newcomer: User, store: Path, words: str, offered: list[str]):
    def answers() -> list[str]:
        done = newcomer.done(_PERDURE_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(words.count(" ")))
        assert done.err == ""
        return [line.split(",", 1)[1] for line in done.out.split()]

    assert answers() == (offered if "--recipe" in words else [])
    assert not store.exists()
    newcomer.done("remember", "Alice prefers dark mode", "--tag", "ui", "--key", "person:alice")
    newcomer.done("remember", "Deploys go through CI", "--tag", "deploy", "-n", "team")
    newcomer.done("checkpoint", "create", "before")
    assert answers() == offered


BASH = shutil.which("bash")


@pytest.mark.skipif(BASH is None, reason="no bash here")
def test_the_bash_script_is_valid_bash(user: User):
    script = user.done("completion", "bash").out
    done = subprocess.run(
        [str(BASH), "-n"], input=script, text=True, encoding="utf-8", check=False, capture_output=True
    )
    assert (done.returncode, done.stderr) == (0, "")

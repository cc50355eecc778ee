"""Answers that puzzled a newcomer once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import pytest

from perdure import Memory
from perdure.errors import EmbedderUnavailable, InvalidInput

if TYPE_CHECKING:
    from cli.user import User


def test_a_constitutional_memory_is_shown_once(user: User):
    user.done("remember", "Never deploy on a Friday", "--tier", "constitutional")
    user.done("remember", "Deploys go through CI")
    assert [row[0] for row in user.done("recall", "deploy").rows] == ["1", "2"]


def test_a_backup_that_is_not_there_is_no_question(user: User, tmp_path: Path):
    answer = user.fails(2, "restore-backup", str(tmp_path / "nope"))
    assert "does not exist" in answer.err
    assert "--yes" not in answer.err


def test_an_unknown_state_is_called_a_state(user: User):
    assert "There is no state 'foo'." in user.fails(2, "list", "--state", "foo").err


def test_the_figures_of_a_namespace_that_does_not_exist_are_an_error(user: User):
    user.done("remember", "tea")
    answer = user.fails(3, "stats", "-n", "nobody")
    assert "There is no namespace 'nobody'." in answer.err
    assert "default" in answer.err


def test_a_command_that_resembles_none_is_not_guessed_at(user: User):
    assert "Did you mean" not in user.fails(2, "nope").err
    assert "`perdure recall`" in user.fails(2, "recal").err


def test_a_limit_below_what_is_stored_needs_a_yes(user: User):
    user.done("remember", "--lines", stdin="one\ntwo\nthree\n")
    answer = user.fails(4, "capacity", "--max-items", "1")
    assert "the next write will evict 2 memories" in answer.err
    assert user.done("capacity", "--json").json["max_items"] is None
    user.done("capacity", "--max-items", "1", "--yes")
    assert user.done("capacity", "--json").json["max_items"] == 1


def test_a_limit_above_what_is_stored_needs_none(user: User):
    user.done("remember", "one")
    user.done("capacity", "--max-items", "1")


def test_a_word_is_read_as_utf_8_in_any_locale(user: User):
    with user.start("remember", "Zoë", environment={"LC_ALL": "C", "PYTHONUTF8": "0"}) as running:
        assert running.wait() == 0
    assert user.done("list", "--json").json["records"][0]["text"] == "Zoë"


def test_doctor_answers_while_another_process_writes(user: User, store: Path):
    user.done("remember", "tea")
    writer: Any = apsw.Connection(str(store))
    writer.execute("BEGIN IMMEDIATE")
    answer = user.done("doctor", "--json")
    writer.close()
    full_text = next(each for each in answer.json["findings"] if each["check"] == "full_text")
    assert full_text["level"] == "warning"
    assert "another process is writing" in full_text["sentence"]


def test_a_system_without_file_locks_gets_one_clear_sentence(tmp_path: Path):
    program = "import sys; sys.modules['fcntl'] = None\nfrom perdure.cli.app import main; main()"
    words = (sys.executable, "-c", program, "remember", "tea", "--store", str(tmp_path / "memory.db"))
    done = subprocess.run(words, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 5
    assert "Linux and macOS" in done.stderr
    assert "WSL" in done.stderr


def test_an_export_ends_while_others_write(tmp_path: Path):
    with Memory(tmp_path / "memory.db", embedder="none") as memory:
        memory.import_({"text": f"memory {number}"} for number in range(1200))
        steps: list[int] = []

        def write(done: int, _: int | None) -> None:
            steps.append(done)
            memory.import_({"text": f"later {len(steps)} {number}"} for number in range(500))

        assert memory.export(tmp_path / "out.jsonl", progress=write).written == 1200


def test_a_secret_is_no_name(tmp_path: Path):
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    with Memory(tmp_path / "memory.db", embedder="none") as memory:
        with pytest.raises(InvalidInput, match="idempotency key holds a secret"):
            memory.remember("tea", idempotency_key=secret)
        with pytest.raises(InvalidInput, match="name of the checkpoint holds a secret"):
            memory.checkpoint(secret)
        assert secret not in str(memory.checkpoint("now", description=f"token {secret}", metadata={"by": secret}))


def test_a_choice_to_search_by_words_is_not_nagged_about(user: User):
    user.done("remember", "tea on monday")
    assert user.done("recall", "tea").err == ""
    assert user.done("work").out == "Nothing to do.\n"


def test_work_that_cannot_be_done_fails_for_a_scheduler(user: User, monkeypatch: pytest.MonkeyPatch):
    user.done("remember", "tea on monday")
    monkeypatch.setattr("perdure.embed.local.unavailable", EmbedderUnavailable)
    answer = user("work", PERDURE_EMBEDDER="local")
    assert answer.code == 8
    assert answer.out == "Embedded 0; 1 left.\n"
    assert "No embedding model is available" in answer.err


def test_the_formats_of_a_context_are_not_called_json(user: User):
    user.done("remember", "tea on monday")
    assert "Use one of text, records." in user.fails(2, "context", "tea", "--format", "json").err

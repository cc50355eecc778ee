"""What a prompt brought to mind is kept as it was sent, with why, until the memory is erased."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.user import User
from hook.hosts import HostSession, tell

from perdure import Memory
from perdure.cli.session import explanation_lines
from perdure.session.kept import KeptPrompt, keep_prompt, kept_prompts, kept_prompts_about

QUESTION = "When is the deploy key rotated?"


@pytest.fixture
def user(known: Path) -> User:
    return User({"PERDURE_EMBEDDER": "none", "COLUMNS": "100", "NO_COLOR": "1"})


def kept_files(home: Path) -> list[Path]:
    return sorted((home / ".local/share/perdure/sessions/prompted").glob("*"))


def test_what_a_prompt_brought_to_mind_is_explained_as_it_was_sent(project: Path, user: User):
    session = HostSession("claude", project)
    sent = tell(session, session.prompt(QUESTION)).context
    document = user.done("session", "explain", session.id, "--json").json
    (prompt,) = document["prompts"]
    assert prompt["text"] == sent
    (entry,) = prompt["entries"]
    assert (entry["number"], entry["phrase"]) == (1, None)
    assert entry["relevance"] > 0
    assert entry["explain"]
    assert f"#1  {entry['relevance']:.2f}  Rotation" in list(explanation_lines(document))


def test_a_trigger_phrase_in_the_prompt_is_why(project: Path, known: Path):
    with Memory(embedder="none") as memory:
        memory.remember("Freeze the release branch first", trigger_phrases=["ship it"])
    session = HostSession("claude", project)
    assert "Freeze the release" in tell(session, session.prompt("The tests are green, ship it")).context
    (kept,) = kept_prompts(session.id)
    assert [entry["phrase"] for entry in kept.entries] == ["ship it"]


def test_nothing_is_kept_of_a_prompt_that_brought_nothing_or_is_off_the_record(project: Path, user: User, known: Path):
    session = HostSession("claude", project)
    assert not tell(session, session.prompt("Paint the barn door green")).out
    user.done("session", "off", session.id)
    session.turn = 2
    assert tell(session, session.prompt(QUESTION)).context
    assert kept_prompts(session.id) == []


def test_an_erased_memory_is_in_no_byte_of_what_is_kept(project: Path, user: User, stranger: Path):
    session = HostSession("claude", project)
    assert "every Friday" in tell(session, session.prompt(QUESTION)).context
    assert any(b"every Friday" in file.read_bytes() for file in kept_files(stranger))
    user.done("erase", "1", "--yes")
    files = [file for file in stranger.rglob("*") if file.is_file() and "spool" not in str(file)]
    assert files
    assert [file for file in files if b"rotated every Friday" in file.read_bytes()] == []
    assert kept_prompts(session.id) == []


def test_a_session_that_is_forgotten_leaves_no_text_behind(project: Path, user: User, stranger: Path):
    session = HostSession("claude", project)
    tell(session, session.prompt(QUESTION))
    assert kept_files(stranger)
    user.done("session", "forget", session.id, "--yes")
    assert kept_files(stranger) == []


def test_what_is_kept_stays_small_and_is_its_owner_s_alone(stranger: Path):
    for turn in range(300):
        keep_prompt(KeptPrompt(session="long", at=f"2026-11-18T12:00:{turn % 60:02}Z", text=f"{turn} " + 1_500 * "x"))
    (file,) = kept_files(stranger)
    assert file.stat().st_size < 300_000
    assert file.stat().st_mode & 0o077 == 0
    assert kept_prompts("long")[0].text.startswith("299 ")
    assert 25 <= len(kept_prompts("long")) <= 50
    for number in range(205):
        keep_prompt(KeptPrompt(session=f"session {number}", at="2026-11-18T12:00:00Z", text="x"))
    assert len(kept_files(stranger)) == 200


def test_half_a_line_of_a_hook_that_was_killed_is_left_out(stranger: Path):
    keep_prompt(KeptPrompt(session="cut", at="2026-11-18T12:00:00Z", text="whole", entries=[{"id": "one"}]))
    (file,) = kept_files(stranger)
    file.write_bytes(file.read_bytes() + b'{"session": "cu\n' + json.dumps({"other": 1}).encode() + b"\n")
    assert [kept.text for kept in kept_prompts("cut")] == ["whole"]
    assert [kept.session for kept in kept_prompts_about("one")] == ["cut"]
    assert list(kept_prompts_about("another")) == []

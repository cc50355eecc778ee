"""What hooks note between sessions, in one file that several of them change at once."""

from __future__ import annotations

import json
import os
import threading
from fcntl import LOCK_EX, flock
from pathlib import Path

import pytest
from specs.projects import repository

from perdure.marks import mark_name
from perdure.session.privacy import begin_after_clear, current_session, latest_session, note_cleared, note_session


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "website")


@pytest.fixture
def folder(stranger: Path) -> Path:
    return stranger / ".local/share/perdure/sessions"


def test_what_earlier_versions_noted_in_files_of_their_own_still_counts_and_is_taken_over(project: Path, folder: Path):
    for kind, about, text in [("latest", str(project), "first"), ("continued", "zeroth", "first")]:
        (folder / kind).mkdir(parents=True)
        (folder / kind / mark_name(about)).write_text(text, encoding="utf-8")
    assert (latest_session(project), current_session("zeroth")) == ("first", "first")
    note_cleared(project, "first")
    begin_after_clear(project, "second")
    assert (latest_session(project), current_session("zeroth")) == ("first", "second")
    assert {path.name for path in folder.iterdir()} == {"notes.json"}


def test_hooks_that_note_at_the_same_time_lose_nothing(tmp_path: Path, folder: Path):
    projects = [tmp_path / str(number) for number in range(12)]
    threads = [threading.Thread(target=note_session, args=(each, each.name)) for each in projects]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [latest_session(each) for each in projects] == [each.name for each in projects]
    assert len(json.loads((folder / "notes.json").read_text(encoding="utf-8"))["latest"]) == len(projects)


def test_a_hook_that_was_stopped_while_it_writes_keeps_no_other_from_noting(project: Path, folder: Path):
    note_session(project, "first")
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        flock(descriptor, LOCK_EX)
        note_session(project, "second")
    finally:
        os.close(descriptor)
    assert latest_session(project) == "second"


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"latest": 5}', b'{"latest": {"a": 5}}', b"\xff"])
def test_damaged_notes_are_none_and_are_written_anew(damage: bytes, project: Path, folder: Path):
    note_session(project, "first")
    (folder / "notes.json").write_bytes(damage)
    assert latest_session(project) is None
    note_session(project, "second")
    assert latest_session(project) == "second"

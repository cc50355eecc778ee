"""S3's memory files, and its databases: `memory_save`, `memory_index_scan`, `memory_load` by anchor, the index that a
start rebuilds, and the migration on first access.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bank.databases import LEARNINGS, MEMORY_INDEX_10, indexed, learning, make
from bank.projects import OAUTH, OAUTH_PATH, write
from mcp_server.host import Host, served, started

from perdure import Memory
from perdure.clock import format_time
from perdure.session.origin import Origin

INDEX = ".opencode/memory/database/memory-index.sqlite"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PERDURE_EMBEDDER", "none")
    return tmp_path / "m.db"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write(tmp_path / "website")
    return tmp_path / "website"


@pytest.fixture
def agent(place: Path, project: Path) -> Iterator[Host]:
    with served(place, tools="reference", origin=Origin("website"), project=project) as host:
        host.call("memory_index_scan")
        yield host


def old_row() -> dict[str, object]:
    return {name: value for name, value in indexed(1).items() if name in MEMORY_INDEX_10}


def migrated(place: Path, project: Path, count: int = 1) -> None:
    """Start a server in the project, and wait until it has taken its database over."""
    with started(
        "--store", str(place), "--tools", "all", folder=project, environment={"HOME": str(project.parent)}
    ) as host:
        calls = (host.call("memory_list", specFolder="049-auth")["memories"] for _ in range(10_000))
        assert next(found for found in calls if len(found) >= count)


def test_a_file_is_saved_by_its_path(agent: Host, project: Path):
    """S3 save: its sections are memories, new versions where they changed."""
    write(project, text=OAUTH.replace("with 400", "with 401"))
    saved = agent.call("memory_save", filePath=OAUTH_PATH)
    assert (saved["inserted"], saved["updated"], saved["present"]) == (0, 1, 2)


def test_force_saves_what_did_not_change(agent: Host):
    """S3 save force: false unless it is given."""
    assert agent.call("memory_save", filePath=OAUTH_PATH)["present"] == 3
    assert agent.call("memory_save", filePath=OAUTH_PATH, force=True)["updated"] == 3


def test_a_scan_looks_at_every_folder_or_at_one(agent: Host, project: Path):
    """S3 scan: with specFolder at one alone."""
    write(project, "specs/050-parser/memory/01-12-25_09-00__lines.md", "One line at a time")
    assert agent.call("memory_index_scan", specFolder="049-auth")["inserted"] == 0
    assert agent.call("memory_index_scan")["inserted"] == 1


def test_a_memory_is_loaded_by_folder_and_anchor(agent: Host):
    """S3 load anchor: the anchor is optional."""
    assert len(agent.call("memory_load", specFolder="049-auth")["memories"]) == 3
    (found,) = agent.call("memory_load", specFolder="049-auth", anchorId="decision")["memories"]
    assert "verifies the state parameter" in found["text"]


def test_memory_files_are_those_in_the_memory_folder_of_a_specification(agent: Host, project: Path):
    """S3 files place: a file beside them is none."""
    write(project, "specs/049-auth/notes.md", "not a memory")
    write(project, "docs/memory/28-11-25_14-30__x.md", "not a memory")
    assert agent.call("memory_index_scan")["inserted"] == 0


def test_the_name_of_a_file_says_when_it_was_written(agent: Host, place: Path):
    """S3 files name: day, month, year, hour and minute, in the local time."""
    with Memory(place) as memory:
        moments = {
            record.valid_at.astimezone().strftime("%Y-%m-%d %H:%M") for record in memory.list() if record.valid_at
        }
    assert moments == {"2025-11-28 14:30"}


def test_sections_are_fenced_by_anchors(agent: Host, place: Path):
    """S3 files anchors: each is a memory with its anchor."""
    with Memory(place) as memory:
        assert {record.anchor_id for record in memory.list()} == {None, "decision", "errors"}


def test_front_matter_or_a_list_gives_the_triggers(agent: Host, project: Path):
    """S3 files triggers: both count."""
    write(project, "specs/050-parser/memory/01-12-25_09-00__x.md", "Words\n## Trigger Phrases\n- read a line\n")
    agent.call("memory_index_scan")
    assert agent.call("memory_match_triggers", prompt="the oauth callback fails")["trigger"] == "oauth callback"
    assert agent.call("memory_match_triggers", prompt="how do I read a line?")["trigger"] == "read a line"


def test_a_start_rebuilds_an_index_that_is_not_there(place: Path, project: Path):
    """S3 rebuild: in the background, from the files."""
    migrated(place, project, count=3)


def test_an_existing_database_is_migrated_on_first_access(place: Path, project: Path):
    """S3 migration: nothing has to be called for it, and the database stays as it is."""
    path = make(project / INDEX, MEMORY_INDEX_10, "memory_index", [old_row()])
    before = path.read_bytes()
    migrated(place, project, count=4)
    with Memory(place) as memory:
        (record,) = (record for record in memory.list() if record.anchor_id == "oauth")
    assert record.text == "Callback 1 verifies the state parameter."
    assert path.read_bytes() == before


def test_new_columns_have_sensible_defaults(place: Path, project: Path):
    """S3 migration defaults: normal, general, 0, and the time from created_at."""
    make(project / INDEX, MEMORY_INDEX_10, "memory_index", [old_row()])
    migrated(place, project, count=4)
    with Memory(place) as memory:
        (record,) = (record for record in memory.list() if record.anchor_id == "oauth")
    assert (record.tier, record.context_type, record.access_count) == ("normal", "general", 0)
    assert format_time(record.created_at).startswith("2025-11-28T14:30:00")


def test_the_learnings_database_of_the_user_is_taken_over(place: Path, project: Path):
    """S1 database place: from `~/.claude/iflow/memory/memory.db`, with its counts and times."""
    make(project.parent / ".claude/iflow/memory/memory.db", LEARNINGS, "entries", [learning(1)])
    migrated(place, project, count=3)
    with Memory(place) as memory:
        (record,) = memory.list(category="heuristics")
    assert (record.title, record.observation_count, record.recall_count) == ("Learning 1", 3, 4)

"""Databases of other memory tools are taken over whole, and left as they were."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from bank.databases import LEARNINGS, MEMORY_INDEX, MEMORY_INDEX_10, indexed, learning, make, opened
from bank.projects import write
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure import Memory
from perdure.bank.first_access import on_first_access
from perdure.bank.sections import ImportOptions, ImportReport
from perdure.bank.takeover import store_foreign, take_over
from perdure.clock import format_time
from perdure.model import Record
from perdure.store.sqlite.foreign.reading import ForeignDatabase, ForeignKind


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "website"
    folder.mkdir()
    return folder


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "m.db", embedder="none") as memory:
        yield memory


def learnings(home: Path, rows: list[dict[str, Any]], *more: str) -> Path:
    return make(home / ".claude/iflow/memory/memory.db", LEARNINGS, "entries", rows, *more)


def index(project: Path, rows: list[dict[str, Any]], *more: str, schema: str = MEMORY_INDEX) -> Path:
    return make(project / ".opencode/memory/database/memory-index.sqlite", schema, "memory_index", rows, *more)


def first_access(memory: Memory, project: Path, home: Path) -> tuple[ImportReport, ...]:
    return on_first_access(memory, project, "website", {"HOME": str(home)})


def records(memory: Memory) -> list[Record]:
    return [record for record in memory.list(newest=False, limit=100) if not (record.key or "").startswith("takeover:")]


def state(path: Path) -> dict[str, str]:
    return {each.name: sha256(each.read_bytes()).hexdigest() for each in path.parent.iterdir()}


def test_every_column_of_a_learning_arrives(memory: Memory, project: Path, home: Path):
    path = learnings(home, [learning(1)])
    before = state(path)
    (report,) = first_access(memory, project, home)
    assert (report.inserted, report.unread) == (1, ())
    (record,) = records(memory)
    assert (record.title, record.category, record.reasoning) == (
        "Learning 1", "heuristics", "Three bugs came from invented samples.",
    )  # fmt: skip
    assert record.text == "Parser 1 reads real samples before it is written."
    assert (record.keywords, record.references) == (("parser", "samples"), ("src/parser.py",))
    assert (record.observation_count, record.confidence, record.source) == (3, 1.0, "retro")
    assert (record.recall_count, record.source_project) == (4, "project-a")
    assert record.recalled_at is not None
    assert format_time(record.recalled_at).startswith("2026-01-05T10:00")
    assert format_time(record.created_at).startswith("2025-11-01T08:00")
    assert format_time(record.updated_at).startswith("2025-12-01T08:00")
    assert record.metadata["foreign_id"] == f"{1:016x}"
    assert any("gemini-embedding-001" in note for note in report.notes)
    assert state(path) == before


def test_every_column_of_the_memory_index_arrives(memory: Memory, project: Path, home: Path):
    path = index(
        project, [indexed(1)],
        "INSERT INTO memory_history (memory_id, field_changed, old_value, new_value, changed_at) VALUES (1, 'title', "
        "'Old', 'OAuth callback flow', '2025-11-28 15:00:00')",
        "INSERT INTO checkpoints (name, description, memory_count) VALUES ('pre-refactor-v2', 'Before the change', 42)",
    )  # fmt: skip
    before = state(path)
    (report,) = first_access(memory, project, home)
    (record,) = records(memory)
    assert (record.text, record.title) == ("Callback 1 verifies the state parameter.", "OAuth callback flow")
    assert (record.spec_folder, record.anchor_id, record.file_path) == ("049-auth", "oauth", indexed(1)["file_path"])
    assert (record.tier, record.context_type, record.importance) == ("critical", "decision", 0.8)
    assert (record.channel, record.session_id, record.source_project) == ("main", "s-1", "website")
    assert (record.access_count, record.validation_count, record.confidence) == (7, 5, 0.92)
    assert record.accessed_at is not None
    assert format_time(record.accessed_at).startswith("2025-12-01T10:00")
    assert format_time(record.created_at).startswith("2025-11-28T14:30")
    assert (record.trigger_phrases, record.metadata["foreign_id"]) == (("oauth callback",), 1)
    assert record.metadata["foreign_history"] == [
        {"field": "title", "old": "Old", "new": "OAuth callback flow", "at": "2025-11-28 15:00:00"}
    ]
    (told,) = (each for each in memory.list(key_type="takeover"))
    assert "pre-refactor-v2" in told.text
    assert "Before the change" in told.text
    assert report.inserted == 1
    assert state(path) == before


def test_columns_that_version_10_did_not_have_get_their_defaults(memory: Memory, project: Path, home: Path):
    old = {name: value for name, value in indexed(1).items() if name in MEMORY_INDEX_10}
    index(project, [old], schema=MEMORY_INDEX_10)
    first_access(memory, project, home)
    (record,) = records(memory)
    assert (record.tier, record.context_type, record.access_count) == ("normal", "general", 0)
    assert format_time(record.created_at).startswith("2025-11-28T14:30")


def test_a_second_access_writes_nothing_and_a_changed_source_adds_what_is_new(
    memory: Memory, project: Path, home: Path
):
    path = learnings(home, [learning(1), learning(2)])
    assert [report.inserted for report in first_access(memory, project, home)] == [2]
    lines = len(memory.log(limit=100))
    assert first_access(memory, project, home) == ()
    assert len(memory.log(limit=100)) == lines
    connection = opened(path)
    connection.execute("UPDATE entries SET id = 'x' WHERE id = ?", (learning(1)["id"],))
    connection.execute(
        "INSERT INTO entries (id, name, description, category, created_at, updated_at, source) "
        "VALUES ('y', 'New', 'Tests come first.', 'patterns', '2026-01-01', '2026-01-01', 'manual')"
    )
    connection.close()
    (report,) = first_access(memory, project, home)
    assert (report.inserted, report.present) == (1, 2)


def test_one_undo_takes_a_takeover_back(memory: Memory, project: Path, home: Path):
    learnings(home, [learning(n) for n in range(130)])
    (report,) = first_access(memory, project, home)
    assert report.batch is not None
    memory.undo(report.batch)
    assert list(memory.list()) == []


def test_what_was_forgotten_here_does_not_come_back(memory: Memory, project: Path, home: Path):
    path = learnings(home, [learning(1)])
    first_access(memory, project, home)
    memory.forget(records(memory)[0].number)
    connection = opened(path)
    connection.execute("UPDATE entries SET id = 'x'")
    connection.close()
    (report,) = first_access(memory, project, home)
    assert (report.inserted, report.kept_forgotten) == (0, 1)


def test_a_source_that_only_counted_recalls_is_not_taken_over_again(memory: Memory, project: Path, home: Path):
    path = learnings(home, [learning(1)])
    first_access(memory, project, home)
    connection = opened(path)
    connection.execute("UPDATE entries SET recall_count = recall_count + 1")
    connection.close()
    assert first_access(memory, project, home) == ()


def test_a_takeover_that_was_cut_off_goes_on_the_next_time(memory: Memory, project: Path, home: Path):
    path = learnings(home, [learning(n) for n in range(130)])

    def stop(_done: int, _total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        take_over(memory, path, project, ImportOptions(progress=stop))
    (report,) = first_access(memory, project, home)
    assert (report.inserted, report.present) == (2, 128)
    assert {record.recall_count for record in memory.list(category="heuristics", limit=200)} == {4}


def test_what_was_taken_back_is_not_taken_over_again_by_itself(memory: Memory, project: Path, home: Path):
    learnings(home, [learning(1)])
    (report,) = first_access(memory, project, home)
    assert report.batch is not None
    memory.undo(report.batch)
    assert first_access(memory, project, home) == ()
    assert records(memory) == []


def test_a_database_of_a_project_only_proposes_constitutional_memories(memory: Memory, project: Path, home: Path):
    index(project, [indexed(1, importance_tier="constitutional")])
    (report,) = first_access(memory, project, home)
    (record,) = records(memory)
    assert (record.tier, record.trust) == ("normal", "low")
    assert [offer.number for offer in memory.offers()] == [record.number]
    assert any("perdure promote" in note for note in report.notes)


def test_a_scan_of_the_file_makes_a_new_version_of_what_was_taken_over(memory: Memory, project: Path, home: Path):
    file = write(project)
    relative = file.relative_to(project).as_posix()
    index(project, [indexed(1, file_path=str(file), anchor_id=None, content="The whole file, as it was.")])
    first_access(memory, project, home)
    (rest,) = (record for record in records(memory) if record.anchor_id is None)
    assert (rest.file_path, rest.version, rest.metadata["foreign_id"]) == (relative, 2, 1)
    assert len(records(memory)) == 3


def test_values_that_no_memory_can_have_are_kept_in_the_metadata(memory: Memory, project: Path, home: Path):
    odd = learning(1, category="weird", confidence="sure", keywords="not json", created_at="yesterday-ish", source="")
    learnings(home, [odd, learning(2, description="   "), learning(3, description=None or "x" * (2 << 20))])
    (report,) = first_access(memory, project, home)
    (record,) = records(memory)
    kept = record.metadata["foreign_columns"]
    assert kept == {"category": "weird", "confidence": "sure", "keywords": "not json", "created_at": "yesterday-ish"}
    assert len(report.unread) == 2


def test_columns_that_nobody_knows_are_kept(memory: Memory, project: Path, home: Path):
    learnings(home, [learning(1)], "ALTER TABLE entries ADD COLUMN mood TEXT", "UPDATE entries SET mood = 'calm'")
    first_access(memory, project, home)
    assert records(memory)[0].metadata["foreign_columns"] == {"mood": "calm"}


def test_what_is_only_in_the_write_ahead_log_is_taken_over_as_well(memory: Memory, project: Path, home: Path):
    path = learnings(home, [learning(1)])
    writer = opened(path)
    writer.pragma("journal_mode", "wal")
    writer.execute("UPDATE entries SET name = 'Renamed in the log'")
    first_access(memory, project, home)
    assert records(memory)[0].title == "Renamed in the log"
    writer.close()


def bad_file(path: Path, kind: str) -> None:
    if kind == "noise":
        path.write_bytes(b"this is no database" * 1000)
    elif kind == "cut":
        path.write_bytes(path.read_bytes()[:5000])
    elif kind == "foreign":
        path.unlink()
        opened(path).execute("CREATE TABLE songs (id, name)")
    elif kind == "store":
        path.unlink()
        Memory(path, embedder="none").close()
    elif kind == "view":
        path.unlink()
        opened(path).execute(
            "CREATE VIEW entries AS WITH RECURSIVE t(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM t) "
            "SELECT id, id AS name, id AS description, id AS category FROM t"
        )


@pytest.mark.parametrize("kind", ["noise", "cut", "foreign", "store", "view"])
def test_a_file_that_cannot_be_taken_over_is_reported_and_nothing_else_happens(
    memory: Memory, project: Path, home: Path, kind: str
):
    path = learnings(home, [learning(n) for n in range(50)])
    bad_file(path, kind)
    write(project)
    reports = first_access(memory, project, home)
    assert reports[0].unread
    assert str(path) in reports[0].unread[0].reason or "cannot be read" in reports[0].unread[0].reason
    assert reports[1].inserted == 3


def test_a_locked_database_is_reported_and_taken_over_the_next_time(memory: Memory, project: Path, home: Path):
    path = learnings(home, [learning(n) for n in range(50)])
    writer = opened(path)
    writer.execute("PRAGMA cache_size = 1; BEGIN EXCLUSIVE; UPDATE entries SET name = hex(randomblob(5000))")
    (report,) = first_access(memory, project, home)
    assert "locked" in report.unread[0].reason
    writer.execute("ROLLBACK")
    writer.close()
    (report,) = first_access(memory, project, home)
    assert report.inserted == 50


def test_an_empty_file_is_no_source(memory: Memory, project: Path, home: Path):
    path = home / ".claude/iflow/memory/memory.db"
    path.parent.mkdir(parents=True)
    path.touch()
    assert first_access(memory, project, home) == ()


def test_a_project_cannot_name_a_database_outside_of_itself(memory: Memory, project: Path, home: Path, tmp_path: Path):
    make(tmp_path / "private.sqlite", MEMORY_INDEX, "memory_index", [indexed(1)])
    write(project, ".opencode/memory/config.jsonc", '{"semantic": {"indexPath": "../private.sqlite"}}')
    assert first_access(memory, project, home) == ()


def test_the_configured_place_of_the_database_counts(memory: Memory, project: Path, home: Path):
    make(project / "data/index.sqlite", MEMORY_INDEX, "memory_index", [indexed(1)])
    write(project, ".opencode/memory/config.jsonc", '{"semantic": {"indexPath": "data/index.sqlite"}}')
    assert [report.inserted for report in first_access(memory, project, home)] == [1]


VALUES = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.text(max_size=20)
    | st.binary(max_size=10)
    | st.sampled_from(
        ["[]", '["a", 1, null]', "{}", "[[", "2025-13-99", "2025-11-28", "constitutional", "critical", "0.5"]
    )
)
COLUMNS = [*learning(1), *indexed(1), "id", "created_at_epoch", "mood of it", ""]
ROWS = st.dictionaries(st.sampled_from(COLUMNS), VALUES, max_size=25).map(
    lambda row: {**row, "description": row.get("description") or "Some text", "content": row.get("content") or "Other"}
)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["learnings", "memory index"]),
    st.lists(ROWS, min_size=1, max_size=3),
)
def test_whatever_a_row_holds_it_is_taken_over_or_left_out_with_a_reason(kind: ForeignKind, rows: list[dict[str, Any]]):
    change = {"memory_id": 1, "field_changed": "title", "old_value": None, "new_value": "\x00"}
    found = ForeignDatabase(kind, tuple(rows), history=(change,), checkpoints=({"name": "a\x00b"},))
    with Memory(":memory:", embedder="none") as memory:
        done = store_foreign(memory, Path(__file__), found, None, ImportOptions("website"))
        assert done.inserted + done.present + done.updated + done.kept_forgotten + len(done.unread) == len(rows)

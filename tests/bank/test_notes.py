"""Vaults of Obsidian and basic-memory: what a note links to, and a note that is moved."""

from __future__ import annotations

from pathlib import Path

from perdure import Memory
from perdure.bank.sections import ImportOptions
from perdure.bank.sources import import_source, recognise, sources_of


def test_what_a_note_links_to_are_its_references(tmp_path: Path):
    (tmp_path / "coffee.md").write_text(
        "See [[Brewing]] and [[Beans|the beans]].\n- pairs_with [[Milk#Oat]]\n", "utf-8"
    )
    with Memory(":memory:", embedder="none") as memory:
        import_source(memory, recognise(tmp_path), ImportOptions(project_name="vault"))
        assert [record.references for record in memory.list()] == [("Brewing", "Beans", "Milk")]


def test_a_note_with_a_permalink_stays_one_memory_when_its_file_is_moved(tmp_path: Path):
    note = tmp_path / "coffee.md"
    note.write_text("---\ntitle: Coffee\npermalink: drinks/coffee\n---\nTwo cups a day.\n", "utf-8")
    with Memory(":memory:", embedder="none") as memory:
        import_source(memory, recognise(tmp_path), ImportOptions(project_name="vault"))
        (tmp_path / "hot").mkdir()
        note.rename(tmp_path / "hot" / "coffee.md")
        import_source(memory, recognise(tmp_path), ImportOptions(project_name="vault"))
        assert [(record.number, record.key) for record in memory.list()] == [(1, "document:vault/drinks/coffee#top")]


def test_rules_of_editors_are_found_where_editors_keep_them(tmp_path: Path):
    for name in (".cursorrules", ".windsurf/rules/a.md", ".github/copilot-instructions.md", "memory-bank/progress.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("Use tabs.\n", "utf-8")
    found = {source.paths[0].name for source in sources_of("editors", tmp_path, tmp_path, {})}
    assert found == {".cursorrules", "a.md", "copilot-instructions.md", "progress.md"}


def test_a_note_that_begins_with_its_own_name_is_called_by_it_once(tmp_path: Path):
    (tmp_path / "note-52.md").write_text("# Note 52\nTea at five.\n# Later\nCake at six.\n", "utf-8")
    with Memory(":memory:", embedder="none") as memory:
        import_source(memory, recognise(tmp_path), ImportOptions(project_name="vault"))
        titles = [record.title for record in memory.list(newest=False)]
        assert titles == ["Note 52", "note-52.md: Later"]


def test_two_notes_with_one_permalink_are_two_memories_and_stay_so(tmp_path: Path):
    for name, text in {"a.md": "One cup a day.", "b.md": "Two cups a day."}.items():
        (tmp_path / name).write_text(f"---\npermalink: drinks/coffee\n---\n{text}\n", "utf-8")
    with Memory(":memory:", embedder="none") as memory:
        first = import_source(memory, recognise(tmp_path), ImportOptions(project_name="vault"))
        again = import_source(memory, recognise(tmp_path), ImportOptions(project_name="vault"))
        assert (first.inserted, again.inserted, again.updated, again.present) == (2, 0, 0, 2)
        assert [(record.text, record.key) for record in memory.list(newest=False)] == [
            ("One cup a day.", "document:vault/drinks/coffee#top"), ("Two cups a day.", "document:vault/b.md#top"),
        ]  # fmt: skip

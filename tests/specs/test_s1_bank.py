"""S1 D7, D9: the Markdown knowledge bank, its import and its rebuilding; criteria 6 and 8."""

from __future__ import annotations

from pathlib import Path

import pytest
from bank.banks import GLOBAL, make_global, make_project
from bank.plain_reference import block, chosen
from specs.workshop import LEARNING, Workshop

from perdure import Memory
from perdure.bank.importing import import_bank, import_if_empty
from perdure.session.start import session_block
from perdure.settings import load
from perdure.testing.embedder import WordEmbedder

ANY = 60.0


@pytest.fixture
def project(tmp_path: Path, stranger: Path) -> Path:
    make_global(stranger)
    return make_project(tmp_path / "shop")


@pytest.fixture
def shop(project: Path, tmp_path: Path) -> Workshop:
    return Workshop(project, tmp_path / "m.db")


def titles(memory: Memory) -> set[str | None]:
    return {record.title for record in memory.list(limit=100)}


def test_the_first_run_imports_the_bank(memory: Memory, project: Path):
    """S1 import first run: an empty store is filled; the next session imports nothing."""
    assert import_if_empty(memory, project, ANY).inserted == 4
    assert import_if_empty(memory, project, ANY).inserted == 0


def test_the_projects_bank_and_the_global_one_are_imported(memory: Memory, project: Path):
    """S1 import both: local and global files, one memory for what stands in both."""
    import_if_empty(memory, project, ANY)
    assert titles(memory) == {"Guessing Encodings", "Thin Orchestrator", "Read Real Samples", "Release Early"}


def test_imported_entries_say_so(memory: Memory, project: Path):
    """S1 import source: every one is of the source import."""
    import_if_empty(memory, project, ANY)
    assert {record.source for record in memory.list()} == {"import"}


def test_the_switch_gives_the_markdown_pipeline_back(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """S1 toggle off: output identical to the pipeline on Markdown; no store is made or opened, nothing is embedded."""
    monkeypatch.setenv("PERDURE_STORE", str(tmp_path / "never.db"))
    configuration = project / ".claude" / "iflow-dev.local.md"
    configuration.parent.mkdir()
    configuration.write_text("---\nmemory_semantic_enabled: false\n---\n", encoding="utf-8")
    shared = Path.home() / ".claude" / "iflow" / "memory"
    assert session_block(None, project).text == block(chosen(project, shared, 20))
    assert not (tmp_path / "never.db").exists()
    # A store that would break whoever opens it changes nothing.
    (tmp_path / "never.db").write_bytes(b"no database at all" * 100)
    before = (tmp_path / "never.db").read_bytes()
    assert session_block(load(), project).text == block(chosen(project, shared, 20))
    assert (tmp_path / "never.db").read_bytes() == before


def test_the_fields_of_an_entry_arrive(memory: Memory, project: Path):
    """S1 criterion 8 mapping: name, description, category, count, confidence, references and the rest."""
    import_if_empty(memory, project, ANY)
    record = memory.get(1)
    assert (record.title, record.category, record.observation_count, record.confidence) == (
        "Guessing Encodings", "anti-patterns", 3, 1.0,
    )  # fmt: skip
    assert record.text == "Guessing the encoding of a text file corrupts names; ask for it."
    assert record.references[0] == "Feature #002"
    assert record.metadata["cost"] == "Two days of repair"
    assert memory.get(2).confidence == pytest.approx(2 / 3)


def test_an_entry_is_imported_once(memory: Memory, project: Path):
    """S1 criterion 8 duplicates: the content hash decides, in the next run and for the same text in other spacing."""
    assert import_bank(memory, project).inserted == 4
    assert import_bank(memory, project).present == 4
    spaced = GLOBAL["heuristics"].replace("Nothing ships", "NOTHING   ships")
    make_global(Path.home(), {"heuristics": spaced})
    again = import_bank(memory, project)
    assert (again.inserted, again.present, len(memory.list(limit=100).records)) == (0, 4, 4)


def test_imported_entries_get_their_vectors_later(clock: object, project: Path):
    """S1 import embeddings: text at once, vectors and keywords by the work that follows."""
    with Memory(":memory:", embedder=WordEmbedder()) as memory:
        import_if_empty(memory, project, ANY)
        assert memory.recall("encoding of a file")[0].record.title == "Guessing Encodings"
        assert memory.stats().namespaces[0].vectors_pending == 4
        memory.work()
        assert memory.stats().namespaces[0].vectors_pending == 0
        assert all(len(record.keywords) >= 3 for record in memory.list())


def test_edits_of_the_markdown_stay_there(shop: Workshop):
    """S1 retro edits: what a person changes in the files later is not brought into the store."""
    shop.retro(LEARNING)
    path = shop.project / "docs" / "knowledge-bank" / "anti-patterns.md"
    path.write_text(shop.bank("anti-patterns").replace("ask for it.", "never ask."), encoding="utf-8")
    with Memory(shop.store, embedder="none") as memory:
        assert import_if_empty(memory, shop.project, ANY).inserted == 0
        assert "never ask" not in " ".join(record.text for record in memory.list(limit=100))


def test_a_lost_store_is_rebuilt_from_the_markdown(shop: Workshop):
    """S1 retro rebuild: every entry comes back from the files, with its count, and again changes nothing."""
    shop.retro(LEARNING)
    shop.retro(LEARNING)
    with Memory(shop.store, embedder="none") as memory:
        before = {record.content_hash: record.observation_count for record in memory.list(limit=100)}
    for path in shop.store.parent.glob("m.db*"):
        path.unlink()
    with Memory(shop.store, embedder="none") as memory:
        assert import_if_empty(memory, shop.project, ANY).inserted == 5
        assert {record.content_hash: record.observation_count for record in memory.list(limit=100)} == before
        assert import_bank(memory, shop.project).inserted == 0

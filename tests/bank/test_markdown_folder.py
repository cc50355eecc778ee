"""A store as a folder of Markdown: in the layout of the Open Memory Protocol, and read again without loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perdure import Memory
from perdure.bank.markdown_folder import export_folder, folder_records, import_folder, is_markdown_export
from perdure.bank.sources import recognise
from perdure.errors import Conflict, ImportFailed

FIELDS = ("text", "key", "title", "tags", "category", "tier", "importance", "metadata", "valid_at", "invalid_at",
          "created_at", "updated_at", "source", "trust", "content_hash", "observation_count")  # fmt: skip


def told(memory: Memory) -> list[tuple[Any, ...]]:
    return [tuple(getattr(record, name) for name in FIELDS) for record in memory.list(limit=1000)]


def filled() -> Memory:
    memory = Memory(":memory:", embedder="none")
    memory.remember("Never deploy on Fridays", tier="constitutional", key="rule:friday")
    memory.remember("Bo prefers tea\n", category="preference", tags=["drinks"], metadata={"a": [1, {"b": "ü"}]})
    memory.remember("---\nid: not a field\n---\nlooks like front matter", title="Odd: [text]")
    memory.remember("Bo lived in Kobe", key="person:bo", valid_at="2020-01-01T00:00:00Z")
    memory.update("person:bo", text="Bo lives in Osaka")
    memory.conversation("c1").add_message("user", "I moved to Osaka")
    return memory


def test_every_folder_has_an_index_and_what_always_matters_stands_at_the_top(tmp_path: Path):
    with filled() as memory:
        assert export_folder(memory, tmp_path / "m").written == 5
    folders = {path.parent for path in (tmp_path / "m").rglob("*.md")}
    assert all((folder / "MEMORY.md").is_file() for folder in folders)
    top = [path.name for path in (tmp_path / "m").glob("*.md")]
    assert sorted(top) == ["00001-never-deploy-on-fridays.md", "MEMORY.md"]
    index = (tmp_path / "m" / "MEMORY.md").read_text(encoding="utf-8")
    assert "preference/MEMORY.md" in index
    assert "conversations/MEMORY.md" in index


def test_files_at_the_top_stay_below_the_tokens_that_the_draft_recommends(tmp_path: Path):
    with Memory(":memory:", embedder="none") as memory:
        for number in range(300):
            memory.remember(f"Rule {number}: never deploy on day {number}", tier="critical", key=f"rule:{number}")
        export_folder(memory, tmp_path / "m")
    files = [path.stat().st_size for path in (tmp_path / "m").glob("0*.md")]
    assert 100 < len(files) < 300
    assert sum(files) <= 100_000
    assert len(list((tmp_path / "m" / "memories").glob("0*.md"))) == 300 - len(files)


def test_a_folder_that_is_imported_into_an_empty_store_says_all_that_was_exported(tmp_path: Path):
    with filled() as memory, Memory(":memory:", embedder="none") as other:
        export_folder(memory, tmp_path / "m")
        assert recognise(tmp_path / "m").kind == "Markdown export"
        other.import_(folder_records(tmp_path / "m"), trusted=True)
        assert sorted(told(other), key=str) == sorted(told(memory), key=str)


def test_a_folder_that_is_imported_where_it_comes_from_changes_nothing(tmp_path: Path):
    with filled() as memory:
        export_folder(memory, tmp_path / "m")
        done = memory.import_(folder_records(tmp_path / "m"), trusted=True)
        assert (done.inserted, done.updated, done.present) == (0, 0, 5)


def edit(folder: Path, name: str, old: str, new: str) -> None:
    file = next(folder.rglob(f"*{name}.md"))
    file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def test_a_text_that_was_edited_in_the_folder_is_a_new_version(tmp_path: Path):
    """With a key and without one, all in one batch."""
    with filled() as memory:
        before = told(memory)
        export_folder(memory, tmp_path / "m")
        edit(tmp_path / "m", "bo-lives-in-osaka", "in Osaka\n", "in Kyoto\n")
        edit(tmp_path / "m", "bo-prefers-tea", "tea\n", "coffee\n")
        dry = import_folder(memory, tmp_path / "m", trusted=True, dry_run=True)
        assert (dry.updated, dry.batch, told(memory)) == (2, None, before)
        done = import_folder(memory, tmp_path / "m", trusted=True)
        assert (done.inserted, done.updated, done.present) == (0, 2, 3)
        assert (memory.get(2).text.strip(), memory.get(2).version) == ("Bo prefers coffee", 2)
        assert memory.get("person:bo").text == "Bo lives in Kyoto"
        again = import_folder(memory, tmp_path / "m", trusted=True)
        assert (again.inserted, again.updated, again.present, again.batch) == (0, 0, 5, None)
        assert done.batch
        memory.undo(done.batch)
        assert {each.text.strip() for each in memory.list()} == {str(each[0]).strip() for each in before}


def test_an_edit_in_the_folder_gives_way_to_one_that_was_made_here(tmp_path: Path):
    with filled() as memory:
        export_folder(memory, tmp_path / "m")
        edit(tmp_path / "m", "bo-prefers-tea", "tea\n", "coffee\n")
        memory.update(2, text="Bo prefers mate")
        done = import_folder(memory, tmp_path / "m", trusted=True)
        assert (done.inserted, done.updated, done.skipped_deleted) == (0, 0, 1)
        assert memory.get(2).text == "Bo prefers mate"


def test_a_stranger_s_folder_changes_no_memory_by_its_id(tmp_path: Path):
    with filled() as memory:
        export_folder(memory, tmp_path / "m")
        edit(tmp_path / "m", "bo-prefers-tea", "tea\n", "coffee\n")
        assert import_folder(memory, tmp_path / "m").inserted == 1
        assert memory.get(2).text.strip() == "Bo prefers tea"


def test_a_tombstone_blocks_resurrection_from_an_old_folder(tmp_path: Path):
    with filled() as memory:
        export_folder(memory, tmp_path / "m")
        memory.erase(["person:bo"], confirm=True)
        done = memory.import_(folder_records(tmp_path / "m"), trusted=True)
        assert (done.inserted, done.skipped_deleted) == (0, 1)


def test_a_correction_here_is_not_undone_by_an_old_folder(tmp_path: Path):
    with filled() as memory:
        export_folder(memory, tmp_path / "m")
        memory.update("person:bo", text="Bo lives in Nara")
        memory.import_(folder_records(tmp_path / "m"), trusted=True)
        assert memory.get("person:bo").text == "Bo lives in Nara"


def test_when_something_was_true_is_kept_apart_from_when_it_was_written_down(tmp_path: Path):
    with filled() as memory, Memory(":memory:", embedder="none") as other:
        export_folder(memory, tmp_path / "m")
        other.import_(folder_records(tmp_path / "m"), trusted=True)
        there, here = memory.get("person:bo"), other.get("person:bo")
        assert (here.valid_at, here.created_at) == (there.valid_at, there.created_at)


def test_a_folder_is_replaced_only_if_it_is_an_export_and_somebody_says_so(tmp_path: Path):
    with filled() as memory:
        (tmp_path / "mine").mkdir()
        with pytest.raises(Conflict):
            export_folder(memory, tmp_path / "mine", overwrite=True)
        export_folder(memory, tmp_path / "m")
        with pytest.raises(Conflict):
            export_folder(memory, tmp_path / "m")
        memory.forget("person:bo")
        assert export_folder(memory, tmp_path / "m", overwrite=True).written == 4
        assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "mine"]


def test_a_damaged_field_is_named_and_nothing_is_stored(tmp_path: Path):
    with filled() as memory, Memory(":memory:", embedder="none") as other:
        export_folder(memory, tmp_path / "m")
        file = next((tmp_path / "m").glob("0*.md"))
        file.write_text(file.read_text(encoding="utf-8").replace("tier: ", "tier: {"), encoding="utf-8")
        with pytest.raises(ImportFailed, match="is not a field of a memory"):
            other.import_(folder_records(tmp_path / "m"))
        assert not other.list()
    assert not is_markdown_export(tmp_path)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(min_size=1).filter(lambda text: text.strip() and "\0" not in text))
def test_any_text_comes_back_to_the_letter(tmp_path_factory: pytest.TempPathFactory, text: str):
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    path = tmp_path_factory.mktemp("any")
    with Memory(":memory:", embedder="none") as memory:
        memory.remember(text)
        stored = [record.text for record in memory.list()]
        export_folder(memory, path / "m")
        assert [record["text"] for record in folder_records(path / "m")] == stored

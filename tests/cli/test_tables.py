from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from cli.user import User

NOTES = """text,Tags,valid at,importance,team,phone
Alice prefers dark mode,"ui, people",2026-03-14,0.8,design,0049
"The build runs at night,
and takes an hour",ops,,,platform,

,,,,,
"""


def records(user: User) -> list[dict[str, object]]:
    return user.done("list", "--oldest", "--json").json["records"]


def test_each_row_of_a_table_is_a_memory_and_each_column_a_field_or_metadata(user: User, tmp_path: Path):
    path = tmp_path / "notes.csv"
    path.write_text(NOTES, encoding="utf-8")
    answer = user.done("import", str(path))
    assert answer.out == "Imported 2: 2 new, 0 updated, 0 known.\n"
    assert "fields of a memory: text, tags, valid_at, importance. Kept as metadata: team, phone." in answer.err
    first, second = records(user)
    # What nobody vouches for is no more important than anything else.
    assert (first["text"], first["tags"], first["importance"]) == ("Alice prefers dark mode", ["ui", "people"], 0.5)
    assert str(first["valid_at"]).startswith("2026-03-1")
    assert first["metadata"] == {"team": "design", "phone": "0049"}
    assert second["text"] == "The build runs at night,\nand takes an hour"
    assert user.done("import", str(path)).out == "Imported 0: 0 new, 0 updated, 2 known.\n".replace("0: 0", "2: 0")
    user.done("undo", "--yes")
    assert records(user) == []


def test_a_table_says_how_important_something_is_only_if_it_is_trusted(user: User, tmp_path: Path):
    path = tmp_path / "notes.csv"
    path.write_text(NOTES, encoding="utf-8")
    user.done("import", str(path))
    assert [(record["importance"], record["trust"]) for record in records(user)] == [(0.5, "low")] * 2
    user.done("import", str(path), "--trusted", "-n", "own")
    own = user.done("list", "--oldest", "--json", "-n", "own").json["records"]
    assert [(record["importance"], record["trust"]) for record in own] == [(0.8, "normal"), (0.5, "normal")]


@pytest.mark.parametrize("separator", [";", "\t"])
def test_columns_may_be_separated_by_semicolons_or_tabs_and_a_mark_at_the_beginning_is_no_letter(
    user: User, tmp_path: Path, separator: str
):
    path = tmp_path / "notes.CSV"
    path.write_text(f"text{separator}tag\ntea{separator}drinks\n", encoding="utf-8-sig")
    user.done("import", str(path))
    assert [(record["text"], record["tags"]) for record in records(user)] == [("tea", ["drinks"])]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("words,tags\ntea,x\n", "has no column `text`. Its columns: 'words', 'tags'."),
        ("", "has no column `text`. Its columns: none."),
        ("text,TEXT\ntea,x\n", "has the column 'text' twice."),
        ("text,tags\ntea,x,y\n", "Row 2 has 3 cells, and there are 2 columns."),
        ("text,tier\ntea,\nmilk,nope\n", "Row 3: There is no tier 'nope'."),
        ("text,metadata\ntea,{}\nmilk,[1]\n", "Row 3: '[1]' is not a JSON object"),
        ('text,tags\n"tea,x\n', "Row 2 cannot be read"),
    ],
)
def test_a_table_that_cannot_be_read_stores_nothing_and_says_where(
    user: User, tmp_path: Path, content: str, sentence: str
):
    path = tmp_path / "notes.csv"
    path.write_text(content, encoding="utf-8")
    assert sentence in user.fails(2, "import", str(path)).err
    path.write_bytes(b"text\n\xff\n")
    assert "is not UTF-8" in user.fails(2, "import", str(path)).err


@pytest.mark.parametrize("is_new", [True, False], ids=["no store yet", "a store"])
def test_a_dry_run_counts_what_an_import_then_does(newcomer: User, store: Path, tmp_path: Path, is_new: bool):
    path = tmp_path / "notes.csv"
    path.write_text("text,key\ntea,drink:alice\nmilk,drink:alice\ncocoa,\ncocoa,\nwater,\n", encoding="utf-8")
    if not is_new:
        newcomer.done("remember", "water")
        newcomer.done("remember", "cocoa")
        newcomer.done("forget", "cocoa", "--yes")
    files = {each.name for each in tmp_path.iterdir()}
    foretold = newcomer.done("import", str(path), "--dry-run")
    assert {each.name for each in tmp_path.iterdir()} == files
    assert is_new or [record["text"] for record in records(newcomer)] == ["water"]
    happened = newcomer.done("import", str(path))
    assert foretold.out == happened.out.replace("Imported", "Would import")
    assert foretold.out.startswith("Would import 5: 3 new, 1 upd" if is_new else "Would import 3: 1 new, 1 upd")
    assert ("2 records skipped: deleted" in foretold.err) == ("2 records skipped: deleted" in happened.err) != is_new
    assert "undo" not in foretold.err


def test_a_dry_run_of_an_export_says_what_is_wrong_with_it(user: User):
    assert "Line 2: text is empty." in user.fails(2, "import", "-", "--dry-run", stdin='{"text":"a"}\n{"text":""}').err
    assert user.done("import", "-", "--dry-run", stdin='{"text":"a"}').out.startswith("Would import 1: 1 new")
    assert records(user) == []


def test_an_array_of_objects_is_read_as_their_lines_would_be(user: User):
    assert user.done("import", "-", stdin='[{"text": "tea"},\n {"text": "milk"}]').out.startswith("Imported 2: 2 new")
    assert "Record 2 is not a JSON object." in user.fails(2, "import", "-", stdin='[{"text": "tea"}, 7]').err
    assert "Record 1: text is empty." in user.fails(2, "import", "-", stdin='[{"text": ""}]').err
    assert "The file is not JSON" in user.fails(2, "import", "-", stdin="[{").err


def test_what_cannot_be_imported_says_what_can(user: User, tmp_path: Path):
    path = tmp_path / "notes.data"
    path.write_text("Alice likes tea\n", encoding="utf-8")
    error = user.fails(2, "import", str(path)).err
    assert f"{path} is neither JSON nor a table nor Markdown." in error
    assert "perdure remember --lines" in error
    assert "an array of such objects" in user.fails(2, "import", "-", stdin="Alice likes tea\n").err


@pytest.mark.parametrize("beginning", [b"", b"text\nx\n"])
def test_a_line_without_an_end_is_not_read_to_its_end(user: User, tmp_path: Path, beginning: bytes):
    path = tmp_path / "zeros.csv"
    with path.open("wb") as file:
        file.write(beginning)
        file.truncate(1 << 26)
    refused = user("import", str(path))
    assert (refused.code, "longer than 8,388,608 characters" in refused.err) == (2, True)

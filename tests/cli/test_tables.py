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
    assert (first["text"], first["tags"], first["importance"]) == ("Alice prefers dark mode", ["ui", "people"], 0.8)
    assert str(first["valid_at"]).startswith("2026-03-1")
    assert first["metadata"] == {"team": "design", "phone": "0049"}
    assert second["text"] == "The build runs at night,\nand takes an hour"
    assert user.done("import", str(path)).out == "Imported 0: 0 new, 0 updated, 2 known.\n".replace("0: 0", "2: 0")
    user.done("undo", "--yes")
    assert records(user) == []


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
        ("text,tier\ntea,\nmilk,nope\n", "Record 2: There is no tier 'nope'."),
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

"""Tables of a spreadsheet (CSV, or with tabs): a row is a memory, a column is a field. Objects whose words have another
name than `text` are read the same way.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO, cast

from perdure.bank.markdown_folder import records_in
from perdure.errors import ImportFailed, shown
from perdure.jsonable import to_jsonable
from perdure.lifecycle.import_export import RECORD_FIELDS
from perdure.model import LIST_FIELDS, Exported, Json, State
from perdure.text_files import replacing

if TYPE_CHECKING:
    from perdure.memory import Memory

SUFFIXES: Final = (".csv", ".tsv")
_OTHER_NAMES: Final = {"tag": "tags", "keyword": "keywords", "reference": "references"}
_SEPARATORS: Final = (",", ";", "\t")
_MAX_CELL: Final = 1 << 22
_MAX_LINE: Final = 1 << 23
_HOW: Final = (
    "The first line names the columns, and one of them is `text`, or what --text-field names; nothing was stored."
)
# What a table of ours has, in this order.
COLUMNS: Final = (
    "text", "key", "title", "category", "tags", "keywords", "tier", "importance", "confidence", "source", "trust",
    "valid_at", "invalid_at", "expires_at", "created_at", "updated_at", "state", "number", "metadata",
)  # fmt: skip
# A spreadsheet computes what begins so, and a memory may hold what a stranger wrote: an apostrophe keeps it a text.
_COMPUTED: Final = ("=", "+", "-", "@", "\t", "\r")


class RowRecord(dict[str, Json]):
    """A record and the row that it was: an error names it as a spreadsheet does, with the names of the columns as 1."""

    place: str = ""


@dataclass(frozen=True, slots=True)
class TableRecords:
    """The rows as records; which columns are fields of a memory, and which became entries of its metadata."""

    records: tuple[Mapping[str, Json], ...]
    fields: tuple[str, ...]
    metadata: tuple[str, ...]


def write_table(memory: Memory, path: Path, *, states: Sequence[State]) -> Exported:
    """The memories as they are, without their history, for a spreadsheet. `read_table` reads it back."""
    count_written = 0
    with replacing(path) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        for record in records_in(memory, states, newest=False):
            fields = to_jsonable(record)
            writer.writerow([cell_of_value(fields.get(name)) for name in COLUMNS])
            count_written += 1
    return Exported(count_written)


def cell_of_value(value: object) -> str:
    if value is None or value in ([], {}):
        return ""
    if isinstance(value, list):
        cell = ", ".join(map(str, cast("list[object]", value)))
    else:
        cell = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)
    return f"'{cell}" if isinstance(value, str | list) and cell.lstrip("'").startswith(_COMPUTED) else cell


def read_table(path: Path, text_field: str = "text") -> TableRecords:
    """ImportFailed names the line that cannot be read."""
    csv.field_size_limit(_MAX_CELL)
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            # Spreadsheets of some countries write semicolons.
            separator = max(_SEPARATORS, key=stream.readline(_MAX_LINE).count)
            stream.seek(0)
            return records_of_rows(csv.reader(lines_of(stream), delimiter=separator, strict=True), path, text_field)
    except UnicodeDecodeError as error:
        raise ImportFailed(f"{path} is not UTF-8.", remedy="Save it as UTF-8; nothing was stored.") from error
    except OSError as error:
        raise ImportFailed(f"{path} cannot be read: {error.strerror}.") from error


def lines_of(stream: TextIO) -> Iterator[str]:
    """What is no table may have no line end."""
    for number in count(1):
        line = stream.readline(_MAX_LINE + 1)
        if len(line) > _MAX_LINE:
            raise ImportFailed(f"Line {number} is longer than {_MAX_LINE:,} characters.")
        if not line:
            return
        yield line


def records_of_objects(
    objects: Iterable[tuple[str, Mapping[str, Any]]], text_field: str
) -> Iterator[Mapping[str, Json]]:
    """Objects of JSON, each with its place. As of a row, what is no field of a memory goes into its metadata."""
    for place, given in objects:
        record: dict[str, Json] = {}
        own: dict[str, Json] = {}
        for name, value in given.items():
            field = "text" if name == text_field else field_of_column(name)
            if field and (field != "text" or name == text_field):
                record[field] = value
            elif name and value is not None:
                own[name] = value
        if "text" not in record:
            raise ImportFailed(f"{place}: It has no field {shown(text_field)}.")
        entries = record.get("metadata")
        together = {**(entries if isinstance(entries, dict) else {}), **own}
        made = RowRecord({**record, **({"metadata": together} if together else {})})
        made.place = place
        yield made


def records_of_rows(rows: Iterator[Sequence[str]], path: Path, text_field: str = "text") -> TableRecords:
    names = [name.strip() for name in next(rows, ())]
    is_ours = tuple(names) == COLUMNS
    fields = ["text" if name == text_field else field_of_column(name) for name in names]
    if text_field != "text":
        fields = [None if field == "text" and name != text_field else field
                  for name, field in zip(names, fields, strict=True)]  # fmt: skip
    known = [field for field in fields if field]
    own = [name for name, field in zip(names, fields, strict=True) if name and not field]
    if "text" not in known:
        listed = ", ".join(map(shown, names)) or "none"
        raise ImportFailed(f"{path} has no column `{text_field}`. Its columns: {listed}.", remedy=_HOW)
    if twice := next((name for some in (known, own) for name in some if some.count(name) > 1), None):
        raise ImportFailed(f"{path} has the column {shown(twice)} twice.", remedy=_HOW)
    records: list[Mapping[str, Json]] = []
    line = 1
    try:
        for row in rows:
            cells = [as_written(cell) for cell in row] if is_ours else row
            line += 1
            if len(cells) > len(names):
                raise ImportFailed(f"Row {line} has {len(cells)} cells, and there are {len(names)} columns.")
            if any(cell.strip() for cell in cells):
                records.append(record_of_row(names, fields, cells, line))
    except csv.Error as error:
        raise ImportFailed(f"Row {line + 1} cannot be read: {error}.") from error
    return TableRecords(tuple(records), tuple(known), tuple(own))


def field_of_column(name: str) -> str | None:
    """The field of a record that a column is, however it is written: `Valid at` is `valid_at`."""
    plain = name.lower().replace(" ", "_").replace("-", "_")
    plain = _OTHER_NAMES.get(plain, plain)
    return plain if plain in RECORD_FIELDS else None


def record_of_row(names: Sequence[str], fields: Sequence[str | None], cells: Sequence[str], line: int) -> RowRecord:
    record: dict[str, Any] = {}
    metadata: dict[str, Json] = {}
    for name, field, cell in zip(names, fields, cells, strict=False):
        if not cell.strip():
            continue
        if field == "metadata":
            try:
                entries: object = json.loads(cell)
            except (ValueError, RecursionError):
                entries = None
            if not isinstance(entries, dict):
                raise ImportFailed(f"Row {line}: {shown(cell)} is not a JSON object, as `metadata` must be.")
            metadata |= cast("dict[str, Json]", entries)
        elif field:
            record[field] = value_of_cell(field, cell)
        elif name:
            # What looks like a number may be a telephone number: it stays as it is written.
            metadata[name] = cell
    made = RowRecord({**record, **({"metadata": metadata} if metadata else {})})
    made.place = f"Row {line}"
    return made


def as_written(cell: str) -> str:
    """A cell of ours without the apostrophe that kept it a text."""
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(_COMPUTED) else cell


def value_of_cell(field: str, cell: str) -> Json:
    if field in LIST_FIELDS:
        return [word.strip() for word in cell.replace(";", ",").split(",") if word.strip()]
    if field in {"importance", "confidence"} or field.endswith("_count"):
        try:
            number = float(cell)
        except ValueError:
            return cell.strip()
        return int(number) if field.endswith("_count") and number.is_integer() else number
    return cell if field == "text" else cell.strip()

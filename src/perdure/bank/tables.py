"""Tables of a spreadsheet (CSV, or with tabs) as records of an import: a row is a memory, a column is a field."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final, TextIO, cast

from perdure.errors import ImportFailed, shown
from perdure.lifecycle.import_export import RECORD_FIELDS
from perdure.model import LIST_FIELDS, Json

SUFFIXES: Final = (".csv", ".tsv")
_OTHER_NAMES: Final = {"tag": "tags", "keyword": "keywords", "reference": "references"}
_SEPARATORS: Final = (",", ";", "\t")
_MAX_CELL: Final = 1 << 22
_MAX_LINE: Final = 1 << 23
_HOW: Final = "The first line names the columns, and one of them is `text`; nothing was stored."


class RowRecord(dict[str, Json]):
    """A record and the row that it was: an error names it as a spreadsheet does, with the names of the columns as 1."""

    place: str = ""


@dataclass(frozen=True, slots=True)
class TableRecords:
    """The rows as records; which columns are fields of a memory, and which became entries of its metadata."""

    records: tuple[Mapping[str, Json], ...]
    fields: tuple[str, ...]
    metadata: tuple[str, ...]


def read_table(path: Path) -> TableRecords:
    """ImportFailed names the line that cannot be read."""
    csv.field_size_limit(_MAX_CELL)
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            # Spreadsheets of some countries write semicolons.
            separator = max(_SEPARATORS, key=stream.readline(_MAX_LINE).count)
            stream.seek(0)
            return records_of_rows(csv.reader(lines_of(stream), delimiter=separator, strict=True), path)
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


def records_of_rows(rows: Iterator[Sequence[str]], path: Path) -> TableRecords:
    names = [name.strip() for name in next(rows, ())]
    fields = [field_of_column(name) for name in names]
    known = [field for field in fields if field]
    own = [name for name, field in zip(names, fields, strict=True) if name and not field]
    if "text" not in known:
        listed = ", ".join(map(shown, names)) or "none"
        raise ImportFailed(f"{path} has no column `text`. Its columns: {listed}.", remedy=_HOW)
    if twice := next((name for name in (*known, *own) if (*known, *own).count(name) > 1), None):
        raise ImportFailed(f"{path} has the column {shown(twice)} twice.", remedy=_HOW)
    records: list[Mapping[str, Json]] = []
    line = 1
    try:
        for cells in rows:
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

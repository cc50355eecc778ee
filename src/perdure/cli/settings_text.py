"""Changing one line of `perdure.toml`: comments, order and everything else stay as a person wrote them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from perdure.errors import SettingsInvalid
from perdure.location import StoreLocation
from perdure.settings import Setting, typed


class _Statement(NamedTuple):
    """Some lines that say one thing outside of every table."""

    first: int
    after: int
    name: str


def toml_value(setting: Setting, text: str) -> str:
    """What stands behind the `=` for a value as a person types it."""
    value = typed(setting, text)
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, tuple):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return text.strip()
    if isinstance(value, StoreLocation):
        value = value.path if value.kind == "file" else text
    if isinstance(value, Path) and not value.is_absolute():
        # In a file it would name another place in every directory that somebody calls from.
        text = str(Path.cwd() / value)
    return json.dumps(text, ensure_ascii=False)


def with_value(text: str, name: str, value: str | None) -> str:
    """The file with `name` set to what is TOML already, or without it. What stands in a table of its own is refused:
    its lines are the reader's to judge.
    """
    whole = _parsed(text)
    if whole is None:
        raise SettingsInvalid("The settings file is not valid TOML.", remedy="Correct it by hand: perdure config path")
    lines = StringIO(text, newline="\n").readlines()
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    statements = list(_statements(lines))
    own = [statement for statement in statements if statement.name == name]
    if not own and name in whole:
        raise SettingsInvalid(f"{name} has a table of its own in the file.", remedy="Edit it there.")
    for statement in reversed(own[1:] if value is not None else own):
        del lines[statement.first : statement.after]
    if value is None:
        return "".join(lines)
    if own:
        first = slice(own[0].first, own[0].after)
        lines[first] = [f"{name} = {value}{_comment(''.join(lines[first]))}\n"]
    else:
        # Behind the last statement, before whatever comment belongs to the first table.
        at = statements[-1].after if statements else _first_table(lines)
        lines.insert(at, f"{name} = {value}\n")
    return "".join(lines)


def _statements(lines: list[str]) -> Iterator[_Statement]:
    at = 0
    while at < len(lines):
        line = lines[at].strip()
        if line.startswith("["):
            return
        after = at + 1
        if line and not line.startswith("#"):
            # A value may go on over many lines: it ends where it can be read.
            while (found := _parsed("".join(lines[at:after]))) is None and after < len(lines):
                after += 1
            yield _Statement(at, after, next(iter(found or {}), ""))
        at = after


def _first_table(lines: list[str]) -> int:
    """Where a first statement goes: before the first table and the comment right above it."""
    table = next((at for at, line in enumerate(lines) if line.strip().startswith("[")), len(lines))
    while table and lines[table - 1].strip().startswith("#") and table < len(lines):
        table -= 1
    return table


def _comment(statement: str) -> str:
    """What stands behind the value, with the blanks before it."""
    value, last_line = _parsed(statement), statement.rstrip("\n").rfind("\n") + 1
    for at in (at for at in range(last_line, len(statement)) if statement[at] == "#"):
        if _parsed(statement[:at]) == value:
            kept = len(statement[:at].rstrip())
            return statement[kept:].rstrip()
    return ""


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None

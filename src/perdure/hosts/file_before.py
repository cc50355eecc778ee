"""What a host's file was before Perdure was put into it, as far as the file itself does not tell.

Each file that was there has a note in the user's data directory; one that we made has none, and goes with us. A note
holds nothing of what a person wrote: which objects and lists were there with nothing in them, and white space.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from perdure.files import directory, write_private
from perdure.hosts.json_text import JsonPath, empty_parts
from perdure.text.jsonc import parse_jsonc


@dataclass(frozen=True, slots=True)
class FileBefore:
    """`spaces` are objects and lists that held nothing, by the names that lead there, and the white space before their
    closing brackets. `blank` is the whole text of a file that said nothing. `open_end`: its last line did not end.
    """

    spaces: Mapping[JsonPath, str] = field(default_factory=dict[JsonPath, str])
    blank: str | None = None
    open_end: bool = False


def file_before(before: str, after: str) -> FileBefore:
    """What a text was, and what of it cannot be told any more from the text that it became."""
    full = _empty_parts(after)
    spaces = {path: space for path, space in _empty_parts(before).items() if path not in full}
    return FileBefore(spaces, None if before.strip() else before, bool(before) and not before.endswith("\n"))


def _empty_parts(text: str) -> dict[JsonPath, str]:
    try:
        parse_jsonc(text)
    except (ValueError, RecursionError):  # TOML, YAML, or nothing
        return {}
    return empty_parts(text)


def note_file(path: Path, before: FileBefore | None, environ: Mapping[str, str]) -> None:
    """Where it cannot be noted, it is installed all the same. None: there was no file, or we are out of it again."""
    note = _note(path, environ)
    with suppress(OSError):
        if before is None:
            note.unlink(missing_ok=True)
            return
        spaces = [[list(names), space] for names, space in before.spaces.items()]
        told = {"path": str(path), "spaces": spaces, "blank": before.blank, "open_end": before.open_end}
        write_private(note, json.dumps(told).encode())


def noted_file(path: Path, environ: Mapping[str, str]) -> FileBefore | None:
    try:
        told: Any = json.loads(_note(path, environ).read_text(encoding="utf-8"))
        spaces = {tuple(names): space for names, space in told["spaces"]}
        return FileBefore(spaces, told["blank"], told["open_end"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _note(path: Path, environ: Mapping[str, str]) -> Path:
    name = sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:32]
    return directory("data", environ) / "installed" / f"{name}.json"

"""JSON with comments and trailing commas, as people write it into configuration files."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final, NoReturn

_TOKEN: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n\r]*|/\*.*?\*/', re.DOTALL)
_TRAILING: Final = re.compile(r'("(?:[^"\\\n]|\\.)*")|,(?=[ \t\r\n]*[\]}])')
_NEAR: Final = 200
_VISIBLE: Final = re.compile(r"[^\n\r]")


def plain_json(text: str) -> str:
    """The same without comments and trailing commas: blanks stand in their place, so that every line stays where it
    is.
    """
    text = without_comments(text.removeprefix("\ufeff"))

    def without_comma(found: re.Match[str]) -> str:
        before = text[max(0, found.start() - _NEAR) : found.start()].rstrip() or text[: found.start()].rstrip()
        # Only behind a value: `[,]` is a mistake.
        return found[1] or (" " if before and before[-1] not in "[{,:" else ",")

    return _TRAILING.sub(without_comma, text)


def without_comments(text: str) -> str:
    """The same with blanks in the place of comments."""
    return _TOKEN.sub(lambda found: found[0] if found[0][0] == '"' else _VISIBLE.sub(" ", found[0]), text)


def parse_jsonc(text: str) -> Any:
    """The value; a `json.JSONDecodeError` knows the line that is wrong."""

    def refuse(constant: str) -> NoReturn:
        raise json.JSONDecodeError(f"{constant} is not JSON", plain, max(plain.find(constant), 0))

    plain = plain_json(text)
    return json.loads(plain, parse_constant=refuse)


def line_of(text: str, path: Sequence[str]) -> int:
    """The line in which the value of this path of names begins, or the last of them that is there."""
    plain, position = plain_json(text), 0
    for name in path:
        found = re.compile(rf"{re.escape(json.dumps(name))}\s*:").search(plain, position)
        if found is None:
            break
        position = found.start()
    return plain.count("\n", 0, position) + 1

"""Text in columns of a terminal, where a character may be two cells wide or none."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator


def cells(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(_cell(character) for character in text)


def _cell(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def clip(text: str, width: int, more: str = "…") -> str:
    """The text on one line of at most `width` cells."""
    line = " ".join(text.split())
    if cells(line) <= width:
        return line
    return _head(line, width - cells(more)).rstrip() + more


def _head(text: str, width: int) -> str:
    used = 0
    for position, character in enumerate(text):
        used += _cell(character)
        if used > width:
            return text[:position]
    return text


def wrap(text: str, width: int, most: int | None = None, more: str = "…") -> list[str]:
    """Lines of at most `width` cells; the text's own line breaks and indents stay. `most` lines, then `more`."""
    lines: list[str] = []
    for line in _wrapped(text, width):
        if most is not None and len(lines) == most:
            lines[-1] = _head(lines[-1], width - cells(more) - 1).rstrip() + " " + more
            return lines
        lines.append(line)
    return lines


def _wrapped(text: str, width: int) -> Iterator[str]:
    for paragraph in text.expandtabs(4).strip("\n").split("\n"):
        line = ""
        for piece in re.findall(r"\s*\S+", paragraph) or [""]:
            if line and cells(line) + cells(piece) > width:
                yield line
                line = piece.lstrip()
            else:
                line += piece
            while cells(line) > width:
                head = _head(line, width)
                yield head
                line = line[len(head) :]
        yield line


def pad(text: str, width: int) -> str:
    return text + " " * (width - cells(text))

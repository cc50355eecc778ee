"""Text that a chat said about its user and that somebody pasted into a file: a memory for each line of a list, and for
each paragraph. It is what a model says that it remembers, so nobody vouches for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from perdure.bank.importers.archive import Archive
from perdure.bank.importers.item import Importer, Item, LeftOut, NewMemory, moment, text_in
from perdure.bank.sections import Unread
from perdure.errors import ImportFailed

_SUFFIX: Final = ".txt"
_MAX_FILE: Final = 16 << 20
_HEADING: Final = re.compile(r"\s*(?:#{1,6}\s+(.+?)|\*\*(.+?)\*\*:?|([^.!?:\n]{1,60}):)\s*")
_BULLET: Final = re.compile(r"\s*(?:[-*•\u2013]|\d{1,3}[.)])\s+(.*)")
_DATED: Final = re.compile(r"\[?(\d{4}-\d{2}-\d{2})\]?\s*(?:[-\u2013:]\s*)?(.*)", re.DOTALL)
_FENCE: Final = re.compile(r"\s*(?:```|~~~)")


def recognises(archive: Archive) -> bool:
    return len(archive.names) == 1 and archive.path.suffix.lower() == _SUFFIX


def read(archive: Archive) -> Iterator[Item]:
    with archive.open(archive.names[0]) as stream:
        content = stream.read(_MAX_FILE + 1)
    if len(content) > _MAX_FILE:
        raise ImportFailed(f"{archive.path} is larger than {_MAX_FILE >> 20} MiB.", remedy="Split it.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ImportFailed(f"{archive.path} is not UTF-8.", remedy="Save it as UTF-8.") from error
    found = False
    for heading, statement in statements(text):
        found = True
        dated = _DATED.fullmatch(statement)
        at = moment(dated[1]) if dated and dated[2].strip() else None
        said = text_in(dated[2] if dated and at else statement)
        times = {"valid_at": at} if at else {}
        yield NewMemory(said, fields={"tags": [heading.casefold()] if heading else [], **times})
    if not found:
        yield Unread(archive.path.name, "It says nothing.") if text.strip() else LeftOut("empty files")


def statements(text: str) -> Iterator[tuple[str, str]]:
    """Pure: each line of a list, and each paragraph, with the heading above it. Lines that are indented below a line of
    a list belong to it.
    """
    for heading, body in by_heading(text):
        statement: list[str] = []
        listing = False
        for line in [*body.splitlines(), ""]:
            bullet = _BULLET.fullmatch(line)
            goes_on = line.strip() and not bullet and (line[:1].isspace() or not listing)
            if statement and not goes_on:
                yield heading, " ".join(statement)
                statement, listing = [], False
            if bullet and bullet[1].strip():
                statement, listing = [bullet[1].strip()], True
            elif line.strip() and not bullet:
                statement.append(line.strip())


def by_heading(text: str) -> Iterator[tuple[str, str]]:
    """Pure: what stands below each heading: a line of Markdown's, a line in bold letters, or a short one that ends with
    a colon. A fence around a pasted block is left out.
    """
    heading, lines = "", list[str]()
    for line in [*text.splitlines(), None]:
        named = None if line is None else _HEADING.fullmatch(line)
        if line is None or named:
            if body := "\n".join(lines).strip():
                yield heading, body
            if named:
                heading, lines = (named[1] or named[2] or named[3]).strip(" *:"), []
        elif not _FENCE.match(line):
            lines.append(line)


PASTED: Final = Importer("pasted text", recognises, read)

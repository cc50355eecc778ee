"""The Markdown of a knowledge bank: reading its entries, and writing them without touching what people wrote around.

A bank is a folder with `anti-patterns.md`, `patterns.md` and `heuristics.md`. An entry is a line `### Name`, a
description, and metadata lines such as `- Confidence: high`. This module needs nothing but the standard library: the
hook of a session that has no store reads the bank with it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from perdure.text.patterns import pattern
from perdure.vocabulary import LEARNING_CATEGORIES

# In the order in which a session is shown them.
# In the order in which a bank is shown.
CATEGORIES: Final = tuple(sorted(LEARNING_CATEGORIES))
PREFIXES: Final = {"anti-patterns": "Anti-Pattern: ", "patterns": "Pattern: ", "heuristics": ""}
TITLES: Final = {"anti-patterns": "Anti-Patterns", "patterns": "Patterns", "heuristics": "Heuristics"}
# The block of a session: its first line, and what stands above the learnings of a category.
TITLE: Final = "## Engineering Memory (from knowledge bank)"
HEADINGS: Final = {
    "anti-patterns": "### Anti-Patterns to Avoid",
    "heuristics": "### Heuristics",
    "patterns": "### Patterns to Follow",
}
# Where an entry was observed; heuristics use another word for it.
OBSERVED_IN: Final = {"anti-patterns": "Observed in", "patterns": "Observed in", "heuristics": "Source"}
LOCAL_FOLDER: Final = ("docs", "knowledge-bank")
# Confidences, least first.
CONFIDENCES: Final = ("low", "medium", "high")
MAX_BANK_BYTES: Final = 16 << 20

_COMMENT = pattern(r"<!--.*?-->", re.DOTALL)
HEADING_OR_RULE = pattern(r"#{1,2}(\s|$)|-{3,}\s*$")
_FENCE = pattern(r"\s*(```|~~~)")
HEADER: Final = "### "
FIELD = pattern(r"\s*- ([^:\n]+):\s*(.*?)\s*$")
_COUNT: Final = "observation count"
_LAST_OBSERVED: Final = "last observed"
_CONFIDENCE: Final = "confidence"


class BankEntry(NamedTuple):
    """One learning of a bank. `header` and `metadata` are as they stand in the file; `position` counts the headers of
    the file up to this one, and `line_number` is where it begins.
    """

    name: str
    description: str
    category: str
    header: str
    metadata: tuple[str, ...] = ()
    observation_count: int = 1
    confidence: str = "medium"
    last_observed: str | None = None
    position: int = 1
    is_global: bool = False
    path: str = ""
    line_number: int = 0

    @property
    def identity(self) -> str:
        """Two entries are the same when their descriptions are, case and white space aside."""
        return " ".join(self.description.lower().split())

    @property
    def content_hash(self) -> str:
        from perdure.ids import content_hash

        return content_hash(self.description)

    @property
    def observed_at(self) -> datetime | None:
        """When it was last observed, if a day or a time says so."""
        try:
            time = datetime.fromisoformat(self.last_observed or "")
        except ValueError:
            return None
        return time if time.tzinfo else time.replace(tzinfo=UTC)

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """The metadata as names and values, in its order; a line that continues another belongs to its value."""
        found: list[tuple[str, str]] = []
        for line in self.metadata:
            if field := FIELD.match(line):
                found.append((field[1].strip(), field[2]))
            elif line.strip():
                name, value = found.pop() if found else ("Note", "")
                found.append((name, f"{value}\n{line.strip()}".strip()))
        return tuple(found)


class SkippedEntry(NamedTuple):
    """What of a bank was not taken as it stands, and why. `line_number` is 0 when it is about the whole file."""

    path: str
    line_number: int
    name: str
    reason: str


class Bank(NamedTuple):
    """What was read of one folder or of several."""

    entries: tuple[BankEntry, ...]
    skipped: tuple[SkippedEntry, ...] = ()


def local_bank(project: str | os.PathLike[str]) -> Path:
    return Path(project, *LOCAL_FOLDER)


def global_bank(home: str | os.PathLike[str] | None = None) -> Path:
    return Path(home or Path.home(), ".claude", "iflow", "memory")


def read_bank(folder: str | os.PathLike[str], *, is_global: bool = False) -> Bank:
    """The entries of the three files of a bank, as far as they can be read. A folder that is not there is empty."""
    entries: list[BankEntry] = []
    skipped: list[SkippedEntry] = []
    # The order of the files decides which of two equal entries counts, and is that of the pipeline this follows.
    for category in LEARNING_CATEGORIES:
        path = Path(folder, f"{category}.md")
        try:
            text = read_text(path)
        except (OSError, ValueError) as error:
            skipped.append(SkippedEntry(str(path), 0, path.name, unreadable(error)))
            continue
        if text is not None:
            found = parse_bank(text, category, path=str(path), is_global=is_global)
            entries += found.entries
            skipped += found.skipped
    return Bank(tuple(entries), tuple(skipped))


def read_text(path: Path) -> str | None:
    """The text of a file, with plain line ends; None where there is no ordinary file. ValueError if it is no text."""
    content = read_bytes(path)
    return None if content is None else decode(content).replace("\r\n", "\n").replace("\r", "\n")


def read_bytes(path: Path) -> bytes | None:
    # A pipe of this name would keep its reader waiting for ever.
    if not path.is_file():
        return None
    with path.open("rb") as stream:
        content = stream.read(MAX_BANK_BYTES + 1)
    if len(content) > MAX_BANK_BYTES:
        raise ValueError(f"it is larger than {MAX_BANK_BYTES >> 20} MiB")
    return content


def decode(content: bytes) -> str:
    return content.decode("utf-8-sig")


def unreadable(error: OSError | ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"The file is not UTF-8: byte {error.start} is wrong."
    return f"The file cannot be read: {getattr(error, 'strerror', None) or error}."


def parse_bank(text: str, category: str, *, path: str = "", is_global: bool = False) -> Bank:
    """Read the entries of one file. Comments do not count; an entry ends at the next one, at a heading of a higher
    level, and at a rule.
    """
    entries: list[BankEntry] = []
    skipped: list[SkippedEntry] = []
    for position, lines in enumerate(sections(text), 1):
        (start, header), *body = lines
        name = header[len(HEADER) :].strip()
        if not name:
            skipped.append(SkippedEntry(path, start, "", "The entry has no name."))
            continue
        cut = next((place for place, (_, line) in enumerate(body) if line.startswith("- ")), len(body))
        metadata = "\n".join(line for _, line in body[cut:]).strip()
        entry = BankEntry(
            name=without_prefix(name),
            description="\n".join(line for _, line in body[:cut]).strip(),
            category=category,
            header=HEADER + name,
            metadata=tuple(metadata.split("\n")) if metadata else (),
            position=position,
            is_global=is_global,
            path=path,
            line_number=start,
        )
        for field in filter(None, map(FIELD.match, entry.metadata)):
            key, value = field[1].lower(), field[2]
            if key == _COUNT:
                try:
                    entry = entry._replace(observation_count=int(value))
                except ValueError:
                    reason = f"Its observation count {value[:40]!r} is not a number; {entry.observation_count} is used."
                    skipped.append(SkippedEntry(path, start, entry.name, reason))
            elif key == _CONFIDENCE and value.lower() in CONFIDENCES:
                entry = entry._replace(confidence=value.lower())
            elif key == _LAST_OBSERVED:
                entry = entry._replace(last_observed=value)
        entries.append(entry)
    return Bank(tuple(entries), tuple(skipped))


def without_prefix(name: str) -> str:
    prefix = next((prefix for prefix in PREFIXES.values() if prefix and name.startswith(prefix)), "")
    return name.removeprefix(prefix).strip()


def without_comments(text: str) -> str:
    return _COMMENT.sub("", text)


def sections(text: str) -> Iterator[list[tuple[int, str]]]:
    """The lines of each entry, its header first, each with its number in the file. Only what is closed is a comment: a
    stray `<!--` must not hide the rest of a file.
    """
    # No text that was read as UTF-8 holds this character: it stands for the line ends inside comments.
    hidden_end = "\udc00"
    shown = _COMMENT.sub(lambda comment: hidden_end * comment[0].count("\n"), text)
    lines, in_code, number = list[tuple[int, str]](), False, 1
    for marked in shown.split("\n"):
        line = marked.replace(hidden_end, "")
        if line.startswith(HEADER):
            if lines:
                yield lines
            lines, in_code = [(number, line)], False
        elif not in_code and HEADING_OR_RULE.match(line):
            if lines:
                yield lines
            lines = []
        elif lines:
            in_code ^= _FENCE.match(line) is not None
            lines.append((number, line))
        number += 1 + marked.count(hidden_end)
    if lines:
        yield lines

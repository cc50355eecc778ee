"""Writing into a knowledge bank: entries are appended, and the lines of an entry that count it are changed in place.
Everything else that stands in a file stays, byte for byte.

Two processes that write at once take turns; an editor that saved meanwhile is noticed, and the change is made again on
what it wrote.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from perdure.bank.entries import (
    FIELD,
    HEADER,
    HEADING_OR_RULE,
    OBSERVED_IN,
    PREFIXES,
    TITLES,
    BankEntry,
    decode,
    parse_bank,
    read_bytes,
    sections,
    without_comments,
    without_prefix,
)
from perdure.errors import ExportFailed

# From the text of a file to what it becomes; "" where there is no file yet.
Edit: TypeAlias = Callable[[str], str]

_LINE_END = re.compile(r"\r\n|\n|\r")
_NUMBER = re.compile(r"(:\s*)-?\d+")
_VALUE = re.compile(r"(:[ \t]*)(.*?)([ \t]*(?:<!--.*)?)$", re.DOTALL)
# An editor that saves all the time wins.
_MAX_ATTEMPTS: Final = 5


def new_entry(
    name: str,
    description: str,
    category: str,
    *,
    observed_in: str,
    last_observed: str,
    confidence: str = "medium",
    fields: Sequence[tuple[str, str]] = (),
) -> BankEntry:
    """An entry as a retro writes it. What of its description would be read as something else is indented."""
    values = [
        (OBSERVED_IN[category], observed_in),
        ("Confidence", confidence),
        ("Last observed", last_observed),
        ("Observation count", "1"),
        *fields,
    ]
    title = without_prefix(" ".join(without_comments(name).split()))
    return BankEntry(
        name=title,
        description=indented(without_comments(description)),
        category=category,
        header=f"{HEADER}{PREFIXES[category]}{title}",
        metadata=tuple(f"- {field}: {' '.join(without_comments(value).split())}" for field, value in values if value),
        confidence=confidence,
        last_observed=last_observed,
    )


def indented(description: str) -> str:
    """Case and white space do not count for what an entry is, so that a space in front of a line changes nothing."""
    lines = _LINE_END.sub("\n", description).strip().split("\n")
    starts = ("- ", HEADER)
    return "\n".join(f" {line}" if line.startswith(starts) or HEADING_OR_RULE.match(line) else line for line in lines)


def appending(entry: BankEntry) -> Edit:
    """The entry at the end of its file, which begins with its title if it is new."""

    def edit(text: str) -> str:
        end = "\r\n" if "\r\n" in text else "\n"
        before = text or f"# {TITLES[entry.category]}{end}"
        if not before.endswith(("\n", "\r")):
            before += end
        lines = [entry.header, entry.description, *entry.metadata]
        added = end.join(_LINE_END.sub(end, line) for line in lines if line)
        return f"{before}{end}{added}{end}"

    return edit


def observing(entry: BankEntry, last_observed: str, count: int | None = None) -> Edit:
    """The entry, observed once more, or `count` times in all."""

    def edit(text: str) -> str:
        found = find_entry(text, entry)
        if found is None:
            return appending(entry)(text)
        observed = str(found.observation_count + 1 if count is None else count)
        counted = _with_field(text, found, "Observation count", observed, _NUMBER)
        return _with_field(counted, found, "Last observed", last_observed, _VALUE)

    return edit


def challenging(entry: BankEntry, reason: str) -> Edit:
    """The entry, with a line that says what speaks against it; the same line once."""

    def edit(text: str) -> str:
        found = find_entry(text, entry)
        line = f"- Challenged: {' '.join(without_comments(reason).split())}"
        return text if found is None or line in found.metadata else _with_line(text, found, line)

    return edit


def removing(category: str, says: Callable[[str], bool]) -> Edit:
    """Without the entries whose description says something, each with the empty lines that part it from the next."""

    def edit(text: str) -> str:
        meant = [entry for entry in parse_bank(_LINE_END.sub("\n", text), category).entries if says(entry.description)]
        # From the last to the first, so that those before stay where they are.
        for entry in reversed(meant):
            start, _ = _place(text, entry.line_number)
            _, end = _place(text, max(number for number, line in _lines_of(text, entry) if line.strip()))
            before, behind = text[:start], text[end:]
            rest = behind.lstrip("\r\n")
            line_end = _LINE_END.match(behind)
            text = before + rest if rest else before.rstrip("\r\n") + (line_end[0] if line_end else "")
        return text

    return edit


def find_entry(text: str, entry: BankEntry) -> BankEntry | None:
    """The entry of this description in a file; of several the one that counts."""
    bank = parse_bank(_LINE_END.sub("\n", text), entry.category)
    same = [one for one in bank.entries if one.identity == entry.identity]
    return max(same, key=lambda one: one.observation_count, default=None)


def _with_field(text: str, entry: BankEntry, name: str, value: str, pattern: re.Pattern[str]) -> str:
    """The text with another value in this field of the entry; its last line of that name is the one that counts."""
    for number, line in reversed(_lines_of(text, entry)):
        field = FIELD.match(line)
        if field is None or field[1].lower() != name.lower():
            continue
        start, end = _place(text, number)
        changed, done = pattern.subn(lambda old: old[1] + value + "".join(old.groups()[2:]), text[start:end], count=1)
        if done:
            return text[:start] + changed + text[end:]
        break
    return _with_line(text, entry, f"- {name}: {value}")


def _with_line(text: str, entry: BankEntry, line: str) -> str:
    """The text with one more line at the end of the entry."""
    last = max(number for number, written in _lines_of(text, entry) if written.strip())
    _, end = _place(text, last)
    line_end = "\r\n" if "\r\n" in text else "\n"
    return f"{text[:end]}{line_end}{line}{text[end:]}"


def _lines_of(text: str, entry: BankEntry) -> list[tuple[int, str]]:
    return next(lines for lines in sections(_LINE_END.sub("\n", text)) if lines[0][0] == entry.line_number)


def _place(text: str, number: int) -> tuple[int, int]:
    """Where a line begins and ends, without its line end; a comment that begins in it belongs to it."""
    ends = [(match.start(), match.end()) for match in _LINE_END.finditer(text)]
    start = ends[number - 2][1] if number > 1 else 0
    for end, _ in ends[number - 1 :]:
        if text.count("<!--", start, end) <= text.count("-->", start, end) or "-->" not in text[end:]:
            return start, end
    return start, len(text)


def edit_file(path: Path, edits: Sequence[Edit], *, dry_run: bool = False) -> tuple[str, str]:
    """Make changes to a file, all or none, and answer its text before and after."""
    path = Path(os.path.realpath(path))
    try:
        if dry_run:
            return _edited(read_bytes(path), edits)
        path.parent.mkdir(parents=True, exist_ok=True)
        with folder_lock(path.parent):
            for _ in range(_MAX_ATTEMPTS):
                content = read_bytes(path)
                before, after = _edited(content, edits)
                if before == after or replace_file(path, content, after):
                    return before, after
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ExportFailed(f"{path} was not changed: {reason}.", remedy="Look at the file, and try again.") from error
    raise ExportFailed(f"{path} was not changed: something else writes it all the time.")


def _edited(content: bytes | None, edits: Sequence[Edit]) -> tuple[str, str]:
    before = after = decode(content or b"")
    for edit in edits:
        after = edit(after)
    return before, after


def replace_file(path: Path, content: bytes | None, text: str) -> bool:
    """Put the text in the place of the file, unless somebody changed that meanwhile."""
    mark = "\ufeff" if (content or b"").startswith(b"\xef\xbb\xbf") else ""
    with tempfile.NamedTemporaryFile("wb", dir=path.parent, prefix=f".{path.name}.", delete=False) as stream:
        try:
            stream.write((mark + text).encode("utf-8"))
            stream.flush()
            os.fsync(stream.fileno())
            Path(stream.name).chmod(path.stat().st_mode & 0o777 if content is not None else 0o644)
            unchanged = read_bytes(path) == content
            if unchanged:
                Path(stream.name).replace(path)
        finally:
            Path(stream.name).unlink(missing_ok=True)
    return unchanged


def remove_leftovers(path: Path) -> None:
    """Remove what a writer of this file left that was killed in the middle: all writers hold the lock."""
    path = Path(os.path.realpath(path))
    with suppress(OSError), folder_lock(path.parent):
        for left in path.parent.glob(f".{path.name}.????????"):
            left.unlink(missing_ok=True)


@contextmanager
def folder_lock(folder: Path) -> Generator[None]:
    """A lock on the folder itself leaves no file behind. Where a file system has no locks, the comparison before each
    replacement is all there is.
    """
    from fcntl import LOCK_EX, flock

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            flock(descriptor, LOCK_EX)
        yield
    finally:
        os.close(descriptor)


class FileChange(NamedTuple):
    """What changed in a file, line by line."""

    path: str
    diff: str


def file_changes(paths: Sequence[Path], texts: Sequence[tuple[str, str]]) -> list[FileChange]:
    """What `edit_file` did to each of the files, where it did something."""
    from difflib import unified_diff

    changes: list[FileChange] = []
    for path, (before, after) in zip(paths, texts, strict=True):
        name = str(path)
        lines = unified_diff(before.splitlines(), after.splitlines(), name, name, lineterm="")
        if before != after:
            changes.append(FileChange(name, "\n".join(lines)))
    return changes

"""Learnings that hold everywhere go into the global bank, which all projects of a person share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

from perdure.bank.editing import Edit, FileChange, appending, edit_file, file_changes, find_entry, observing
from perdure.bank.entries import FIELD, PREFIXES, BankEntry, local_bank, read_bank
from perdure.errors import AmbiguousReference, NotFound, shown
from perdure.remedies import Remedy, Run

UNIVERSAL: Final = ("Scope", "universal")
_PREFIXES: Final = tuple(prefix.lower() for prefix in PREFIXES.values() if prefix)


@dataclass(frozen=True, slots=True)
class Promoted:
    """The entries that were promoted, or would be while `done` is false, and what changed in the global bank. Those
    that it has already, observed as often, change nothing.
    """

    entries: tuple[BankEntry, ...]
    files: tuple[FileChange, ...]
    done: bool


def promote_entries(
    project: Path, refs: Sequence[str], shared: Path, *, name: str, day: date, universal: bool = False, dry_run: bool
) -> Promoted:
    """Promote the entries that are named, and with `universal` all that say so of themselves."""
    local = read_bank(local_bank(project)).entries
    chosen = {entry.identity: entry for entry in local if universal and is_universal(entry)}
    for ref in refs:
        entry = named_entry(ref, local)
        if entry is None:
            raise NotFound(f"No entry is called {shown(ref)}.", remedy=Remedy(Run("bank list"), " names them."))
        chosen[entry.identity] = entry
    edits: dict[Path, list[Edit]] = {}
    for entry in chosen.values():
        edits.setdefault(shared / f"{entry.category}.md", []).append(promoting(entry, name, day))
    texts = [edit_file(path, changes, dry_run=dry_run) for path, changes in edits.items()]
    return Promoted(tuple(chosen.values()), tuple(file_changes(list(edits), texts)), done=not dry_run)


def is_universal(entry: BankEntry) -> bool:
    return any((name.lower(), value.lower()) == ("scope", "universal") for name, value in entry.fields)


def named_entry(ref: str, entries: Sequence[BankEntry]) -> BankEntry | None:
    """The entry with this name or content hash, the first of those that say the same."""
    wanted = plain_name(ref)
    found = [entry for entry in entries if wanted in {plain_name(entry.name), entry.content_hash}]
    if len({entry.identity for entry in found}) > 1:
        hashes = ", ".join(f"{entry.content_hash} ({Path(entry.path).name})" for entry in found)
        raise AmbiguousReference(
            f"{len(found)} entries are called {shown(ref)}.", remedy=f"Name one by its content hash: {hashes}."
        )
    return found[0] if found else None


def plain_name(name: str) -> str:
    """As people type it: case does not count, nor what a header has in front of it."""
    name = " ".join(name.lower().split())
    return next((name.removeprefix(prefix) for prefix in _PREFIXES if name.startswith(prefix)), name)


def promoting(entry: BankEntry, project: str, day: date) -> Edit:
    """The entry in the global bank. There already, by its content, it keeps its place, and the higher count."""
    kept = [line for line in entry.metadata if not _is_field(line, "last observed") and not _is_field(line, "scope")]
    promoted = entry._replace(
        metadata=(*kept, f"- Last observed: {day.isoformat()}", f"- Promoted from: {project}"), is_global=True
    )

    def edit(text: str) -> str:
        known = find_entry(text, entry)
        if known is None:
            return appending(promoted)(text)
        if known.observation_count >= entry.observation_count:
            return text
        return observing(known, day.isoformat(), entry.observation_count)(text)

    return edit


def _is_field(line: str, name: str) -> bool:
    field = FIELD.match(line)
    return field is not None and field[1].lower() == name

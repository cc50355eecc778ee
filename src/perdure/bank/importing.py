"""Learnings of a knowledge bank become memories: by themselves in the first session of a project, or when asked.

What is stored already, by its content, stays as it is, so that importing again changes nothing; and what was forgotten
or corrected here stays so. Vectors and keywords come later, from `work`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from perdure.bank.entries import BankEntry, SkippedEntry, global_bank, local_bank, read_bank
from perdure.bank.plain import prominence, without_duplicates
from perdure.bank.sections import name_in_keys
from perdure.errors import PerdureError
from perdure.files import directory, private_folder
from perdure.ids import content_hash
from perdure.model import LEARNING_CATEGORIES, STATES, Record
from perdure.text.entry import BANK_LINES
from perdure.trusted_projects import is_trusted, project_id
from perdure.validation import MAX_ITEMS, check_fields, check_text
from perdure.visibility import TOLD_IN, places_of

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.store.port import Progress

_BATCH_SIZE: Final = 128
_MOST_OBSERVATIONS: Final = 2**31
_OBSERVATIONS: Final = "observation_count"
_TIMES: Final = ("created_at", "updated_at")
# Fields of a record: what the bank says of them is not kept a second time.
_MAPPED: Final = ("observation count", "confidence", "reasoning", "keywords")
# What says where and when it was observed: references, a time and metadata have it.
_OBSERVED: Final = ("observed in", "source", "last observed", "told in")
# Between references; what stands in brackets belongs to the one before.
_BETWEEN = re.compile(r"[,;]\s*(?![^(]*\))")
_NO_LEARNINGS: Final = "Not a file of learnings: these are anti-patterns.md, patterns.md and heuristics.md."
_NO_DESCRIPTION: Final = "The entry has no description."
_FORGOTTEN: Final = "Forgotten or corrected here since; --revive imports it anyway."


@dataclass(frozen=True, slots=True)
class BankImport:
    """What an import of a bank did. `present` were stored already. `skipped` were left out, or taken otherwise than
    they stand, and why. `unfinished` wait for the next run, because the time was up. `low_trust` of the entries are
    told in their project alone. One undo of `batch` takes it back.
    """

    inserted: int = 0
    present: int = 0
    unfinished: int = 0
    batch: str | None = None
    skipped: tuple[SkippedEntry, ...] = ()
    folders: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    evicted: tuple[Record, ...] = ()
    low_trust: int = 0


NOTHING_IMPORTED: Final = BankImport()


def import_if_empty(
    memory: Memory, project: str | os.PathLike[str], budget: float, *, private: bool = False, name: str | None = None
) -> BankImport:
    """What a session does at its start: in the first one of a project, and where the store is empty, its bank and the
    global one are imported, for at most `budget` seconds. What is left then is imported by the next session. The bank
    of a `private` project is imported alone: `memory` is its own namespace. `name` is what memories call the project.
    """
    root, name = Path(project), name or project_name(Path(project))
    trusted = is_trusted(root)
    if not is_first_run(memory, root, name):
        return NOTHING_IMPORTED
    mark = _unfinished_mark(root)
    private_folder(mark.parent)
    mark.touch(mode=0o600)
    done = import_bank(memory, root, private=private, trusted=trusted, budget=budget, name=name)
    if not done.unfinished:
        _done_mark(root).touch(mode=0o600)
        mark.unlink(missing_ok=True)
    return done


def is_first_run(memory: Memory, project: Path, name: str) -> bool:
    """Whether the bank of this project was never imported as a whole."""
    if _unfinished_mark(project).exists():
        return True
    if name_in_keys(project, name) != name:
        # What is known of the name may be another project's.
        return not _done_mark(project).exists() and bool(read_bank(local_bank(project)).entries)
    if memory.list(limit=1, source=("import", "retro"), source_project=name, states=STATES).records:
        return False
    if read_bank(local_bank(project)).entries:
        return True
    return not memory.list(limit=1, category=LEARNING_CATEGORIES, states=STATES).records


def _unfinished_mark(project: Path) -> Path:
    """A file that is there while an import runs: a process may die in the middle of it."""
    name = sha256(os.fsencode(os.path.realpath(project))).hexdigest()[:32]
    return directory("data", os.environ) / "bank-imports" / name


def _done_mark(project: Path) -> Path:
    return _unfinished_mark(project).with_suffix(".done")


def project_name(project: Path) -> str:
    """As memories name the project that they come from."""
    return Path(os.path.realpath(project)).name[:200]


def import_bank(  # noqa: PLR0913 - one for each thing a caller may decide
    memory: Memory,
    project: str | os.PathLike[str] | None,
    *,
    shared: str | os.PathLike[str] | None = None,
    private: bool = False,
    trusted: bool = False,
    revive: bool = False,
    dry_run: bool = False,
    budget: float | None = None,
    progress: Progress | None = None,
    name: str | None = None,
) -> BankImport:
    """Import the bank of a project, and the global one unless the project is `private`. `shared` is where that is.

    A project's bank comes with its repository, which others may have written: its memories are of low trust, and told
    in this project alone, unless it is `trusted`. The global one is the user's own.
    """
    end = None if budget is None else monotonic() + budget
    folders = ([] if project is None else [local_bank(project)]) + ([] if private else [Path(shared or global_bank())])
    name = name or (None if project is None else project_name(Path(project)))
    entries: list[BankEntry] = []
    skipped: list[SkippedEntry] = []
    for folder in folders:
        bank = read_bank(folder, is_global=folder != folders[0] or project is None)
        entries += bank.entries
        skipped += [*bank.skipped, *_other_files(folder)]
    if not dry_run:
        memory.note_markdown(None if project is None else Path(project), None if private else folders[-1])
    told_in = None if trusted or project is None else project_id(project)
    unique = without_duplicates(entries)
    if end is not None:
        # A session before may have been cut short: what it took does not take the time of the rest.
        taken = _known(memory, source="import")
        unique = sorted(best_first(unique), key=lambda entry: entry.content_hash in taken)
    fields, refused = checked_fields(unique, name, told_in=told_in)
    skipped += refused
    found = tuple(str(folder) for folder in folders if folder.is_dir())
    if dry_run:
        known = _known(memory)
        new = sum(entry.content_hash not in known for entry, _ in fields)
        return BankImport(new, len(fields) - new, skipped=tuple(skipped), folders=found)
    done = import_entries(
        memory, fields, BankImport(skipped=tuple(skipped), folders=found), end, progress, revive=revive
    )
    low = sum(each["trust"] == "low" for _, each in fields)
    return replace(done, low_trust=low)


def best_first(entries: Sequence[BankEntry]) -> list[BankEntry]:
    """The strongest of each category in turn: where the time is up, no kind of learning is missing."""
    ordered = sorted(entries, key=prominence, reverse=True)
    in_turn = zip_longest(*([entry for entry in ordered if entry.category == name] for name in LEARNING_CATEGORIES))
    return [entry for some in in_turn for entry in some if entry is not None]


def import_entries(
    memory: Memory,
    entries: Sequence[tuple[BankEntry, dict[str, Any]]],
    report: BankImport,
    end: float | None,
    progress: Progress | None,
    *,
    revive: bool,
) -> BankImport:
    """Store what was checked, in portions, as one batch, until the time is up."""
    inserted, present, deleted, done = 0, 0, 0, 0
    notes: dict[str, None] = {}
    evicted: list[Record] = []
    with memory.batch() as batch:
        while done < len(entries) and (end is None or monotonic() < end):
            portion = entries[done : done + _BATCH_SIZE]
            imported = memory.import_([fields for _, fields in portion], trusted=True, revive=revive)
            inserted, present = inserted + imported.inserted + imported.updated, present + imported.present
            deleted += imported.skipped_deleted
            evicted += imported.evicted
            notes |= dict.fromkeys(() if imported.skipped_deleted else imported.notes)
            done += len(portion)
            if progress:
                progress(done, len(entries))
        # What is known already may be told elsewhere alone.
        waits = present > 0 and end is not None and monotonic() >= end
        if present and not waits:
            known, again = _known(memory), [fields for _, fields in entries[:done]]
            _tell_here(memory, again, known)
            _add_lines(memory, again, known)
    skipped = list(report.skipped)
    if deleted:
        known = _known(memory)
        gone = (entry for entry, _ in entries[:done] if entry.content_hash not in known)
        skipped += [SkippedEntry(entry.path, entry.line_number, entry.name, _FORGOTTEN) for entry in gone]
    unfinished = len(entries) - done or int(waits)
    return BankImport(
        inserted, present, unfinished, batch if inserted else None, tuple(skipped), report.folders, tuple(notes),
        tuple(evicted),
    )  # fmt: skip


def _known(memory: Memory, source: str | None = None) -> dict[str, Record]:
    """All learnings that are active here, by their content; or those of a source."""
    found: dict[str, Record] = {}
    after: int | None = None
    while True:
        page = memory.list(limit=1000, after=after, category=LEARNING_CATEGORIES, source=source)
        found |= {record.content_hash: record for record in page}
        if (after := page.next) is None:
            return found


def _add_lines(memory: Memory, entries: Sequence[Mapping[str, Any]], known: Mapping[str, Record]) -> None:
    """What an earlier version imported without the lines below its description gets them, from the bank that it came
    from and from no other.
    """
    for fields in entries:
        record, lines = known.get(content_hash(fields["text"])), fields["metadata"].get(BANK_LINES)
        if record is None or not lines or BANK_LINES in record.metadata:
            continue
        if (record.source, record.source_project, record.trust) == (
            "import",
            fields["source_project"],
            fields["trust"],
        ):
            memory.update(record.number, metadata={BANK_LINES: lines})


def _tell_here(memory: Memory, entries: Sequence[Mapping[str, Any]], known: Mapping[str, Record]) -> None:
    """What was imported from another, untrusted project is told in this one as well, if its own bank says it;
    and everywhere, if a person vouches for this bank.
    """
    for fields in entries:
        record = known.get(content_hash(fields["text"]))
        places = None if record is None else places_of(record)
        if record is None or places is None:
            continue
        if fields["trust"] != "low":
            memory.update(record.number, trust=fields["trust"])
        elif not set(fields["metadata"][TOLD_IN]) <= set(places) and f"/{fields['source_project']}" not in places:
            memory.update(record.number, metadata={TOLD_IN: [*places, *fields["metadata"][TOLD_IN]]})


def _other_files(folder: Path) -> list[SkippedEntry]:
    try:
        others = sorted(path for path in folder.glob("*.md") if path.stem not in LEARNING_CATEGORIES)
    except OSError:
        return []
    return [SkippedEntry(str(path), 0, path.name, _NO_LEARNINGS) for path in others]


def checked_fields(
    entries: Sequence[BankEntry], project: str | None, *, told_in: str | None
) -> tuple[list[tuple[BankEntry, dict[str, Any]]], list[SkippedEntry]]:
    """Each entry with the fields of its memory; and those that can be none. `told_in` is the id of the project where
    alone those of its own bank are told; None, if a person vouches for it.
    """
    good: list[tuple[BankEntry, dict[str, Any]]] = []
    skipped: list[SkippedEntry] = []
    for entry in entries:
        fields = entry_fields(entry, None if entry.is_global else project)
        fields["trust"] = "normal"
        if told_in is not None and not entry.is_global:
            fields["trust"] = "low"
            fields["metadata"] = {**fields["metadata"], TOLD_IN: [told_in]}
        try:
            check_text(fields["text"])
            written = {name: value for name, value in fields.items() if name not in {"text", *_TIMES, _OBSERVATIONS}}
            check_fields(written)
            good.append((entry, fields))
        except PerdureError as error:
            reason = error.sentence if entry.description else _NO_DESCRIPTION
            skipped.append(SkippedEntry(entry.path, entry.line_number, entry.name, reason))
    return good, skipped


def entry_fields(entry: BankEntry, project: str | None) -> dict[str, Any]:
    """An entry as a memory. A day on which it was last observed is its time; a feature, which has none, is kept in its
    metadata with everything else that the bank says.
    """
    fields: dict[str, Any] = {
        "text": entry.description,
        "title": entry.name,
        "category": entry.category,
        "confidence": entry.confidence,
        "source": "import",
        "source_project": project,
        "references": references_of(entry),
        "metadata": metadata_of(entry),
        _OBSERVATIONS: max(1, min(entry.observation_count, _MOST_OBSERVATIONS)),
    }
    if reasoning := values_of(entry, "reasoning"):
        fields["reasoning"] = "\n".join(reasoning)
    if labels := values_of(entry, "keywords"):
        from perdure.text.keywords import usable_keywords

        fields["keywords"] = usable_keywords(word for value in labels for word in value.split(","))
    observed = entry.observed_at
    if observed and observed <= datetime.now(UTC):
        fields |= dict.fromkeys(_TIMES, observed.isoformat())
    return fields


def values_of(entry: BankEntry, *names: str) -> list[str]:
    """What its lines of these names say. No retro writes one for the reasoning or the keywords; people do."""
    return [value for name, value in entry.fields if name.lower() in names]


def references_of(entry: BankEntry) -> list[str]:
    """The features, files and projects that it was observed in."""
    told = values_of(entry, "observed in", "source")
    parts = (" ".join(part.split()) for value in told for part in _BETWEEN.split(value))
    return list(dict.fromkeys(part for part in parts if part))[:MAX_ITEMS]


def metadata_of(entry: BankEntry) -> dict[str, str | list[str]]:
    """`- Last observed: Feature #018` is the entry `last_observed`; a field that stands there twice is a list."""
    found: dict[str, list[str]] = {}
    for name, value in entry.fields:
        key = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:60]
        if name.lower() not in _MAPPED and value and key not in {TOLD_IN, BANK_LINES}:
            found.setdefault(key if key[:1].isalpha() else f"field_{key}".rstrip("_"), []).append(value)
    if lines := lines_of(entry):
        found[BANK_LINES] = lines
    return {key: values[0] if len(values) == 1 and key != BANK_LINES else values for key, values in found.items()}


def lines_of(entry: BankEntry) -> list[str]:
    """The lines below its description that are told and found with it, such as `Instead: ask for the encoding`."""
    fields = ((name, " ".join(value.split())) for name, value in entry.fields)
    return [
        f"{name}: {value.removeprefix('- ')}"
        for name, value in fields
        if value and name.lower() not in {*_MAPPED, *_OBSERVED}
    ]

"""Files kept as memories: each section of a file is a memory under a key of its own, so that a section that changed is
a new version of it, and one that did not is left alone.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from perdure.clock import format_time
from perdure.errors import NotAllowed, PerdureError, VersionConflict
from perdure.files import directory, open_private, private_folder
from perdure.model import STATES, Record, Remembered
from perdure.project import project_root
from perdure.tiers import ONLY_PEOPLE
from perdure.trusted_projects import is_trusted, project_id
from perdure.visibility import TOLD_IN

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.store.port import Progress

    # For the directory and the session of a transcript: the memory that it belongs into, None for one off the record.
    Place: TypeAlias = Callable[[str | None, str], Memory | None]

# The surface of these changes in the log: what this room forgot may come back when the file has it again.
SURFACE: Final = "files"
# In a memory's metadata: the hash of what its file said. The text itself may have been redacted or corrected here.
FILE_HASH: Final = "file_hash"
_PAGE_SIZE: Final = 1000
_CONTROL: Final = re.compile(r"[\x00-\x1f]")
_MOST_OF_A_KEY: Final = 256


@dataclass(frozen=True, slots=True)
class Section:
    """One memory to be: its key, its text and its fields. `at` is when it was written down, if that is known."""

    key: str
    text: str
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    at: datetime | None = None

    @property
    def hash(self) -> str:
        told = json.dumps([self.text, self.fields], ensure_ascii=False, sort_keys=True, default=str)
        return sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Unread:
    """What was not read, and why."""

    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What became of the sections of some files. `present` were there already, `gone` are in no file any more, and
    `kept_forgotten` were forgotten here and stay so. `numbers` are the memories that were written. `kinds` says how
    many conversations, messages and memories an export of another product holds.
    """

    kind: str
    path: str
    inserted: int = 0
    updated: int = 0
    present: int = 0
    gone: int = 0
    kept_forgotten: int = 0
    numbers: tuple[int, ...] = ()
    unread: tuple[Unread, ...] = ()
    notes: tuple[str, ...] = ()
    kinds: Mapping[str, int] = field(default_factory=dict[str, int])
    batch: str | None = None


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How something is imported. `project_name` is that of the project it belongs to, and `project` its folder. Unless
    it is `trusted`, a source counts as written by a model: it may propose a constitutional memory, and makes none; and
    what it says is told in its own project alone. `force` writes what did not change, or was forgotten, and `revive`
    what was forgotten; without `remove` nothing is forgotten. `place` says where a session's messages belong. `begun`
    is told the batch before its first memory is stored, so that one that is killed can be taken back.
    """

    project_name: str | None = None
    trusted: bool = False
    dry_run: bool = False
    force: bool = False
    revive: bool = False
    remove: bool = True
    place: Place | None = None
    progress: Progress | None = None
    project: Path | None = None
    begun: Callable[[str], None] | None = None

    def fields(self) -> dict[str, Any]:
        """The fields of memories from an untrusted source in an untrusted project."""
        if self.trusted or (self.project is not None and is_trusted(self.project)):
            return {}
        return {"trust": "low", "metadata": {TOLD_IN: [project_id(self.project)]} if self.project else {}}


UNTRUSTED: Final = ImportOptions()


def key_of_section(kind: str, *parts: str, anchor: str | None = None) -> str:
    """`file:website/specs/049-auth/memory/x.md#decision`; what is too long for a key ends in a hash of all of it."""
    name = "/".join(parts) + ("" if anchor is None else f"#{anchor}")
    name = " ".join(_CONTROL.sub(" ", name).split()).lstrip(": ") or "unnamed"
    if len(name) > _MOST_OF_A_KEY:
        digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        name = f"{name[: _MOST_OF_A_KEY - 17]}~{digest}"
    return f"{kind}:{name}"


def name_in_keys(project: Path | None, name: str | None) -> str:
    """What a project is called in keys: its name, unless another one on this machine has that already. The first that
    comes keeps it, for as long as it is there; its worktrees are the same project.
    """
    if project is None or not name:
        return name or ""
    root = str(project_root(project))
    folder = directory("data", os.environ) / "project-names"
    path = folder / sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    try:
        private_folder(folder)
        with suppress(FileExistsError), open_private(path, "xb") as file:
            file.write(os.fsencode(root))
        owner = os.fsdecode(path.read_bytes())
        if owner != root and not Path(owner).is_dir():
            path.write_bytes(os.fsencode(root))
            owner = root
    except OSError:
        return name
    return name if owner == root else f"{name}~{sha256(os.fsencode(root)).hexdigest()[:8]}"


def known_sections(memory: Memory, kind: str, project: str | None = None) -> dict[str, Record]:
    """The memories of sections by their keys, in whatever state they are."""
    return {record.key: record for record in records_of(memory, kind, project) if record.key}


def records_of(memory: Memory, kind: str, project: str | None) -> Iterator[Record]:
    after: int | None = None
    while True:
        page = memory.list(limit=_PAGE_SIZE, after=after, key_type=kind, source_project=project, states=STATES)
        yield from page
        after = page.next
        if after is None:
            return


def store_sections(
    memory: Memory,
    sections: Sequence[Section],
    known: Mapping[str, Record],
    report: ImportReport,
    options: ImportOptions,
    gone: Iterable[Record] = (),
) -> ImportReport:
    """Write what is new or changed, and forget `gone`, as one batch; a dry run only counts."""
    writing = memory.writing_as(writer="person" if options.trusted else "model", surface=SURFACE)
    untrusted = options.fields()
    counts = {"inserted": 0, "updated": 0, "present": 0, "kept_forgotten": 0}
    numbers: list[int] = []
    unread, notes = list(report.unread), list(report.notes)
    with writing.batch() as batch:
        for place, section in enumerate(sections, 1):
            existing = known.get(section.key)
            standing = None if options.force else standing_of(memory, existing, section)
            if standing and not (options.revive and standing == "kept_forgotten"):
                counts[standing] += 1
            elif options.dry_run:
                counts["updated" if existing else "inserted"] += 1
            else:
                try:
                    done = write_section(writing, section, existing, untrusted)
                except VersionConflict:
                    # Another process, such as a hook beside a server, has read the same file.
                    counts["present"] += 1
                    continue
                except PerdureError as error:
                    if error.retryable:
                        # The store is busy, or full: the others would fare no better.
                        raise
                    unread.append(Unread(section.key.partition(":")[2], error.sentence))
                    continue
                counts["updated" if existing else "inserted"] += 1
                numbers.append(done.record.number)
                notes += [note for note in done.notes if note not in notes]
            if options.progress:
                options.progress(place, len(sections))
        leaving = [record for record in gone if record.state == "active" and options.remove]
        protected = [record for record in leaving if record.tier == ONLY_PEOPLE and not options.trusted]
        unread += [
            Unread(f"#{record.number}", "It is constitutional, so it stays without its file.") for record in protected
        ]
        removed = [record.number for record in leaving if record not in protected]
        if removed and not options.dry_run:
            writing.forget(removed)
    return replace(
        report, **counts, gone=len(removed), numbers=tuple(numbers), unread=tuple(unread), notes=tuple(notes),
        batch=batch if (numbers or removed) and not options.dry_run else None,
    )  # fmt: skip


def standing_of(memory: Memory, existing: Record | None, section: Section) -> str | None:
    """Why nothing is to be written about a section, if nothing is. What was erased has left no memory."""
    if existing is None:
        return "kept_forgotten" if memory.forgotten_since(section.text, section.key) else None
    if existing.metadata.get(FILE_HASH) != section.hash:
        return None
    if existing.state != "deleted":
        return "present"
    last = memory.history(existing.number)[-1].change
    return None if last.surface.startswith(SURFACE) else "kept_forgotten"


def write_section(
    memory: Memory, section: Section, existing: Record | None, untrusted: Mapping[str, Any]
) -> Remembered:
    metadata: dict[str, Any] = dict(existing.metadata if existing else {})
    for given in (section.fields, untrusted):
        metadata |= given.get("metadata", {})
    fields: dict[str, Any] = {"source": "import", **section.fields, **untrusted}
    fields["metadata"] = {**metadata, FILE_HASH: section.hash}
    if section.at and existing is None:
        fields["valid_at"] = format_time(section.at)
    version = existing.version if existing and existing.state == "active" else 0
    try:
        return memory.upsert(section.key, section.text, expected_version=version, **fields)
    except NotAllowed:
        # A person gave it a higher tier or importance than its file does, or a server knows the session better.
        rest = {name: value for name, value in fields.items() if name not in {"tier", "importance", "session_id"}}
        return memory.upsert(section.key, section.text, expected_version=version, **rest)

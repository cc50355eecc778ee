"""The Markdown copies of memories: entries of knowledge banks, and sections of memory files. Whoever reads or writes
such files notes in the store where they are, and erasing a memory takes it out of them.

Nothing else is touched: a file that is no bank's, a link, and a section that says something else by now stay, and are
named.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from perdure.bank import documents, memory_files
from perdure.bank.editing import edit_file, remove_leftovers, removing
from perdure.bank.entries import CATEGORIES, local_bank, parse_bank, read_text, unreadable
from perdure.bank.memory_files import parse_memory_file, read_inside, without_sections
from perdure.bank.plain import without_noted_names
from perdure.bank.sections import key_of_section, name_in_keys
from perdure.errors import ExportFailed, ImportFailed, StoreError
from perdure.git import is_tracked
from perdure.ids import content_hash
from perdure.lifecycle.lookup import history
from perdure.model import LEARNING_CATEGORIES, MarkdownCopy, Record
from perdure.project import project_root

if TYPE_CHECKING:
    from perdure.services import Services
    from perdure.store.port import Store

Says: TypeAlias = Callable[[str], bool]

_NOTE: Final = "markdown copies"
_MAX_ATTEMPTS: Final = 5
# How the key of a memory begins that comes from a file, which tells where it may stand.
_FILE, _DOCUMENT = f"{memory_files.KIND}:", f"{documents.KIND}:"
_GONE: Final = "The project's folder is not there, so that its bank was not looked at."
_MISSING: Final = "The file is not there any more. If it was moved, take it out there."
_LINK: Final = "It is a link, or leads out of its project. Take it out there yourself."
_CHANGED: Final = "The section says something else by now, so it stays. Take it out yourself if you mean it."
_NOT_OURS: Final = "It was imported from there. Perdure does not change this file."
_IN_GIT: Final = "git tracks the file, and its history still holds it."


# -- where copies are --------------------------------------------------------------------------------------------------


def note_folders(store: Store, namespace: str, project: Path | None, shared: Path | None) -> None:
    """Note that Markdown of this namespace is in a project, or in a bank that projects share."""
    new = {"projects": project, "shared": shared}
    paths = {kind: os.path.realpath(path) for kind, path in new.items() if path is not None and path.is_dir()}
    # Until it is there: somebody else may note something at the same moment.
    for _ in range(_MAX_ATTEMPTS):
        noted = noted_folders(store)
        own = noted.setdefault(namespace, {})
        if all(path in own.get(kind, []) for kind, path in paths.items()):
            return
        for kind, path in paths.items():
            own[kind] = list(dict.fromkeys([*own.get(kind, []), path]))
        store.put_note(_NOTE, json.dumps(noted))


def noted_folders(store: Store) -> dict[str, dict[str, list[str]]]:
    try:
        value: Any = json.loads(store.note(_NOTE) or "{}")
    except ValueError:
        return {}
    return cast("dict[str, dict[str, list[str]]]", value) if isinstance(value, dict) else {}


# -- finding and removing them -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CopySearch:
    """Finds the copies of memories that are erased, and removes them unless it is a `dry_run`."""

    services: Services
    namespace: str

    def __call__(self, records: Sequence[Record], *, dry_run: bool) -> tuple[MarkdownCopy, ...]:
        noted = noted_folders(self.services.store).get(self.namespace, {})
        learnings = [record for record in records if record.category in LEARNING_CATEGORIES]
        sections = [record for record in records if (record.key or "").startswith(_FILE)]
        found = [
            kept(record.file_path, _NOT_OURS)
            for record in records
            if (record.key or "").startswith(_DOCUMENT) and record.file_path
        ]
        projects = list(map(Path, noted.get("projects", [])))
        if learnings and noted:
            found += self._in_banks(projects, map(Path, noted.get("shared", [])), learnings, dry_run=dry_run)
        for project in projects:
            found += self._in_memory_files(project, sections, dry_run=dry_run)
        return tuple(sorted(dict.fromkeys(found), key=lambda copy: (copy.path, copy.line_number)))

    def _in_banks(
        self, projects: Iterable[Path], shared: Iterable[Path], learnings: Sequence[Record], *, dry_run: bool
    ) -> Iterator[MarkdownCopy]:
        versions = self._versions(learnings)
        says = self._says(versions)
        for project in projects:
            folder = local_bank(project)
            if project.is_dir():
                yield from in_bank(folder, project, says, dry_run=dry_run)
            elif any(record.source_project == project_root(project).name for record in learnings):
                yield kept(str(folder), _GONE)
        titles = {record.title for record in versions if record.title}
        for folder in shared:
            yield from in_bank(folder, None, says, dry_run=dry_run)
            if not dry_run:
                with suppress(OSError, ValueError):
                    without_noted_names(folder, titles)

    def _versions(self, records: Iterable[Record]) -> list[Record]:
        """The memories as they are and were: a file may say what was corrected since."""
        versions: list[Record] = []
        for record in records:
            versions.append(record)
            # Of a damaged memory nothing else is known.
            with suppress(StoreError):
                lines = history(self.services.store, self.namespace, record.number)
                versions += [line.record for line in lines if line.record]
        return versions

    def _says(self, versions: Iterable[Record]) -> Says:
        """Whether a text is one of these. What a secret was taken out of is known by what the store has of it."""
        hashes = {record.content_hash for record in versions}
        redact = self.services.redact
        return lambda text: content_hash(text) in hashes or content_hash(redact(text).text) in hashes

    def _in_memory_files(self, project: Path, records: Sequence[Record], *, dry_run: bool) -> Iterator[MarkdownCopy]:
        files: dict[str, list[Record]] = {}
        names = {name: name_in_keys(project, name) for name in {record.source_project for record in records}}
        for record in records:
            path, name = record.file_path or "", names[record.source_project]
            if record.key == key_of_section(memory_files.KIND, name, path, anchor=record.anchor_id):
                files.setdefault(path, []).append(record)
        for path, some in files.items():
            anchors = {record.anchor_id for record in some}
            yield from in_memory_file(project, path, anchors, self._says(self._versions(some)), dry_run=dry_run)


def in_bank(folder: Path, project: Path | None, says: Says, *, dry_run: bool) -> Iterator[MarkdownCopy]:
    """The entries of a bank that say one of these."""
    for category in CATEGORIES:
        path = folder / f"{category}.md"
        try:
            text = read_text(path)
            meant = [entry for entry in parse_bank(text or "", category).entries if says(entry.description)]
        except (OSError, ValueError) as error:
            yield kept(str(path), unreadable(error))
            continue
        copies = [MarkdownCopy(str(path), entry.line_number) for entry in meant]
        if copies:
            yield from removed_copies(path, project, copies, removing(category, says), dry_run=dry_run)


def in_memory_file(
    project: Path, path: str, anchors: set[str | None], says: Says, *, dry_run: bool
) -> Iterator[MarkdownCopy]:
    """The sections of a memory file that say one of these; those of these `anchors` that say something else stay."""
    if not project.is_dir():
        yield kept(str(project / path), _GONE)
        return
    if not (project / path).exists():
        yield kept(str(project / path), _MISSING)
        return
    try:
        relative, text = read_inside(project, Path(path))
    except ImportFailed:
        yield kept(str(project / path), _LINK)
        return
    texts = parse_memory_file(relative, text).texts
    if any(says(section) for section in texts.values()):
        copies = [MarkdownCopy(str(project / path))]
        yield from removed_copies(
            project / path, project, copies, lambda text: without_sections(text, says), dry_run=dry_run
        )
    if any(not says(texts[anchor]) for anchor in anchors if anchor in texts):
        yield kept(str(project / path), _CHANGED)


def removed_copies(
    path: Path, project: Path | None, copies: Sequence[MarkdownCopy], edit: Callable[[str], str], *, dry_run: bool
) -> list[MarkdownCopy]:
    if path.is_symlink() or (project and not path.resolve().is_relative_to(project.resolve())):
        return [replace(copy, outcome="kept", reason=_LINK) for copy in copies]
    note = _IN_GIT if is_tracked(path) else None
    if dry_run:
        return [replace(copy, reason=note) for copy in copies]
    try:
        _, after = edit_file(path, [edit])
        remove_leftovers(path)
        if not after:
            path.unlink(missing_ok=True)
    except ExportFailed as error:
        return [replace(copy, outcome="kept", reason=error.sentence) for copy in copies]
    except OSError as error:
        sentence = f"The file could not be removed: {error.strerror}."
        return [replace(copy, outcome="kept", reason=sentence) for copy in copies]
    return [replace(copy, outcome="removed", reason=note) for copy in copies]


def kept(path: str, reason: str) -> MarkdownCopy:
    return MarkdownCopy(path, outcome="kept", reason=reason)

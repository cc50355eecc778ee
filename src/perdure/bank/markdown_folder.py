"""Memories as a folder of Markdown files, in the layout of the Open Memory Protocol's draft 0.1: files at the top are
what an agent always has before it, folders are looked into when they are needed, and every folder has a `MEMORY.md`
that lists what is in it. Each memory is one file with its fields above its text, so that the folder can be imported
again.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from perdure.bank.importers.item import slug
from perdure.errors import Conflict, ExportFailed, ImportFailed, InvalidInput, NotFound, shown
from perdure.files import read_regular
from perdure.ids import content_hash
from perdure.jsonable import to_jsonable
from perdure.model import Exported, Imported, Record, State
from perdure.validation import MAX_TEXT_BYTES

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.store.port import Progress

INDEX: Final = "MEMORY.md"
MARK: Final = "perdure_markdown"
FORMAT: Final = 1
_FENCE: Final = "---"
# The draft asks for less than 30,000 tokens at the top; four bytes are about a token.
_MAX_CORE: Final = 100_000
_CORE_TIERS: Final = ("constitutional", "critical")
_PAGE: Final = 1000
_TITLE: Final = 80
_MAX_FILE: Final = MAX_TEXT_BYTES + (1 << 20)


def export_folder(
    memory: Memory,
    target: str | os.PathLike[str],
    *,
    states: Sequence[State] = ("active",),
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Exported:
    """Write the folder beside its place and put it there when it is whole. A folder that is there already is replaced
    only if it is such an export, and `overwrite` says so.
    """
    path = Path(target)
    if path.exists() and not (overwrite and is_markdown_export(path)):
        remedy = "Choose another name" + (", or replace it with --overwrite." if is_markdown_export(path) else ".")
        raise Conflict(f"{path} exists.", remedy=remedy)
    try:
        staged = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.absolute().parent))
    except OSError as error:
        raise ExportFailed(f"{path} cannot be written: {error.strerror}.") from error
    try:
        written = _write_folder(memory, staged, states, progress)
        if path.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.absolute().parent))
            path.replace(old)
            staged.replace(path)
            shutil.rmtree(old)
        else:
            staged.replace(path)
    except OSError as error:
        raise ExportFailed(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        with suppress(OSError):
            shutil.rmtree(staged)
    return Exported(written)


def _write_folder(memory: Memory, root: Path, states: Sequence[State], progress: Progress | None) -> int:
    listings: dict[Path, list[str]] = {root: []}
    core = written = 0
    held = next((each.states for each in memory.stats().namespaces if each.name == memory.capacity().namespace), None)
    total = sum(held.get(state, 0) for state in states) if held else 0
    for record in records_in(memory, states):
        content = f"{_front_matter(_fields(record))}{record.text}\n"
        size = len(content.encode())
        is_core = record.tier in _CORE_TIERS and record.state == "active" and core + size <= _MAX_CORE
        core += size if is_core else 0
        folder = root if is_core else root.joinpath(*_place(record))
        name = f"{record.number:05d}-{slug(record.title or record.text[:_TITLE])[:50]}.md"
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            file.write(content)
        listings.setdefault(folder, []).append(f"- [{_headline(record)}]({name})")
        written += 1
        if progress and written % _PAGE == 0:
            progress(written, total)
    _write_indexes(root, listings, written)
    if progress:
        progress(written, total)
    return written


def records_in(memory: Memory, states: Sequence[State], *, newest: bool = True) -> Iterator[Record]:
    after: int | None = None
    while True:
        page = memory.list(limit=_PAGE, after=after, states=states, newest=newest)
        yield from page
        after = page.next
        if after is None:
            return


def _place(record: Record) -> tuple[str, ...]:
    """The folder of a memory that is looked for when it is needed."""
    if record.conversation_id and record.key and record.key.startswith("message:"):
        return ("conversations", slug(record.conversation_id))
    return (slug(record.category or "memories"),)


def _fields(record: Record) -> dict[str, Any]:
    fields = to_jsonable(record)
    return {name: value for name, value in fields.items() if name != "text" and value not in (None, [], {}, "")}


def _front_matter(fields: Mapping[str, Any]) -> str:
    """Values are JSON, which YAML reads as well; so nothing is lost, whatever a value holds."""
    lines = (f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items())
    return "\n".join([_FENCE, *lines, _FENCE, ""])


def _headline(record: Record) -> str:
    words = " ".join((record.title or record.text).split())
    return (words if len(words) <= _TITLE else f"{words[: _TITLE - 1]}…").replace("[", "(").replace("]", ")")


def _write_indexes(root: Path, listings: Mapping[Path, list[str]], written: int) -> None:
    folders = {each for folder in listings for each in (folder, *folder.parents) if each.is_relative_to(root)}
    for folder in sorted(folders):
        below = sorted(each for each in folders if each.parent == folder and each != folder)
        counts = {
            each: sum(len(lines) for own, lines in listings.items() if own.is_relative_to(each)) for each in below
        }
        title = "Memory" if folder == root else folder.name.replace("-", " ").capitalize()
        lines = [f"# {title}", ""]
        if folder == root:
            lines += [
                "The files beside this one always matter. The folders hold the rest: look into the one that fits.",
                "",
            ]
        lines += [f"- [{each.name}/]({each.name}/{INDEX}): {counts[each]:,}" for each in below]
        lines += listings.get(folder, [])
        head = _front_matter({MARK: FORMAT, "memories": written}) if folder == root else ""
        (folder / INDEX).write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


# -- reading it again --------------------------------------------------------------------------------------------------


def is_markdown_export(path: Path) -> bool:
    try:
        beginning = read_regular(path / INDEX, 200).decode("utf-8", "replace")
    except OSError:
        return False
    return beginning.startswith(f"{_FENCE}\n{MARK}: ")


def import_folder(
    memory: Memory,
    path: Path,
    *,
    trusted: bool = False,
    revive: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """Import a folder, as one batch. A text without a key that was edited in it is a new version of the memory that its
    file names, if that is here and says what it said when it was exported; nobody else's folder may say that of ours.
    """
    records: list[dict[str, Any]] = []
    edited: list[tuple[Record, str]] = []
    changed_here = 0
    for record in folder_records(path):
        named = _named_by(memory, record) if trusted else None
        if named is None or named.content_hash == content_hash(record["text"]):
            records.append(record)
        elif named.content_hash == record["content_hash"]:
            edited.append((named, record["text"]))
        else:
            changed_here += 1
    with memory.batch() as batch:
        done = memory.import_(records, trusted=trusted, revive=revive, dry_run=dry_run, progress=progress)
        for named, text in edited if not dry_run else ():
            memory.update(named.number, text=text, expected_version=named.version)
    notes = (*done.notes, *((f"{changed_here:,} edited here and in the folder: skipped.",) if changed_here else ()))
    return replace(
        done, updated=done.updated + len(edited), skipped_deleted=done.skipped_deleted + changed_here, notes=notes,
        batch=batch if edited and not dry_run else done.batch,
    )  # fmt: skip


def _named_by(memory: Memory, record: Mapping[str, Any]) -> Record | None:
    """The memory that a file without a key was made of, if its text was edited since."""
    id, text = record.get("id"), record["text"]
    if record.get("key") or not isinstance(id, str) or record.get("content_hash") in {None, content_hash(text)}:
        return None
    with suppress(NotFound, InvalidInput):
        named = memory.get(id)
        return named if named.state == "active" and named.key is None else None
    return None


def folder_records(path: Path) -> Iterator[dict[str, Any]]:
    """The memories of a folder as records that `Memory.import_` takes. One whose text was edited since is newer than
    what is stored, whatever its times say.
    """
    head, _ = _split((path / INDEX).read_text(encoding="utf-8"), path / INDEX)
    if head.get(MARK) != FORMAT:
        raise ImportFailed(
            f"{path} has format {head.get(MARK)}; this Perdure reads {FORMAT}.", remedy="Upgrade Perdure."
        )
    for file in sorted(each for each in path.rglob("*.md") if each.name != INDEX and each.is_file()):
        try:
            content = read_regular(file, _MAX_FILE)
            fields, text = _split(content.decode("utf-8"), file)
        except (OSError, UnicodeDecodeError) as error:
            raise ImportFailed(f"{file} cannot be read: {error}.") from error
        text = text.removesuffix("\n")
        if fields.get("content_hash") != content_hash(text):
            fields = {name: value for name, value in fields.items() if name != "updated_at"}
        yield {**fields, "text": text}


def _split(content: str, file: Path) -> tuple[dict[str, Any], str]:
    """A file that somebody wrote by hand has no fields: it is a memory like any other."""
    if not content.startswith(f"{_FENCE}\n"):
        return {}, content
    head, end, text = content.removeprefix(f"{_FENCE}\n").partition(f"\n{_FENCE}\n")
    if not end:
        return {}, content
    fields: dict[str, Any] = {}
    for line in head.split("\n"):
        name, _, value = line.partition(": ")
        try:
            fields[name.strip()] = json.loads(value)
        except ValueError as error:
            raise ImportFailed(
                f"{file}: {shown(line)} is not a field of a memory.", remedy="Each value is JSON."
            ) from error
    return fields, text

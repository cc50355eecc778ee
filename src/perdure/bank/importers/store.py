"""What an importer reads is stored as one batch, in small transactions. A first reading finds damage before anything is
stored, and counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from perdure.bank.importers.archive import ZipArchive, open_archive
from perdure.bank.importers.chatgpt import CHATGPT
from perdure.bank.importers.claude import CLAUDE
from perdure.bank.importers.databases import DATABASES
from perdure.bank.importers.gemini import GEMINI
from perdure.bank.importers.item import Chat, Importer, Item, LeftOut, NewMemory
from perdure.bank.importers.json_items import json_items
from perdure.bank.importers.letta import LETTA
from perdure.bank.importers.mem0 import MEM0, MEM0_MARKDOWN, OPEN_MEMORY
from perdure.bank.importers.pasted import PASTED
from perdure.bank.sections import ImportOptions, ImportReport, Unread
from perdure.errors import ImportFailed, PerdureError, shown
from perdure.validation import MAX_ITEMS, MAX_TEXT_BYTES, check_fields, check_text

if TYPE_CHECKING:
    from perdure.memory import Memory

SURFACE: Final = "import"
FILES: Final = (CHATGPT, CLAUDE, OPEN_MEMORY, GEMINI, MEM0_MARKDOWN, LETTA, MEM0, PASTED)
IMPORTERS: Final = {importer.kind: importer for importer in (*FILES, *DATABASES)}
# How many items are stored together, and how many characters: a chat may be as long as a book.
_ITEMS_AT_ONCE: Final = 512
_SIZE_AT_ONCE: Final = 4 << 20
_MAX_LINE: Final = 1024
# How much of a text without a key names it.
_NAMED_BY: Final = 200
# What members of known exports are called.
_KNOWN_NAMES: Final = re.compile(r"conversations(-\d+)?\.json|memories\.json|My ?Activity\.json")
_LISTS: Final = ("tags", "references")


def find_importer(path: Path, *, database: bool = False) -> Importer | None:
    """The importer that knows what stands at a path. What begins like a known export and is damaged is an error."""
    with open_archive(path) as archive:
        found = next((each for each in (DATABASES if database else FILES) if each.recognises(archive)), None)
        if found is None and isinstance(archive, ZipArchive):
            for name in archive.names:
                if _KNOWN_NAMES.fullmatch(PurePosixPath(name).name):
                    with archive.open(name) as stream:
                        next(json_items(stream, name), None)
        return found


def import_with(memory: Memory, importer: Importer, path: Path, options: ImportOptions) -> ImportReport:
    report = ImportReport(importer.kind, str(path))
    held = Counter(type(item) for item in items_of(importer, path))
    total = held.total()
    writing = memory.writing_as(writer="person" if options.trusted else "model", surface=SURFACE)
    if held[NewMemory]:
        # A server refuses this to the token of a model: before anything is stored, and not after half of it.
        writing.import_((), trusted=True, dry_run=True)
    counts: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    unread: list[Unread] = []
    notes: Counter[str] = Counter()
    with writing.batch() as batch:
        if options.begun and not options.dry_run:
            options.begun(batch)
        done = 0
        for group in portions(items_of(importer, path)):
            records: list[dict[str, Any]] = []
            for item in group:
                match item:
                    case Unread():
                        unread.append(item)
                    case LeftOut():
                        left_out[item.what] += item.parts
                    case NewMemory():
                        try:
                            records.append(checked_record(item, trusted=options.trusted))
                        except PerdureError as error:
                            unread.append(Unread(item.key or shown(item.text[:_NAMED_BY]), error.sentence))
                    case Chat():
                        store_chat(writing, item, options, counts, kinds, unread)
            store_records(writing, records, options, counts, notes)
            kinds["memories"] += len(records)
            done += len(group)
            if options.progress:
                options.progress(done, total)
    told = [f"Left out: {what} ({number:,})." for what, number in left_out.items()]
    written = counts["inserted"] + counts["updated"] and not options.dry_run
    return replace(
        report, inserted=counts["inserted"], updated=counts["updated"], present=counts["present"],
        kept_forgotten=counts["kept_forgotten"], unread=tuple(unread), notes=(*told, *notes),
        kinds={kind: number for kind, number in kinds.items() if number}, batch=batch if written else None,
    )  # fmt: skip


def items_of(importer: Importer, path: Path) -> Iterator[Item]:
    with open_archive(path) as archive:
        yield from importer.read(archive)


def portions(items: Iterable[Item]) -> Iterator[list[Item]]:
    """As many items at a time as are stored together."""
    portion: list[Item] = []
    size = 0
    for item in items:
        portion.append(item)
        match item:
            case NewMemory():
                size += len(item.text)
            case Chat():
                size += sum(len(message["content"]) for message in item.messages)
            case _:
                pass
        if len(portion) == _ITEMS_AT_ONCE or size >= _SIZE_AT_ONCE:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def checked_record(note: NewMemory, *, trusted: bool) -> dict[str, Any]:
    """A record that can be imported. Lists and titles of others may be longer than ours."""
    fields = {name: value for name, value in note.fields.items() if value not in (None, [], {}, "")}
    if "title" in fields:
        fields["title"] = " ".join(str(fields["title"]).split())[:_MAX_LINE]
    for name in _LISTS:
        if name in fields:
            lines = dict.fromkeys(" ".join(str(each).split())[:_MAX_LINE] for each in fields[name])
            fields[name] = [line for line in lines if line][:MAX_ITEMS]
    history = {name: fields.pop(name) for name in ("created_at", "updated_at") if name in fields}
    extra = {} if trusted else {"trust": "low"}
    whose = {"key": note.key} if note.key else {}
    check_text(note.text)
    check_fields({**fields, **whose})
    return {"source": "import", **fields, **extra, **history, **whose, "text": note.text}


def store_records(
    writing: Memory, records: list[dict[str, Any]], options: ImportOptions, counts: Counter[str], notes: Counter[str]
) -> None:
    if not records:
        return
    done = writing.import_(records, trusted=True, revive=options.revive, dry_run=options.dry_run)
    counts.update(
        inserted=done.inserted, updated=done.updated, present=done.present, kept_forgotten=done.skipped_deleted
    )
    notes.update(done.notes)


def store_chat(
    writing: Memory,
    chat: Chat,
    options: ImportOptions,
    counts: Counter[str],
    kinds: Counter[str],
    unread: list[Unread],
) -> None:
    messages: dict[str, Mapping[str, Any]] = {}
    for message in chat.messages:
        what = f"{chat.id}, {message['id']}"
        if len(message["content"].encode()) > MAX_TEXT_BYTES:
            unread.append(Unread(what, "It is too long for a memory."))
        elif message["id"] in messages:
            unread.append(Unread(what, "Another message of this conversation has the same id."))
        else:
            messages[message["id"]] = {**message, "conversation_id": chat.id}
    try:
        done = writing.import_messages(messages.values(), dry_run=options.dry_run)
    except ImportFailed as error:
        unread.append(Unread(chat.id, error.sentence))
        return
    counts.update(inserted=done.inserted, present=done.present, kept_forgotten=done.skipped_deleted)
    kinds.update(conversations=1, messages=len(messages))

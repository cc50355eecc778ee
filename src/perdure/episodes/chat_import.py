"""Conversations that were written down elsewhere, as JSON Lines: one message a line, in the order of their saying.

Importing a file again, or a longer one, stores what is new. A message with an id is known by it. The others are known
by their order: as far as the messages of the file are stored one after the other, whatever was said between them, they
are known, and the rest is new.
"""

# A checked message has a content hash and metadata.
# pyright: reportTypedDictNotRequiredAccess=false, reportOptionalMemberAccess=false

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count, islice
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO, TypeAlias, cast

from perdure.clock import parse_time
from perdure.episodes.keys import conversation_name, key_of, last_position, numbers_by_position
from perdure.episodes.messages import NewMessage, append, check_conversation, check_message, plan_message
from perdure.errors import ImportFailed, InvalidInput, PerdureError, shown
from perdure.ids import MESSAGE
from perdure.lifecycle.import_export import is_blocked, placed_objects
from perdure.lifecycle.write import identity_of_fields
from perdure.model import ROLE, Imported, Record, identity_of
from perdure.store.port import LogFilter, Progress, Reader
from perdure.text_files import rereadable
from perdure.validation import check_int, check_single_line, check_text, number_in

if TYPE_CHECKING:
    from perdure.services import Services

Decision: TypeAlias = Literal["inserted", "present", "skipped_deleted"]

_FIELDS: Final = ("conversation_id", "role", "content", "timestamp", "at", "speaker", "session_id", "id")
# Short transactions let other processes write in between.
_PER_TRANSACTION: Final = 128
_READ_AT_ONCE: Final = 1000
# Above this a number of seconds would be the year 5138: these are milliseconds.
_MILLISECONDS: Final = 1e11
_TIMES: Final = "Use ISO 8601, such as 2026-03-14T09:26:53Z, or seconds since 1970; nothing was stored."
_NOTES: Final = {
    "blank": "skipped: nothing was said in them.",
    "skipped_deleted": "skipped: forgotten or erased here later.",
    "redacted": "redacted before storing: they held secrets.",
}


@dataclass(slots=True)
class ChatFile:
    """The checked messages of a file, and of each conversation those without an id, in their order."""

    messages: list[NewMessage] = field(default_factory=list[NewMessage])
    by_order: dict[str, list[NewMessage]] = field(default_factory=dict[str, list[NewMessage]])
    blank: int = 0


@dataclass(slots=True)
class Stored:
    """How much of one conversation of the file is stored: what became of the messages without an id that are known, how
    many of them were looked at, and the last position, by which one sees whether others wrote meanwhile.
    """

    known: list[Decision]
    last: int
    looked_at: int = 0


def import_messages(
    services: Services, namespace: str, source: object, *, dry_run: bool, progress: Progress | None
) -> Imported:
    """Everything is checked before the first message is stored."""
    file = read_file(services, source)
    batch, counts, evicted = services.context.batch(), Counter(blank=file.blank), list[Record]()
    stored: dict[str, Stored] = {}
    for start in range(0, len(file.messages), _PER_TRANSACTION):
        group = file.messages[start : start + _PER_TRANSACTION]
        if dry_run:
            with services.store.read(namespace) as reader:
                decided = decide(reader, file, group, stored)
        else:
            planned = [plan_message(services, namespace, message, batch.at) for message in group]
            with services.store.write(namespace) as writer:
                decided = decide(writer, file, group, stored)
                new = [
                    one._replace(message=message)
                    for one, (decision, message) in zip(planned, decided, strict=True)
                    if decision == "inserted"
                ]
                evicted += append(services, writer, new, batch)
            for message, *_ in new:
                stored[message.conversation].last += 1
        counts.update(decision for decision, _ in decided)
        counts["redacted"] += sum(bool(message.notes) for decision, message in decided if decision == "inserted")
        if progress:
            progress(start + len(group), len(file.messages))
    numbers = ((counts[name], text) for name, text in _NOTES.items())
    notes = [f"{number:,} {'message' if number == 1 else 'messages'} {text}" for number, text in numbers if number]
    written = counts["inserted"] and not dry_run
    return Imported(
        counts["inserted"], 0, counts["present"], batch.id if written else None, tuple(notes),
        counts["skipped_deleted"], tuple(evicted),
    )  # fmt: skip


def decide(
    reader: Reader, file: ChatFile, group: Iterable[NewMessage], stored: dict[str, Stored]
) -> list[tuple[Decision, NewMessage]]:
    """What becomes of each of these messages, with the idempotency key under which a new one is stored. It looks again
    at a conversation in which others wrote meanwhile.
    """
    fresh: set[str] = set()
    decisions: list[tuple[Decision, NewMessage]] = []
    for message in group:
        name = message.conversation
        if name not in fresh:
            fresh.add(name)
            last = last_position(reader, MESSAGE, name)
            if name not in stored or stored[name].last != last:
                looked_at = stored[name].looked_at if name in stored else 0
                stored[name] = Stored(known_messages(reader, name, file.by_order.get(name, ())), last, looked_at)
        state = stored[name]
        if message.request.idempotency_key:
            decisions.append(decide_by_id(reader, message, message.request.idempotency_key))
        else:
            place, state.looked_at = state.looked_at, state.looked_at + 1
            if place < len(state.known):
                decisions.append((state.known[place], message))
            else:
                erased = is_erased(reader, message, state.last + 1 + place - len(state.known))
                decisions.append(("skipped_deleted" if erased else "inserted", message))
    return decisions


def decide_by_id(reader: Reader, message: NewMessage, id: str) -> tuple[Decision, NewMessage]:
    """An id is used once. So what an undo took back without a trace is stored again under a further one."""
    key = id
    for again in count(2):
        lines = reader.log(LogFilter(request=key), limit=1)
        if not lines:
            break
        record = reader.by_number(lines[0].number)
        if record is None or not was_taken_back(reader, record):
            return "present" if is_kept(record) else "skipped_deleted", message
        key = f"{id} again {again}"
    return "inserted", replace(message, request=replace(message.request, idempotency_key=key))


def known_messages(reader: Reader, conversation: str, messages: Sequence[NewMessage]) -> list[Decision]:
    """As far as the messages are stored one after the other, what became of each."""
    decisions: list[Decision] = []
    if not messages:
        return decisions
    expected, positions = 1, numbers_by_position(reader, MESSAGE, conversation)
    while page := list(islice(positions, _READ_AT_ONCE)):
        records = {record.number: record for record in reader.fetch([number for _, number in page])}
        for position, number in page:
            record = records.get(number)
            for place in range(expected, position + 1):
                if len(decisions) == len(messages):
                    return decisions
                message = messages[len(decisions)]
                if place == position and record and was_taken_back(reader, record):
                    continue
                if place == position and record and is_same_message(record, message):
                    decisions.append("present" if is_kept(record) else "skipped_deleted")
                elif (place < position or not record or record.version > 1) and is_erased(reader, message, place):
                    decisions.append("present" if place == position and is_kept(record) else "skipped_deleted")
            expected = position + 1
    return decisions


def is_same_message(record: Record, message: NewMessage) -> bool:
    """The same words by the same role, at the same time if the file says when."""
    fields = message.request.fields
    return (
        record.content_hash == fields["content_hash"]
        and record.metadata.get(ROLE) == (fields["metadata"] or {}).get(ROLE)
        and fields.get("valid_at") in {None, record.valid_at}
    )


def is_kept(record: Record | None) -> bool:
    """What expired or was evicted is known as well; only what was forgotten or erased is not."""
    return record is not None and record.state != "deleted"


def was_taken_back(reader: Reader, record: Record) -> bool:
    """Whether an undo took it back, as if it had never been said; of what was forgotten a tombstone is left."""
    return record.state == "deleted" and reader.tombstone_since(identity_of(record)) is None


def is_erased(reader: Reader, message: NewMessage, position: int) -> bool:
    """Whether these words stood here, and were forgotten, corrected or erased after they were said."""
    fields = message.request.fields
    identity = identity_of_fields({**fields, "key": key_of(MESSAGE, message.conversation, position)})
    return is_blocked(reader.tombstone_since(identity), fields.get("valid_at"))


def read_file(services: Services, source: object) -> ChatFile:
    """The messages of a path, an open text file or mappings, all checked."""
    with ExitStack() as stack:
        if isinstance(source, str | os.PathLike) or hasattr(source, "readline"):
            stream = stack.enter_context(rereadable(cast("str | os.PathLike[str] | TextIO", source)))
            lines = placed_objects(stream)
        elif isinstance(source, Iterable):
            given = cast("Iterable[object]", source)
            lines = ((f"Message {number}", item) for number, item in enumerate(given, 1))
        else:
            raise ImportFailed(f"{shown(source)} holds no messages.", remedy="Give a path, a file or mappings.")
        file = ChatFile()
        ids: set[str] = set()
        for where, item in lines:
            try:
                message = read_message(services, item)
            except PerdureError as error:
                raise ImportFailed(f"{where}: {error.sentence}", remedy=error.advice) from error
            if message is None:
                file.blank += 1
                continue
            id = message.request.idempotency_key
            if id is None:
                file.by_order.setdefault(message.conversation, []).append(message)
            elif id in ids:
                raise ImportFailed(f"{where}: another message of this conversation has the same id.")
            else:
                ids.add(id)
            file.messages.append(message)
        return file


def read_message(services: Services, item: object) -> NewMessage | None:
    """None where nothing was said, as when an assistant only called a tool."""
    if not isinstance(item, Mapping):
        raise ImportFailed(f"{shown(item)} is not a mapping.")
    given = {name: value for name, value in cast("Mapping[str, Any]", item).items() if value is not None}
    if unknown := next((name for name in given if name not in _FIELDS), None):
        raise ImportFailed(f"A message has no field {shown(unknown)}.", remedy=f"Its fields are {', '.join(_FIELDS)}.")
    if missing := next((name for name in ("conversation_id", "role") if name not in given), None):
        raise ImportFailed(f"{missing} is missing.", remedy="Every message needs conversation_id, role and content.")
    if "content" not in item:
        raise ImportFailed("content is missing.", remedy="Every message needs conversation_id, role and content.")
    if "at" in given and "timestamp" in given:
        raise ImportFailed("It has both timestamp and at.", remedy="Leave one of them out; nothing was stored.")
    conversation = check_conversation(services, given["conversation_id"])
    content = given.get("content", "")
    if isinstance(content, str) and not content.strip():
        return None
    key = None
    if "id" in given:
        id = given["id"] if isinstance(given["id"], str) else str(check_int(given["id"], "id", 0, 2**63 - 1))
        key = f"chat {conversation_name(conversation)}/{check_single_line(id, 'id')}"
    at = next((moment(given[name], name) for name in ("at", "timestamp") if name in given), None)
    # What a model imports would stand under somebody else's session.
    session = given.get("session_id") if services.context.is_person else services.context.session
    return check_message(
        services, conversation, role=given["role"], content=check_text(content, "content"), at=at,
        speaker=given.get("speaker"), session_id=session, idempotency_key=key, source="import", trust="low",
    )  # fmt: skip


def moment(value: object, field: str) -> datetime:
    """A number is a time in seconds since 1970, or in milliseconds. Of a file that was written some day, words such as
    `yesterday` tell no time.
    """
    number = number_in(value, -_MILLISECONDS, _MILLISECONDS * 1000)
    if number is not None:
        return datetime.fromtimestamp(number / 1000 if number > _MILLISECONDS else number, UTC)
    if not isinstance(value, str | datetime):
        raise ImportFailed(f"{field} is not a time: {shown(value)}.", remedy=_TIMES)
    try:
        return parse_time(value, field)
    except InvalidInput as error:
        raise ImportFailed(error.sentence, remedy=_TIMES) from error

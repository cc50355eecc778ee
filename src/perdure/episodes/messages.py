"""Messages: what was said in a conversation, each a memory with a key of its own, one behind the other.

The position of a message is found inside the transaction that stores it, so two processes never give the same one.
"""

# A checked message has a text, a content hash and metadata.
# pyright: reportTypedDictNotRequiredAccess=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from perdure.clock import format_time, parse_iso_time
from perdure.episodes.keys import conversations_with, key_of, next_position, position_of, prefix_of
from perdure.episodes.metadata import ENDED, SAID_AFTER
from perdure.errors import StoreBusy, StoreUnreachable
from perdure.ids import MESSAGE
from perdure.lifecycle.write import (
    Plan,
    PreparedWrite,
    WriteRequest,
    WriteResult,
    answer,
    apply_plan,
    check_request,
    make_room,
    plan_write,
    prepare,
    require_no_secret,
    retry_when_rolled_back,
)
from perdure.model import ROLE, SPEAKER, Filter, Imported, Record, Remembered, replace_record
from perdure.store.port import About, LogFilter, Reader, Writer
from perdure.text.entry import entry_of
from perdure.validation import check_metadata, check_single_line

if TYPE_CHECKING:
    from perdure.lifecycle.write_context import WriteBatch
    from perdure.services import Services

SOURCE: Final = "conversation"
_ALL: Final = 1 << 40
_MOMENT: Final = timedelta(microseconds=1)
_MORE: Final = 4


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A checked message that is not stored yet."""

    conversation: str
    request: WriteRequest
    notes: tuple[str, ...] = ()
    is_live: bool = False
    """Whether it is said now, so that it comes after everything that was said before, whatever the clock says."""


class PlannedMessage(NamedTuple):
    """What can be done about a new message before the transaction that stores it."""

    message: NewMessage
    plan: Plan
    entry: PreparedWrite


def check_conversation(services: Services, conversation: object) -> str:
    checked = check_single_line(conversation, "conversation_id")
    require_no_secret(services, checked, "conversation id")
    return checked


def check_message(  # noqa: PLR0913 - one for each field of a message
    services: Services,
    conversation: str,
    *,
    role: object,
    content: Any,
    at: object = None,
    speaker: object = None,
    session_id: object = None,
    idempotency_key: str | None = None,
    metadata: object = None,
    **origin: object,
) -> NewMessage:
    """A speaker without a name is called by the role. `origin` are further fields of the memory."""
    named = check_single_line(role, ROLE)
    more = {} if metadata is None else check_metadata(metadata, "metadata")
    more |= {ROLE: named, SPEAKER: named if speaker is None else check_single_line(speaker, SPEAKER)}
    fields = {"source": SOURCE, **origin, "conversation_id": conversation, "metadata": more}
    fields |= {name: value for name, value in (("valid_at", at), ("session_id", session_id)) if value is not None}
    return NewMessage(conversation, *check_request(services, content, fields, idempotency_key))


def add_message(services: Services, namespace: str, message: NewMessage) -> Remembered:
    """The message is on disk before anybody is asked for its vector."""
    batch = services.context.batch(message.request.fields.get("session_id"))
    planned = plan_message(services, namespace, message, batch.at)
    stored = retry_when_rolled_back(partial(_store_message, services, namespace, planned, batch))
    if isinstance(stored, Remembered):
        return stored
    plan, result = stored
    prepared = prepare(services, plan)
    if prepared.vector is not None and prepared.generation is not None:
        try:
            with services.store.write(namespace) as writer:
                writer.put_vector(prepared.generation, prepared.entry.passage_hash, prepared.vector)
        except (StoreBusy, StoreUnreachable):
            # The message is stored, and its vector comes later.
            prepared = replace(prepared, vector=None, vector_pending=True)
    done = answer(plan, result, prepared, batch)
    missing = services.note_missing_embedder() if done.vector_pending else ()
    return replace(done, notes=(*message.notes, *done.notes, *missing))


def _store_message(
    services: Services, namespace: str, planned: PlannedMessage, batch: WriteBatch
) -> Remembered | tuple[Plan, WriteResult]:
    """The answer to an earlier call with the same idempotency key, or what was stored now."""
    message, plan, entry = planned
    request = message.request
    with services.store.write(namespace, [About(request=request.idempotency_key)]) as writer:
        if request.idempotency_key and (repeated := earlier_answer(writer, message)):
            return repeated
        position = next_position(writer, message.conversation)
        plan = at_position(plan, message.conversation, position)
        plan = after_what_was_said(plan, latest_said(writer), batch.at) if message.is_live else plan
        return plan, apply_plan(services, writer, plan, batch, entry, idempotency_key=request.idempotency_key)


def at_position(plan: Plan, conversation: str, position: int) -> Plan:
    """Nothing of such a key is indexed, so what was prepared without it is good."""
    return replace(plan, record=replace_record(plan.record, key=key_of(MESSAGE, conversation, position)))


def latest_said(reader: Reader) -> datetime | None:
    """When the message that was stored last was stored, by a clock that never goes back."""
    newest = reader.page(Filter(key_type=MESSAGE), after=None, limit=1, newest=True)
    return max((said_after(message) or message.created_at for message in newest), default=None)


def after_what_was_said(plan: Plan, latest: datetime | None, now: datetime) -> Plan:
    """Where the clock went back, a message notes after what it was said."""
    if latest is None or latest <= now:
        return plan
    metadata = {**plan.record.metadata, SAID_AFTER: format_time(latest + _MOMENT)}
    return replace(plan, record=replace_record(plan.record, metadata=metadata))


def said_after(message: Record) -> datetime | None:
    """The time that a message has among the others, where the clock went back before it was stored."""
    noted = message.metadata.get(SAID_AFTER)
    return parse_iso_time(noted, until=False) if isinstance(noted, str) else None


def earlier_answer(writer: Writer, message: NewMessage) -> Remembered | None:
    """The message that an earlier call with this idempotency key stored: its key is not known to the caller."""
    request = message.request
    lines = writer.log(LogFilter(request=request.idempotency_key), limit=1)
    earlier = writer.by_number(lines[0].number) if lines else None
    if earlier and is_message(earlier) and earlier.conversation_id == message.conversation:
        request = replace(request, fields={**request.fields, "key": earlier.key})
    return request.earlier_answer(writer)


def end_conversation(services: Services, namespace: str, conversation: str) -> bool:
    """Mark the last message as the last one for now."""
    from perdure.episodes.lookup import last_message

    with services.store.write(namespace) as writer:
        last = last_message(writer, conversation)
        if last is None or is_last(last):
            return False
        marked = replace_record(last, metadata={**last.metadata, ENDED: True})
        apply_plan(services, writer, Plan(last, marked, "annotate", "annotated"), services.context.batch())
    return True


def is_last(message: Record) -> bool:
    """Whether it was said that nothing follows this message for now."""
    return message.metadata.get(ENDED) is True


def is_message(record: Record) -> bool:
    key = record.key or ""
    return key.startswith(f"{MESSAGE}:") and position_of(key) is not None


def add_messages(services: Services, namespace: str, messages: Sequence[NewMessage]) -> Imported:
    """All or none, as one batch. What was stored before by its idempotency key is left out. Their vectors come later,
    from `work`.
    """
    sessions = {message.request.fields.get("session_id") for message in messages}
    batch = services.context.batch(sessions.pop() if len(sessions) == 1 else None)
    planned = [plan_message(services, namespace, message, batch.at) for message in messages]
    keys = [message.request.idempotency_key for message in messages]

    def store() -> tuple[list[PlannedMessage], tuple[Record, ...]]:
        with services.store.write(namespace, [About(request=key) for key in keys if key]) as writer:
            known = {key for key in keys if key and writer.log(LogFilter(request=key), limit=1)}
            new = [one for one in planned if one.message.request.idempotency_key not in known]
            return new, append(services, writer, new, batch)

    new, evicted = retry_when_rolled_back(store)
    notes = tuple(dict.fromkeys(note for message, *_ in new for note in message.notes))
    return Imported(len(new), 0, len(messages) - len(new), batch.id if new else None, notes, evicted=evicted)


def plan_message(services: Services, namespace: str, message: NewMessage, at: datetime) -> PlannedMessage:
    plan = plan_write(None, namespace, message.request.fields, at)
    return PlannedMessage(message, plan, PreparedWrite(entry_of(plan.record, services.tokens.count)))


def append(
    services: Services, writer: Writer, messages: Sequence[PlannedMessage], batch: WriteBatch
) -> tuple[Record, ...]:
    """Store messages inside a transaction, each behind the last one of its conversation; what was evicted for them."""
    positions: dict[str, int] = {}
    stored: list[Record] = []
    latest = latest_said(writer) if any(one.message.is_live for one in messages) else None
    for message, plan, entry in messages:
        name, key = message.conversation, message.request.idempotency_key
        positions[name] = positions[name] + 1 if name in positions else next_position(writer, name)
        placed = at_position(plan, name, positions[name])
        if message.is_live:
            placed = after_what_was_said(placed, latest, batch.at)
            latest = said_after(placed.record) or latest
        stored.append(apply_plan(services, writer, placed, batch, entry, idempotency_key=key, room=False).record)
    return make_room(services, writer, batch, stored) if stored else ()


def messages_of(services: Services, namespace: str, conversation: str, limit: int | None = None) -> list[Record]:
    """The messages that are there, in the order of their positions; with a limit, the last ones."""
    looked_at = _ALL if limit is None else limit
    with services.store.read(namespace) as reader:
        while True:
            keys = reader.keys(prefix_of(MESSAGE, conversation), limit=looked_at, newest=True)
            numbers = [number for key, number in reversed(keys) if position_of(key) is not None]
            found = [record for record in reader.fetch(numbers) if record.state == "active"]
            if limit is None or len(found) >= limit or len(keys) < looked_at:
                return found if limit is None else found[-limit:]
            # Some of the last ones were forgotten, or are somebody else's.
            looked_at *= _MORE


def conversation_ids(services: Services, namespace: str) -> list[str]:
    """Of the conversations that have messages, in whatever state, by name."""
    with services.store.read(namespace) as reader:
        return conversations_with(reader, MESSAGE)

"""Looking memories up: one by reference, as it is or was; its history; lines of the log."""

from __future__ import annotations

from datetime import datetime
from typing import Final, get_args

from perdure.clock import parse_time
from perdure.errors import AmbiguousReference, NotFound, StoreDamaged
from perdure.ids import parse_reference
from perdure.model import Operation, Record, Revision
from perdure.store.paging import revisions
from perdure.store.port import LogFilter, Store
from perdure.validation import check_choice, check_int, check_single_line, optional
from perdure.visibility import GONE_STATES, has_expired

_MAX_SEQ: Final = 2**62


def find(store: Store, namespace: str, ref: int | str) -> Record:
    """The memory that a reference names, in whatever state it is."""
    with store.read(namespace) as reader:
        records = reader.find(parse_reference(ref))
    if not records:
        raise NotFound(f"No memory {ref!r:.80} in namespace {namespace!r}.")
    if len(records) > 1:
        listed = "; ".join(f"#{record.number} {record.key or record.text[:40]!r}" for record in records[:5])
        raise AmbiguousReference(f"{ref!r:.80} may mean {len(records)} memories: {listed}.")
    return records[0]


def find_present(store: Store, namespace: str, ref: int | str, now: datetime) -> Record:
    """The memory that a reference names, unless it was forgotten, evicted, or has expired."""
    record = find(store, namespace, ref)
    remedy = f"Bring it back with `perdure restore {record.number}`."
    if record.state in GONE_STATES:
        raise NotFound(f"Memory #{record.number} is {record.state}.", remedy=remedy)
    if record.expires_at and has_expired(record, now):
        raise NotFound(f"Memory #{record.number} expired on {record.expires_at:%Y-%m-%d}.", remedy=remedy)
    return record


def find_known(store: Store, namespace: str, ref: int | str, moment: datetime) -> Record:
    """The memory that a reference names, as it was known at a moment."""
    record = find(store, namespace, ref)
    number, remedy = record.number, f"See `perdure history {record.number}`."
    with store.read(namespace) as reader:
        seq = reader.seq_at(moment)
        revision = reader.states_at([number], seq).get(number)
    if record.seq > seq:
        if revision is None:
            raise NotFound(f"Memory #{number} was not known yet then.", remedy=remedy)
        if revision.record is None:
            raise NotFound(f"Memory #{number} cannot be shown as it was: its text was not kept.", remedy=remedy)
        record = revision.record
    expired = has_expired(record, moment)
    if record.state in GONE_STATES or expired:
        raise NotFound(f"Memory #{number} was {'expired' if expired else record.state} then.", remedy=remedy)
    return record


def history(store: Store, namespace: str, ref: int | str) -> list[Revision]:
    """Every revision of a memory, oldest first. The log still has them when the record is damaged or erased, so a
    number or an id is looked up there too.
    """
    reference = parse_reference(ref)
    try:
        number = find(store, namespace, ref).number
        with store.read(namespace) as reader:
            return reader.revisions(number)
    except (NotFound, StoreDamaged):
        with store.read(namespace) as reader:
            number = reference.number
            if number is None and reference.id is not None:
                erasures = revisions(reader, LogFilter(operation="erase"), newest=True)
                number = next((line.number for line in erasures if line.memory == reference.id), None)
            lines = reader.revisions(number) if number is not None else []
        if not lines:
            raise
        return lines


def check_log_filter(
    *,
    batch: str | None = None,
    session: str | None = None,
    actor: str | None = None,
    operation: Operation | None = None,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
    before: int | None = None,
) -> LogFilter:
    """Which lines of the log are asked for, checked."""
    if operation is not None:
        check_choice(get_args(Operation), operation, "operation")
    return LogFilter(
        batch=optional(check_single_line, batch, "batch"),
        session=optional(check_single_line, session, "session"),
        actor=optional(check_single_line, actor, "actor"),
        operation=operation,
        since=optional(parse_time, since, "since"),
        until=optional(parse_time, until, "until"),
        before=None if before is None else check_int(before, "before", 1, _MAX_SEQ),
    )

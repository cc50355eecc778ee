"""Looking memories up: one by reference, as it is or was; its history; lines of the log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, Protocol, get_args

from perdure.clock import Clock, local_day, parse_time
from perdure.errors import AmbiguousReference, InvalidInput, NotFound, StoreDamaged
from perdure.ids import MAX_NUMBER, parse_reference
from perdure.model import Filter, Level, Operation, Page, Record, Revision, identity_of, without_use
from perdure.remedies import Remedy, Run
from perdure.store.paging import page_at, revisions
from perdure.store.port import LogFilter, Reader, Store
from perdure.text.preview import at_level
from perdure.validation import (
    Filters,
    check_choice,
    check_filters,
    check_int,
    check_limit,
    check_period,
    check_single_line,
    optional,
)
from perdure.visibility import GONE_STATES, has_expired

if TYPE_CHECKING:
    from perdure.model import Detail
    from perdure.services import Services

MAX_LOG: Final = 1000
_MAX_SEQ: Final = 2**62
_LISTED: Final = 5
_SHORTEST_BATCH: Final = 8
_ID_LENGTH: Final = 36
# A batch that is named by a part of its id is searched for in the newest lines only.
_MAX_LINES_SEARCHED: Final = 20_000


def find(store: Store, namespace: str, ref: int | str) -> Record:
    """The memory that a reference names, in whatever state it is."""
    with store.read(namespace) as reader:
        return resolve(reader, namespace, ref)


def resolve(reader: Reader, namespace: str, ref: int | str) -> Record:
    records = reader.find(parse_reference(ref))
    if not records:
        raise NotFound(f"No memory {ref!r:.80} in namespace {namespace!r}.")
    if len(records) > 1:
        listed = "; ".join(
            # The same text may have been said in several conversations or files.
            " ".join(filter(None, (f"#{record.number} {record.key or record.text[:40]!r}", *identity_of(record)[2:])))
            for record in records[:_LISTED]
        )
        raise AmbiguousReference(f"{ref!r:.80} may mean {len(records)} memories: {listed}.")
    return records[0]


def find_present(store: Store, namespace: str, ref: int | str, now: datetime) -> Record:
    """The memory that a reference names, unless it was forgotten, evicted, or has expired."""
    record = find(store, namespace, ref)
    remedy = Remedy("Bring it back with ", Run("restore", record.number), ".")
    if record.state in GONE_STATES:
        raise NotFound(f"Memory #{record.number} is {record.state}.", remedy=remedy)
    if record.expires_at and has_expired(record, now):
        raise NotFound(f"Memory #{record.number} expired on {local_day(record.expires_at)}.", remedy=remedy)
    return record


def details(services: Services, namespace: str, refs: Iterable[int | str], level: Level) -> tuple[Detail, ...]:
    """Memories by reference, each in as much detail as the level says. It counts as access."""
    from perdure.model import Detail

    check_choice(get_args(Level), level, "level")
    now = services.context.clock()
    records = [find_present(services.store, namespace, ref, now) for ref in refs]
    for record in records:
        services.usage.accessed(record, now)
    return tuple(Detail(record, level, at_level(record, level)) for record in records)


def find_known(store: Store, namespace: str, ref: int | str, moment: datetime) -> Record:
    """The memory that a reference names, as it was known at a moment."""
    with store.read(namespace) as reader:
        record = resolve(reader, namespace, ref)
        seq = reader.seq_at(moment)
        revision = reader.states_at([record.number], seq).get(record.number)
    number, remedy = record.number, f"See `perdure history {record.number}`."
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
    with store.read(namespace) as reader:
        try:
            return reader.revisions(resolve(reader, namespace, ref).number)
        except (NotFound, StoreDamaged):
            number = reference.number
            if number is None and reference.id is not None:
                erasures = revisions(reader, LogFilter(operation="erase"), newest=True)
                number = next((line.number for line in erasures if line.memory == reference.id), None)
            lines = reader.revisions(number) if number is not None else []
            if not lines:
                raise
            return lines


class PageReader(Protocol):
    """Reads records by number, as `Reader.page` does."""

    def __call__(self, filter: Filter, *, after: int | None, limit: int, newest: bool) -> Sequence[Record]: ...


def get(services: Services, namespace: str, ref: int | str, known_at: datetime | str | None) -> Record:
    """As it is now, which counts as access, or as it was known at a time."""
    clock = services.context.clock
    moment = optional(partial(parse_time, now=clock), known_at, "known_at")
    if moment is not None:
        return without_use(find_known(services.store, namespace, ref, moment))
    now = clock()
    record = find_present(services.store, namespace, ref, now)
    services.usage.accessed(record, now)
    return record


def list_page(
    services: Services,
    namespace: str,
    filters: Filters,
    *,
    after: int | None,
    limit: int,
    newest: bool,
    known_at: datetime | str | None,
) -> Page:
    """Of the memories as they are now, or as they were known at a time."""
    clock = services.context.clock
    moment = optional(partial(parse_time, now=clock), known_at, "known_at")
    now = moment or clock()
    filter = check_filters(filters, services.settings.categories, now)
    if filter.states == ("active",):
        filter = replace(filter, unexpired_at=now)
    with services.store.read(namespace) as reader:
        read = reader.page if moment is None else partial(page_at, reader, seq=reader.seq_at(moment))
        return page(read, filter, after, check_limit(limit), newest=newest)


def page(read: PageReader, filter: Filter, after: int | None, limit: int, *, newest: bool = True) -> Page:
    """A page of at most `limit` records. One record more is read: it says that there is a following page."""
    start = None if after is None else check_int(after, "after", 0, MAX_NUMBER)
    records = read(filter, after=start, limit=limit + 1, newest=newest)
    return Page(tuple(records[:limit]), records[limit - 1].number if len(records) > limit else None)


def check_log_filter(
    *,
    batch: str | None = None,
    session: str | None = None,
    actor: str | None = None,
    operation: Operation | None = None,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
    before: int | None = None,
    clock: Clock,
) -> LogFilter:
    """Which lines of the log are asked for, checked."""
    first, end = check_period(since, until, clock)
    if operation is not None:
        check_choice(get_args(Operation), operation, "operation")
    return LogFilter(
        batch=optional(check_single_line, batch, "batch"),
        session=optional(check_single_line, session, "session"),
        actor=optional(check_single_line, actor, "actor"),
        operation=operation,
        since=first,
        until=end,
        before=None if before is None else check_int(before, "before", 1, _MAX_SEQ),
    )


def log(store: Store, namespace: str, filter: LogFilter, limit: int) -> list[Revision]:
    most = check_int(limit, "limit", 1, MAX_LOG)
    if filter.batch is not None:
        filter = replace(filter, batch=full_batch_id(store, [namespace], filter.batch))
    with store.read(namespace) as reader:
        return reader.log(filter, limit=most)


def full_batch_id(store: Store, namespaces: Iterable[str], batch: str) -> str:
    """The id of the batch that has this id, or one that begins or ends like this. Ids begin with the time, so those of
    one minute begin alike; their ends are random. What is unknown is answered as it was given.
    """
    part = batch.strip().lower()
    if len(part) < _SHORTEST_BATCH:
        raise InvalidInput(
            f"{batch[:80]!r} is too short for a batch.",
            remedy=Remedy(
                f"Give its id, or its first or last {_SHORTEST_BATCH} characters; ", Run("log"), " shows them."
            ),
        )
    if len(part) >= _ID_LENGTH:
        return part
    found: dict[str, None] = {}
    for namespace in namespaces:
        with store.read(namespace) as reader:
            lines = islice(revisions(reader, LogFilter(), newest=True), _MAX_LINES_SEARCHED)
            ids = (line.change.batch for line in lines)
            found |= dict.fromkeys(id for id in ids if id.startswith(part) or id.endswith(part))
    if len(found) > 1:
        raise AmbiguousReference(
            f"{len(found)} batches begin or end with {part[:80]!r}: {listed_briefly(found)}.",
            remedy="Give more of the id.",
        )
    return next(iter(found), part)


def listed_briefly(items: Iterable[str]) -> str:
    """A few of them, and how many more there are."""
    texts = list(items)
    more = len(texts) - _LISTED
    return ", ".join(texts[:_LISTED]) + (f" and {more:,} more" if more > 0 else "")

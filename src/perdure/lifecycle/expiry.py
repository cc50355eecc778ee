"""Expiring memories whose time has come, and purging evicted ones after their grace period.

A clock that is suddenly a year ahead must decide about neither. Time is trusted as far as writes prove it: from a known
moment over every write after it, in steps of a day at most. A longer step counts once the writes after it have gone on
for a week. What is due later than that waits, or until a person confirms that the clock is right; so does purging what
had to go for what a model wrote. Nobody misses the mark meanwhile: whatever reads hides a memory by the clock once its
time is over, and shows it again if the clock goes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import groupby, pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from perdure.buggify import point
from perdure.clock import format_time, local_day
from perdure.errors import StoreReadOnly
from perdure.lifecycle.write import Plan, PreparedWrite, apply_plan, is_unchanged
from perdure.model import Record, replace_record
from perdure.store.port import Writer
from perdure.text.entry import entry_of

if TYPE_CHECKING:
    from perdure.services import Services

STEP: Final = timedelta(days=1)
# How long writes must go on after a longer step, each of their own steps counted as a day at most.
PROOF: Final = timedelta(days=7)

_CLOCK_NOTE: Final = "clock"
_WORTH_NOTING: Final = timedelta(hours=1)
_BEGINNING: Final = datetime(1, 1, 1, tzinfo=UTC)
# Memories per transaction: few enough that no other writer waits long.
_BATCH_SIZE: Final = 256
# What a model destroyed could not be brought back.
_BY_MODELS: Final = (
    "Memories that were evicted for what a model wrote are kept until a person says otherwise: `perdure list --state "
    "evicted` shows them, and `perdure work --purge` purges those whose grace period is over."
)
# Held-back memories are counted up to this number.
_MAX_HELD: Final = 10_000


@dataclass(frozen=True, slots=True)
class ExpiryResult:
    expired: int = 0
    purged: int = 0
    held: int = 0
    notes: tuple[str, ...] = ()


def trusted(start: datetime, times: Iterable[datetime], now: datetime) -> datetime:
    """Pure: how far time can be followed from `start`, over moments at which something happened, towards `now`."""
    moments = sorted((start, *(time for time in times if start < time < now), max(start, now)))
    proof = sum((min(after - before, STEP) for before, after in pairwise(moments)), timedelta())
    for before, after in pairwise(moments):
        proof -= min(after - before, STEP)
        if after - before > STEP and proof < PROOF:
            return before
    return moments[-1]


def expire_and_purge(services: Services, *, purge: bool | None) -> ExpiryResult:
    """Expire and purge what is due, in every namespace. `purge` says that the clock is right (True), or that nothing is
    to be purged now (False). `held` counts what is due by the clock, and waits.
    """
    store, now = services.store, services.context.clock()
    try:
        noted = datetime.fromisoformat(store.note(_CLOCK_NOTE) or "").astimezone(UTC)
    except ValueError:
        noted = None
    until = now
    if not purge and noted is not None and noted <= now:
        until = now if now - noted <= STEP else trusted(noted, store.write_times_after(noted), now)
    elif not purge:
        # There is no note yet, or one from a future that never came: the times of the writes have to tell.
        times = store.write_times_after(_BEGINNING)
        until = trusted(times[0], times, now) if times and times[0] <= now else now
    batch = services.context.batch()

    def prepare(record: Record) -> PreparedWrite:
        return PreparedWrite(entry_of(record, services.tokens.count))

    def expire(writer: Writer, record: Record, prepared: PreparedWrite | None) -> None:
        plan = Plan(record, replace_record(record, state="expired"), "expire", "updated")
        apply_plan(services, writer, plan, batch, prepared)
        point("expire: put")

    def erase(writer: Writer, record: Record, _: PreparedWrite | None) -> None:
        writer.erase(record.number, batch.change("erase"), traceless=False)
        point("purge: erased")

    expired = _each_page(services, lambda: store.due(until, _BATCH_SIZE), prepare, expire)
    purged = 0
    held = dict[str, int]()
    notes: list[str] = []
    if until < now:
        held["past expiry and hidden"] = len(store.due(now, _MAX_HELD))
    if purge is not False:
        evicted_until = _back(until, services.grace)
        # A person who says that the clock is right has looked at what is there.
        due = partial(store.purgeable, evicted_until, by_models=purge is True)
        purged = _each_page(services, lambda: due(_BATCH_SIZE), lambda _: None, erase)
        if until < now:
            held["evicted and due to be purged"] = len(store.purgeable(_back(now, services.grace), _MAX_HELD))
        if purge is None and services.context.is_person and store.purgeable(evicted_until, 1, by_models=True):
            notes.append(_BY_MODELS)
    if noted is None or abs(until - noted) > _WORTH_NOTING:
        # A store that is read-only was not changed either, so nothing depends on the note.
        with suppress(StoreReadOnly):
            store.put_note(_CLOCK_NOTE, format_time(until))
    count = sum(held.values())
    notes += [clock_jump_note(held, until, now)] if count else []
    return ExpiryResult(expired, purged, count, tuple(notes))


def clock_jump_note(held: Mapping[str, int], until: datetime, now: datetime) -> str:
    """What waits, by what it is, and why."""
    waiting = (
        f"{count:,} {'memory is' if count == 1 else 'memories are'} {what}" for what, count in held.items() if count
    )
    return (
        f"{'; '.join(waiting)}. But after {local_day(until)} nothing was written for more than a day, and it is "
        f"{local_day(now)} now: expiring and purging go on when a week of writes has followed. If the clock is right, "
        "they need not wait: perdure work --purge"
    )


def _each_page(
    services: Services,
    next_page: Callable[[], Sequence[Record]],
    prepare: Callable[[Record], PreparedWrite | None],
    act: Callable[[Writer, Record, PreparedWrite | None], None],
) -> int:
    """Page by page, each namespace in one transaction. Memories that somebody changed meanwhile are left alone."""
    total = 0
    namespace_of = attrgetter("namespace")
    while page := next_page():
        done = 0
        for namespace, group in groupby(sorted(page, key=namespace_of), key=namespace_of):
            prepared = [(record, prepare(record)) for record in group]
            with services.store.write(namespace) as writer:
                for record, write in prepared:
                    if is_unchanged(writer, record):
                        act(writer, record, write)
                        done += 1
        total += done
        if not done:
            break
    return total


def _back(moment: datetime, by: timedelta) -> datetime:
    try:
        return moment - by
    except OverflowError:
        return _BEGINNING

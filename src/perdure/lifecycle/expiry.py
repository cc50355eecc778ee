"""What time ends: memories expire, and evicted ones are purged. Only by a clock that did not leap.

Expiring can be taken back, purging cannot; so a clock that is suddenly a year ahead must not decide about either. Time
is trusted as far as there are traces of it: from a known moment it goes on over everything that was written, in steps
of a day at most. Whatever is due beyond that waits until somebody says that the clock is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Final

from perdure.buggify import point
from perdure.clock import format_time
from perdure.errors import StoreDamaged, StoreReadOnly
from perdure.lifecycle.write_context import WriteBatch
from perdure.model import Record, replace_record
from perdure.store.port import Store, Writer
from perdure.text.entry import Entry, entry_of

if TYPE_CHECKING:
    from perdure.services import Services

STEP: Final = timedelta(days=1)

_NOTE: Final = "clock"
_WORTH_NOTING: Final = timedelta(hours=1)
_BEGINNING: Final = datetime(1, 1, 1, tzinfo=UTC)
# Per transaction, so that nobody waits long for it.
_PAGE: Final = 256
# As many as are counted when they are held back.
_COUNTED: Final = 10_000


@dataclass(frozen=True, slots=True)
class Tidied:
    expired: int = 0
    purged: int = 0
    held: int = 0
    notes: tuple[str, ...] = ()


def trusted(start: datetime, times: Iterable[datetime], now: datetime, step: timedelta = STEP) -> datetime:
    """Pure: how far time can be followed from `start`, over moments at which something happened, towards `now`."""
    at = start
    for moment in sorted((*(one for one in times if one <= now), now)):
        if moment - at > step:
            break
        at = max(at, moment)
    return at


def tidy(services: Services, *, confirmed: bool) -> Tidied:
    """Expire and purge, in every namespace, what is due; `confirmed` says that the clock is right."""
    now = services.context.clock()
    until = now if confirmed else _trusted_until(services.store, now)
    batch = services.context.batch()
    expired = _each(services, lambda limit: services.store.due(until, limit), _expiring(services, batch))
    bygone = _back(until, services.grace)
    purged = _each(services, lambda limit: services.store.purgeable(bygone, limit), _purging(batch))
    held = _held(services, now) if until < now else 0
    _keep_clock(services.store, until)
    return Tidied(expired, purged, held, (_leap(held, until, now),) if held else ())


def _trusted_until(store: Store, now: datetime) -> datetime:
    noted = _noted(store)
    if noted is not None and noted <= now:
        if now - noted <= STEP:
            return now
        return trusted(noted, store.write_times_after(noted), now)
    # No note yet, or one from a future that was none: what was written has to tell.
    times = store.write_times_after(_BEGINNING)
    return trusted(times[0], times, now) if times and times[0] <= now else now


def _noted(store: Store) -> datetime | None:
    try:
        return datetime.fromisoformat(store.note(_NOTE) or "").astimezone(UTC)
    except ValueError:
        return None


def _keep_clock(store: Store, at: datetime) -> None:
    noted = _noted(store)
    if noted is None or abs(at - noted) > _WORTH_NOTING:
        # Whoever may not write has changed nothing either, so nothing depends on it.
        with suppress(StoreReadOnly):
            store.put_note(_NOTE, format_time(at))


def _held(services: Services, now: datetime) -> int:
    waiting = services.store.purgeable(_back(now, services.grace), _COUNTED)
    return len(services.store.due(now, _COUNTED)) + len(waiting)


def _leap(held: int, until: datetime, now: datetime) -> str:
    what = "1 memory is" if held == 1 else f"{held:,} memories are"
    return (
        f"{what} due to expire or to be purged, but the clock went from {until:%Y-%m-%d} to {now:%Y-%m-%d} and left "
        "more than a day without a trace. If it is right, say so: perdure work --expire"
    )


_Act = Callable[[Writer, Record], None]
_Prepare = Callable[[Sequence[Record]], _Act]


def _expiring(services: Services, batch: WriteBatch) -> _Prepare:
    def prepare(records: Sequence[Record]) -> _Act:
        entries: Mapping[int, Entry] = {one.number: entry_of(one, services.tokens.count) for one in records}

        def expire(writer: Writer, record: Record) -> None:
            writer.put(replace_record(record, state="expired"), batch.change("expire"), entries[record.number])
            if not services.settings.versioning:
                writer.drop_payloads(record.number)
            point("expire: put")

        return expire

    return prepare


def _purging(batch: WriteBatch) -> _Prepare:
    def purge(writer: Writer, record: Record) -> None:
        writer.erase(record.number, batch.change("erase"), traceless=False)
        point("purge: erased")

    return lambda _: purge


def _each(services: Services, pages: Callable[[int], Sequence[Record]], prepare: _Prepare) -> int:
    """Page by page, each namespace's part of it in one transaction; what changed meanwhile is left as it became."""
    total = 0
    while page := pages(_PAGE):
        done = 0
        for namespace, group in groupby(sorted(page, key=_namespace), key=_namespace):
            records = list(group)
            act = prepare(records)
            with services.store.write(namespace) as writer:
                for record in records:
                    if _is_still(writer, record):
                        act(writer, record)
                        done += 1
        total += done
        if not done:
            break
    return total


def _namespace(record: Record) -> str:
    return record.namespace


def _is_still(writer: Writer, record: Record) -> bool:
    try:
        current = writer.by_number(record.number)
    except StoreDamaged:
        return False
    return current is not None and current.seq == record.seq


def _back(moment: datetime, by: timedelta) -> datetime:
    try:
        return moment - by
    except OverflowError:
        return _BEGINNING

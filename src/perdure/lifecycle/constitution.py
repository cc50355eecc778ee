"""The memories that are always surfaced, within their budget of tokens."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Final

from perdure.model import Constitution, Filter, Omitted, Record
from perdure.store.port import Store

if TYPE_CHECKING:
    from perdure.services import Services

TIER: Final = "constitutional"

_PAGE: Final = 100
_NAMED: Final = 5


def constitution(services: Services, namespace: str) -> Constitution:
    """Oldest first. One that is too long for what is left of the budget does not keep out those behind it."""
    budget, count = services.settings.constitutional_tokens, services.tokens.count
    surfaced: list[Record] = []
    omitted: list[Omitted] = []
    used = 0
    for record in _in_force(services.store, namespace, services.context.clock()):
        tokens = count(record.text) if used < budget else 0
        if used < budget and used + tokens <= budget:
            used += tokens
            surfaced.append(record)
        else:
            omitted.append(Omitted(record, "budget"))
    return Constitution(tuple(surfaced), used, budget, tuple(omitted))


def over_budget(services: Services, record: Record) -> tuple[str, ...]:
    """What to tell whoever just wrote this record: nothing, unless it is constitutional and not all of them fit."""
    if record.tier != TIER or record.state != "active":
        return ()
    found = constitution(services, record.namespace)
    if not found.omitted:
        return ()
    numbers = ", ".join(f"#{one.record.number}" for one in found.omitted[:_NAMED])
    more = ", …" if len(found.omitted) > _NAMED else ""
    note = (
        f"The constitutional memories do not fit their {found.budget:,} tokens: {numbers}{more} will not be surfaced. "
        "Shorten one, or give one another tier."
    )
    return (note,)


def _in_force(store: Store, namespace: str, now: datetime) -> Iterator[Record]:
    wanted = Filter(tier=TIER, unexpired_at=now)
    after: int | None = None
    while True:
        page = store.page(namespace, wanted, after=after, limit=_PAGE, newest=False)
        yield from (record for record in page if _holds(record, now))
        if len(page) < _PAGE:
            return
        after = page[-1].number


def _holds(record: Record, now: datetime) -> bool:
    return (record.valid_at is None or record.valid_at <= now) and (
        record.invalid_at is None or record.invalid_at > now
    )

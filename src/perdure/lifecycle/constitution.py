"""The constitutional memories: they are always surfaced, within their budget of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from perdure.model import Constitution, Filter, Omitted, Record
from perdure.store.paging import records
from perdure.tiers import ONLY_PEOPLE
from perdure.visibility import is_visible

if TYPE_CHECKING:
    from perdure.services import Services

_LISTED: Final = 5


def constitution(services: Services, namespace: str) -> Constitution:
    """Oldest first. A memory that is too long for what is left of the budget does not keep out those behind it."""
    budget = services.settings.constitutional_tokens
    now = services.context.clock()
    surfaced: list[Record] = []
    omitted: list[Omitted] = []
    used = 0
    filter = Filter(tier=ONLY_PEOPLE, unexpired_at=now)
    for record in records(services.store, namespace, filter):
        if not is_visible(record, filter, now):
            continue
        # The counter is that of the model, which is not loaded where there is nothing to count.
        tokens = services.tokens.count(record.text) if used < budget else 0
        if used < budget and used + tokens <= budget:
            used += tokens
            surfaced.append(record)
        else:
            omitted.append(Omitted(record, "budget"))
    return Constitution(tuple(surfaced), used, budget, tuple(omitted))


def over_budget(services: Services, record: Record) -> tuple[str, ...]:
    """A note for the writer of this constitutional memory when not all of them fit the budget."""
    surfaced = constitution(services, record.namespace)
    if not surfaced.omitted:
        return ()
    numbers = ", ".join(f"#{one.record.number}" for one in surfaced.omitted[:_LISTED])
    more = ", …" if len(surfaced.omitted) > _LISTED else ""
    note = (
        f"The constitutional memories do not fit their {surfaced.budget:,} tokens: {numbers}{more} will not be "
        "surfaced. Shorten one, or give one another tier."
    )
    return (note,)

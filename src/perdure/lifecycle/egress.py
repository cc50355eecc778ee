"""What left this machine: every request to a model's server elsewhere is listed, and background work has a budget."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from perdure.clock import local_day, parse_time
from perdure.model import BudgetState, Egress, EgressDay
from perdure.providers.budget import Budget, day_of, is_background
from perdure.providers.call import ProviderCall
from perdure.validation import check_int, optional

if TYPE_CHECKING:
    from perdure.services import Services

MAX_CALLS: Final = 10_000
_PASSING: Final = 0.25


def record(services: Services, call: ProviderCall) -> None:
    """Note a request that was made, at the price of now. No reader waits for it."""
    services.store.record_calls([replace(call, cost=_budget(services).cost_of(call))])


def allow(services: Services, planned: ProviderCall) -> None:
    """Raise `BudgetExceeded` if this is background work and the budget of the day has no room for it."""
    budget = _budget(services)
    if not budget.is_limited or not is_background():
        return
    # So that the other processes see what this one has sent until now.
    services.store.flush_use(patience=_PASSING)
    budget.check(planned, *services.store.calls_total(day_of(planned.at)[0]))


def egress(services: Services, since: datetime | str | None, limit: int) -> Egress:
    most = check_int(limit, "limit", 1, MAX_CALLS)
    clock = services.context.clock
    first = optional(partial(parse_time, now=clock), since, "since")
    calls = services.store.calls(first)
    today, tomorrow = day_of(clock())
    tokens, cost = services.store.calls_total(today)
    settings = services.settings
    state = BudgetState(tokens, settings.daily_tokens or None, cost, settings.daily_cost or None, tomorrow)
    return Egress(tuple(calls[:most]), _by_day(calls), settings.egress, state)


def _by_day(calls: Iterable[ProviderCall]) -> tuple[EgressDay, ...]:
    """Newest day first; on one day by provider and model."""
    groups: dict[tuple[str, str, str, str], list[ProviderCall]] = {}
    for call in calls:
        groups.setdefault((local_day(call.at), call.provider, call.model, call.host), []).append(call)
    days = [
        EgressDay(
            *key,
            requests=len(group),
            failed=sum(call.outcome != "ok" for call in group),
            texts=sum(call.items for call in group),
            sent_bytes=sum(call.sent_bytes for call in group),
            received_bytes=sum(call.received_bytes for call in group),
            input_tokens=sum(call.input_tokens for call in group),
            output_tokens=sum(call.output_tokens for call in group),
            # The total is unknown if any call has no price.
            cost=None if any(call.cost is None for call in group) else sum(call.cost or 0.0 for call in group),
        )
        for key, group in groups.items()
    ]
    days.sort(key=lambda day: (day.provider, day.model, day.host))
    return tuple(sorted(days, key=lambda day: day.day, reverse=True))


def _budget(services: Services) -> Budget:
    settings = services.settings
    return Budget(daily_tokens=settings.daily_tokens, daily_cost=settings.daily_cost, prices=settings.prices)

"""What background work may send and cost in a day. Pure functions of what was sent before.

Everything that leaves this machine counts, but only background work is refused: a read, or a write of somebody who
waits, never is. A day is a calendar day of the process's own zone.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Final, cast

from perdure.clock import LOCAL, format_local
from perdure.errors import BudgetExceeded
from perdure.providers.call import ProviderCall

_MILLION: Final = 1_000_000
# "Content too large": a batch of texts is tried again in smaller parts.
_TOO_LARGE: Final = 413
_in_background: Final = ContextVar("perdure_in_background", default=False)


@contextmanager
def background() -> Generator[None]:
    """What is sent inside is background work."""
    token = _in_background.set(True)
    try:
        yield
    finally:
        _in_background.reset(token)


def is_background() -> bool:
    return _in_background.get()


def day_of(moment: datetime) -> tuple[datetime, datetime]:
    """When the day of this moment began, and when the next one begins."""
    today = moment.astimezone(LOCAL).date()
    first, following = (
        datetime.combine(day, time(), LOCAL).astimezone(UTC) for day in (today, today + timedelta(days=1))
    )
    return first, following


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """0 is no limit. `prices` has what a million tokens cost, by `provider:model`."""

    daily_tokens: int = 0
    daily_cost: float = 0.0
    prices: Mapping[str, Mapping[str, object]]

    @property
    def is_limited(self) -> bool:
        return bool(self.daily_tokens or self.daily_cost)

    def cost_of(self, call: ProviderCall) -> float | None:
        """None when the price is not known."""
        price = cast("Mapping[str, float] | None", self.prices.get(f"{call.provider}:{call.model}"))
        if price is None:
            return None
        paid = call.input_tokens * price.get("input", 0.0) + call.output_tokens * price.get("output", 0.0)
        return paid / _MILLION

    def check(self, planned: ProviderCall, tokens: int, cost: float) -> None:
        """Raise `BudgetExceeded` if this request does not fit into what is left, after so much was used today."""
        _, tomorrow = day_of(planned.at)
        again = f"It goes on by itself after {format_local(tomorrow, '%Y-%m-%d %H:%M')}"
        wanted = planned.input_tokens + planned.output_tokens
        if self.daily_tokens and tokens + wanted > self.daily_tokens:
            sentence = (
                f"Background work stops for today: {tokens:,} of {self.daily_tokens:,} tokens are used, and the next "
                f"request needs about {wanted:,}."
            )
            raise _exceeded(sentence, f"{again}, or now with a higher `daily_tokens`.", planned)
        if not self.daily_cost:
            return
        price = self.cost_of(planned)
        if price is None:
            name = f"{planned.provider}:{planned.model}"
            raise BudgetExceeded(
                f"What {name} costs is not known, so background work with a `daily_cost` does not ask it.",
                remedy=f'Set its price for a million tokens: prices = {{"{name}" = {{input = 0.1, output = 0.4}}}}.',
            )
        if cost + price > self.daily_cost:
            sentence = (
                f"Background work stops for today: {cost:.4f} of {self.daily_cost:g} is spent, and the next request "
                f"costs about {price:.4f}."
            )
            raise _exceeded(sentence, f"{again}, or now with a higher `daily_cost`.", planned)


def _exceeded(sentence: str, remedy: str, planned: ProviderCall) -> BudgetExceeded:
    error = BudgetExceeded(sentence, remedy=remedy)
    error.retry_after = (day_of(planned.at)[1] - planned.at).total_seconds()
    error.status = _TOO_LARGE if planned.items > 1 else None
    return error

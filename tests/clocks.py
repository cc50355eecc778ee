"""Clocks that move only when told to, so that nothing has to sleep."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

START = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)
DAY = timedelta(days=1)


class HandClock:
    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **delta: float) -> datetime:
        self.now += timedelta(**delta)
        return self.now


class Ticking(HandClock):
    """Moves by a second with each look, so that no two changes are of one moment."""

    def __call__(self) -> datetime:
        return self.forward(seconds=1)

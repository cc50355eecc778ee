"""A clock that moves only when told to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class HandClock:
    def __init__(self) -> None:
        self.now = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **delta: float) -> datetime:
        self.now += timedelta(**delta)
        return self.now

"""One line for what was done to a memory: its number, and enough of it to recognise."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import click

from perdure.cli.layout import clip
from perdure.cli.moments import age
from perdure.cli.screen import dim, glyphs, safe, say, tell, width
from perdure.clock import system_clock
from perdure.model import Outcome, Record, Remembered

# A week that began a moment ago is still a week.
_SLACK: Final = timedelta(minutes=1)


def acknowledge(remembered: Remembered) -> None:
    record = remembered.record
    receipt(*_done(remembered.outcome, record), record)
    made_room(remembered.evicted)


def made_room(evicted: Sequence[Record]) -> None:
    for gone in evicted:
        tell(_line("Evicted", " to make room", gone))


def receipt(before: str, after: str, record: Record) -> None:
    """For example: Forgot #7  Alice prefers dark mode."""
    say(_line(before, after, record))


def _line(before: str, after: str, record: Record) -> str:
    name = click.style(f"#{record.number}", fg="cyan", bold=True)
    room = width() - len(before) - len(after) - 16
    return f"{before} {name}{after}  {dim(safe(clip(record.title or record.text, room, glyphs().more)))}"


def _done(outcome: Outcome, record: Record) -> tuple[str, str]:
    done: dict[Outcome, tuple[str, str]] = {
        "inserted": ("Remembered", _until(record)),
        "observed": ("Already known as", f", seen {record.observation_count} times"),
        "updated": ("Updated", f", now version {record.version}{_until(record)}"),
        "annotated": ("Updated", f", still version {record.version}{_until(record)}"),
        "validated": ("Judged", f", confidence now {record.confidence:.2f}"),
        "promoted": ("Made", f" {record.tier}{_until(record)}"),
        "unchanged": ("Left", " as it is"),
        "repeated": ("Already done, as", ""),
    }
    return done[outcome]


def _until(record: Record) -> str:
    """A tier may bring an end with it, which nobody wrote down; so it is said."""
    ends = record.expires_at
    return f", expires {age(ends + _SLACK)}" if ends and ends > system_clock() else ""

"""One line for what was done to a memory: its number, and enough of it to recognise."""

from __future__ import annotations

import click

from perdure.cli.layout import clip
from perdure.cli.screen import dim, glyphs, safe, say, width
from perdure.model import Outcome, Record, Remembered


def acknowledge(remembered: Remembered) -> None:
    record = remembered.record
    receipt(*_done(remembered.outcome, record), record)


def receipt(before: str, after: str, record: Record) -> None:
    """For example: Forgot #7  Alice prefers dark mode."""
    name = click.style(f"#{record.number}", fg="cyan", bold=True)
    room = width() - len(before) - len(after) - 16
    say(f"{before} {name}{after}  {dim(safe(clip(record.title or record.text, room, glyphs().more)))}")


def _done(outcome: Outcome, record: Record) -> tuple[str, str]:
    done: dict[Outcome, tuple[str, str]] = {
        "inserted": ("Remembered", ""),
        "observed": ("Already known as", f", seen {record.observation_count} times"),
        "updated": ("Updated", f", now version {record.version}"),
        "annotated": ("Updated", f", still version {record.version}"),
        "validated": ("Judged", f", confidence now {record.confidence:.2f}"),
        "promoted": ("Promoted", f" to {record.tier}"),
        "unchanged": ("Left", " as it is"),
        "repeated": ("Already done, as", ""),
    }
    return done[outcome]

"""Which version of a memory came from which, and which was true when: read from the lines of its log alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from perdure.model import Revision


@dataclass(frozen=True, slots=True)
class VersionSpan:
    """One version: its first line and its newest, and the versions it was made from.

    `taken_back` says that an undo went back behind it and nothing brought it again since.
    """

    version: int
    lineage: tuple[int, ...]
    first: Revision
    last: Revision
    taken_back: bool = False


@dataclass(frozen=True, slots=True)
class ValidityWindow:
    """When a version was true: from `start` on (None: always was), until before `end` (None: still is)."""

    epoch: VersionSpan
    start: datetime | None
    end: datetime | None

    def holds(self, moment: datetime) -> bool:
        return (self.start is None or self.start <= moment) and (self.end is None or moment < self.end)


def epochs(revisions: Iterable[Revision]) -> list[VersionSpan]:
    """Every version the memory ever had, by number. The lines are in the order of the log, oldest first."""
    known: dict[int, VersionSpan] = {}
    standing: tuple[int, ...] = ()
    for line in revisions:
        version = line.version
        if version in known:
            known[version] = replace(known[version], last=line)
            standing = (*known[version].lineage, version)
        else:
            lineage = tuple(one for one in standing if one < version)
            known[version] = VersionSpan(version, lineage, line, line)
            standing = (*lineage, version)
    return [replace(known[version], taken_back=version not in standing) for version in sorted(known)]


def windows(revisions: Iterable[Revision]) -> list[ValidityWindow]:
    """When each version was true, oldest first; one that was taken back never was.

    No two overlap, whatever the clock did: a later version takes its time away from all before it.
    """
    standing = [epoch for epoch in epochs(revisions) if not epoch.taken_back]
    found: list[ValidityWindow] = []
    next_start: datetime | None = None
    for position in range(len(standing) - 1, -1, -1):
        epoch = standing[position]
        record = epoch.last.record
        said = record.valid_at if record else None
        start = said or (epoch.first.change.at if position else None)
        end = _earlier(record.invalid_at if record else None, next_start)
        found.append(ValidityWindow(epoch, start, end))
        next_start = _earlier(start, next_start)
    return found[::-1]


def true_at(revisions: Sequence[Revision], moment: datetime) -> Revision | None:
    """The version that was true at this moment, as it last was; without a record when its words are gone."""
    return next((window.epoch.last for window in windows(revisions) if window.holds(moment)), None)


def _earlier(first: datetime | None, second: datetime | None) -> datetime | None:
    return min(first, second) if first and second else first or second

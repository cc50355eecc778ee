"""Which version of a memory came from which, and which was true when. Pure functions of the lines of its log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from perdure.model import Revision
from perdure.values import replace, value_class

# In the provenance of a line: the positions of earlier lines of the memory whose content was dropped with it.
DROPPED: Final = "dropped"


@value_class
class VersionSpan:
    """One version: its first line in the log and its newest, and the versions it was made from.

    `taken_back` says that an undo went back behind it and nothing brought it back since.
    """

    version: int
    lineage: tuple[int, ...]
    first: Revision
    last: Revision
    taken_back: bool = False


@value_class
class ValidityWindow:
    """When a version was true: from `start` (None: always) until before `end` (None: still)."""

    span: VersionSpan
    start: datetime | None
    end: datetime | None

    def holds(self, moment: datetime) -> bool:
        return (self.start is None or self.start <= moment) and (self.end is None or moment < self.end)


def version_spans(revisions: Iterable[Revision]) -> list[VersionSpan]:
    """Every version the memory ever had, by number. The lines are in the order of the log, oldest first."""
    spans: dict[int, VersionSpan] = {}
    branch: tuple[int, ...] = ()
    for line in revisions:
        version = line.version
        if version in spans:
            spans[version] = replace(spans[version], last=line)
        else:
            spans[version] = VersionSpan(version, tuple(one for one in branch if one < version), line, line)
        branch = (*spans[version].lineage, version)
    return [replace(spans[version], taken_back=version not in branch) for version in sorted(spans)]


def validity_windows(revisions: Iterable[Revision]) -> list[ValidityWindow]:
    """When each version was true, oldest first. A version that was taken back never was.

    No two windows overlap, whatever the clock did: a later version takes its time away from all before it.
    """
    spans = [span for span in version_spans(revisions) if not span.taken_back]
    windows: list[ValidityWindow] = []
    next_start: datetime | None = None
    for index in range(len(spans) - 1, -1, -1):
        span = spans[index]
        record = span.last.record
        stated = record.valid_at if record else None
        start = stated or (span.first.change.at if index else None)
        end = _earlier(record.invalid_at if record else None, next_start)
        windows.append(ValidityWindow(span, start, end))
        next_start = _earlier(start, next_start)
    return windows[::-1]


def true_at(revisions: Sequence[Revision], moment: datetime) -> Revision | None:
    """The version that was true at this moment, as it last was; without a record when its text is gone."""
    return next((window.span.last for window in validity_windows(revisions) if window.holds(moment)), None)


def _earlier(first: datetime | None, second: datetime | None) -> datetime | None:
    return min(first, second) if first and second else first or second

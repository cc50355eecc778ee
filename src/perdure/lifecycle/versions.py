"""The versions of a memory, read from its log: each as it last was, what it came from, and how two of them differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from perdure.clock import local_day
from perdure.errors import NotFound
from perdure.lineage import version_spans
from perdure.model import Diff, Record, Revision, Version
from perdure.remedies import Remedy, Run
from perdure.text.diff import changed_fields, word_diff
from perdure.validation import check_int

_MAX_VERSION: Final = 2**31


def versions_of(revisions: Sequence[Revision]) -> list[Version]:
    """Every version the memory ever had, oldest first, also those that were taken back."""
    current = revisions[-1].version if revisions else 0
    return [
        Version(
            span.last.memory,
            span.last.number,
            span.version,
            span.last.record,
            span.lineage,
            span.first.change,
            span.version == current,
            span.taken_back,
        )
        for span in version_spans(revisions)
    ]


def version_of(revisions: Sequence[Revision], number: int) -> Version:
    """One version with its text. Raises an error that says why the text is missing."""
    return _with_record(revisions, check_int(number, "version", 1, _MAX_VERSION))[0]


def difference(revisions: Sequence[Revision], before: int | None, after: int | None) -> Diff:
    """The difference of two versions: by default of the current one and the version that it was made from."""
    if before is not None:
        check_int(before, "before", 1, _MAX_VERSION)
    if after is not None:
        check_int(after, "after", 1, _MAX_VERSION)
    newer, new = _with_record(revisions, revisions[-1].version if after is None else after)
    if before is None and not newer.lineage:
        raise NotFound(
            f"Version {newer.version} of memory #{newer.number} is the first; there is nothing to compare it with. "
            "Tags and such make no new version.",
            remedy=Remedy("See everything that happened to it: ", Run("history", newer.number)),
        )
    older, old = _with_record(revisions, newer.lineage[-1] if before is None else before)
    return Diff(older, newer, tuple(word_diff(old.text, new.text)), tuple(changed_fields(old, new)))


def _with_record(revisions: Sequence[Revision], number: int) -> tuple[Version, Record]:
    versions = versions_of(revisions)
    newest = revisions[-1]
    version = next((one for one in versions if one.version == number), None)
    if version is None:
        listed = ", ".join(str(one.version) for one in versions[-20:])
        raise NotFound(f"Memory #{newest.number} has no version {number}.", remedy=f"It has: {listed}.")
    if version.record is not None:
        return version, version.record
    if newest.change.operation == "erase":
        raise NotFound(
            f"Memory #{newest.number} was erased on {local_day(newest.change.at)}; no version of it is left.",
            remedy=Remedy("Its history still says when it changed: ", Run("history", newest.number)),
        )
    raise NotFound(
        f"Version {number} of memory #{newest.number} was not kept, because versioning was off.",
        remedy="Set `versioning` to true, and versions are kept from then on.",
    )

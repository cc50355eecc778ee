"""The versions of a memory, read from its log: each as it last was, what it came from, and how two of them differ."""

from __future__ import annotations

from collections.abc import Sequence

from perdure.errors import NotFound
from perdure.lineage import VersionSpan, epochs
from perdure.model import Diff, Record, Revision, Version
from perdure.text.diff import changed_fields, word_diff


def versions_of(revisions: Sequence[Revision]) -> list[Version]:
    """Every version the memory ever had, oldest first, also those that were taken back."""
    current = revisions[-1].version if revisions else 0
    return [_version(epoch, current=epoch.version == current) for epoch in epochs(revisions)]


def version_of(revisions: Sequence[Revision], wanted: int) -> Version:
    """One version with its words, or an error that says why there are none."""
    found = versions_of(revisions)
    number = revisions[-1].number
    version = next((one for one in found if one.version == wanted), None)
    if version is None:
        named = ", ".join(str(one.version) for one in found[-20:])
        raise NotFound(f"Memory #{number} has no version {wanted}.", remedy=f"It has: {named}.")
    if version.record is None:
        raise _gone(revisions, version)
    return version


def difference(revisions: Sequence[Revision], before: int | None, after: int | None) -> Diff:
    """From one version to another. Without being told: from the one that the newer was made from, to the current."""
    newer = version_of(revisions, revisions[-1].version if after is None else after)
    if before is None and not newer.lineage:
        raise NotFound(
            f"Version {newer.version} of memory #{newer.number} is the first; there is nothing to compare it with.",
            remedy=f"See everything that happened to it: perdure history {newer.number}",
        )
    older = version_of(revisions, newer.lineage[-1] if before is None else before)
    old, new = _words(older), _words(newer)
    return Diff(
        older,
        newer,
        tuple(word_diff(old.text, new.text)),
        tuple(changed_fields(old, new)),
    )


def _version(epoch: VersionSpan, *, current: bool) -> Version:
    line = epoch.last
    return Version(
        line.memory,
        line.number,
        epoch.version,
        line.record,
        epoch.lineage,
        epoch.first.change,
        current,
        epoch.taken_back,
    )


def _words(version: Version) -> Record:
    if version.record is None:
        raise NotFound(f"Version {version.version} of memory #{version.number} is gone.")
    return version.record


def _gone(revisions: Sequence[Revision], version: Version) -> NotFound:
    if revisions[-1].change.operation == "erase":
        return NotFound(
            f"Memory #{version.number} was erased on {revisions[-1].change.at:%Y-%m-%d}; no version of it is left.",
            remedy=f"What is left is when it changed: perdure history {version.number}",
        )
    return NotFound(
        f"Version {version.version} of memory #{version.number} was not kept, because versioning was off.",
        remedy="Set `versioning` to true, and versions are kept from then on.",
    )

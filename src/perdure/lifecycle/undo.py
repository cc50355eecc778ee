"""Undoing what one call, one session or one actor did: every memory it touched becomes what it was before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from perdure.clock import format_local
from perdure.errors import Conflict, InvalidInput, NotFound
from perdure.lifecycle.lookup import full_batch_id, listed_briefly
from perdure.lifecycle.revert import DAMAGED, RevertPlan, revert, why_missing
from perdure.lifecycle.write_context import CHOSEN_BY
from perdure.model import Operation, Record, RevertResult, Revision, Skipped, same_history
from perdure.remedies import Flag, Remedy, Run
from perdure.store.paging import revisions
from perdure.store.port import LogFilter, Reader

if TYPE_CHECKING:
    from perdure.services import Services

_HOW_TO_UNDO: Final = "Write undo('batch'), undo(session='…') or undo(actor='…', since='…'); nothing was changed."
_WRITING: Final[frozenset[Operation]] = frozenset({"insert", "update"})
_REVERTING: Final[frozenset[Operation]] = frozenset({"undo", "rewind"})


@dataclass(frozen=True, slots=True)
class BatchRevert:
    """Reverts the lines of the log that the filter selects: a batch, or what a session or an actor wrote."""

    namespace: str
    filter: LogFilter
    force: bool
    operation: Operation = "undo"

    def plan(self, reader: Reader) -> RevertPlan:
        lines = list(revisions(reader, self.filter))
        if not lines:
            return RevertPlan()
        touched: dict[int, list[Revision]] = {}
        for line in lines:
            touched.setdefault(line.number, []).append(line)
        current = {record.number: record for record in reader.fetch(list(touched))}
        before = _states_before(reader, touched, lines)
        targets: dict[int, Record | None] = {}
        skipped: list[Skipped] = []
        later: dict[int, list[Revision]] = {}
        for number, own in touched.items():
            later[number] = _later_changes(reader, own, current.get(number))
            if number not in current:
                # A memory that the undone lines inserted need not come back.
                reason = why_missing((*own, *later[number]))
                skipped += [Skipped(number, reason)] if number in before or reason == DAMAGED else []
            elif number in before and before[number].record is None:
                skipped.append(
                    Skipped(number, "What it said before was not kept: versioning is off, or it held secrets.")
                )
            else:
                targets[number] = before[number].record if number in before else None
        different = [
            number
            for number, target in sorted(targets.items())
            if (current[number].state != "deleted" if target is None else not same_history(current[number], target))
        ]
        if not self.force:
            require_no_conflict(skipped, later, different)
        notes = () if different else ("Everything is as it was before; there was nothing to take back.",)
        return RevertPlan(targets, current, tuple(skipped), notes)

    def may_change_plan(self, line: Revision) -> bool:
        filter, change = self.filter, line.change
        return (
            filter.batch in {None, change.batch}
            and filter.session in {None, change.session}
            and filter.actor in {None, change.actor}
        )


def undo(
    services: Services, namespaces: Sequence[str], filter: LogFilter, *, force: bool = False, dry_run: bool = False
) -> RevertResult:
    """Take back the lines of the log that one batch, one session or one actor wrote."""
    if sum(choice is not None for choice in (filter.batch, filter.session, filter.actor)) != 1:
        raise InvalidInput("Say what to undo: one batch, one session or one actor.", remedy=_HOW_TO_UNDO)
    if filter.since is not None and filter.batch is not None:
        raise InvalidInput("A batch is one moment; `since` goes with a session or an actor.", remedy=_HOW_TO_UNDO)
    store = services.store
    if filter.batch is not None:
        filter = replace(filter, batch=full_batch_id(store, namespaces, filter.batch))
    sources: list[BatchRevert] = []
    for namespace in namespaces:
        with store.read(namespace) as reader:
            if reader.log(filter, limit=1):
                sources.append(BatchRevert(namespace, filter, force))
    if sources:
        return revert(services, sources, dry_run=dry_run)
    if filter.batch is not None:
        raise NotFound(
            f"There is no batch {filter.batch[:80]!r} in this namespace.", remedy=Remedy(Run("log"), " lists them.")
        )
    who = f"session {filter.session!r}" if filter.session is not None else f"{filter.actor!r}"
    return RevertResult(None, (), notes=(f"There is nothing to undo: {who} wrote nothing here.",))


def _later_changes(reader: Reader, own: Sequence[Revision], current: Record | None) -> list[Revision]:
    """The lines of others that undoing would overrule. Changes that were taken back again do not count, nor do keywords
    that were chosen for words which are taken back. An eviction is nobody's decision, and often follows from what is
    taken back.
    """
    first, last = own[0], own[-1]
    if current is not None and current.seq == last.seq and len(own) == 1:
        return []
    seqs = {line.seq for line in own}
    others = [
        line
        for line in reader.revisions(first.number)
        if line.seq > first.seq and line.seq not in seqs and line.change.operation != "evict"
    ]
    if any(line.change.operation in _WRITING for line in own):
        others = [one for one in others if one.change.operation != "annotate" or CHOSEN_BY not in one.change.provenance]
    unchanged = current is not None and last.record is not None and same_history(current, last.record)
    return [line for line in others if line.seq < last.seq] if unchanged else others


def _states_before(
    reader: Reader, touched: Mapping[int, Sequence[Revision]], lines: Sequence[Revision]
) -> dict[int, Revision]:
    """Each memory's newest line before the first that is undone; none for a memory that this line inserted.

    No other process wrote between the first line of an unbroken run and a memory's own first line in it, so one look
    into the log is enough for the whole run.
    """
    start = 0
    starts: dict[int, list[int]] = {}
    for index, line in enumerate(lines):
        if not index or lines[index - 1].seq != line.seq - 1:
            start = line.seq
        if touched[line.number][0] is line:
            starts.setdefault(start, []).append(line.number)
    states: dict[int, Revision] = {}
    for first, numbers in starts.items():
        states |= reader.states_at(numbers, first - 1)
    return states


def require_no_conflict(
    skipped: Sequence[Skipped], later: Mapping[int, Sequence[Revision]], different: Sequence[int]
) -> None:
    """Conflict when memories cannot be reverted, when others changed them since, or when it was all undone already."""
    if skipped:
        listed = listed_briefly(f"#{one.number}: {one.reason}" for one in skipped)
        raise Conflict(
            f"Not everything can be taken back. {listed}",
            remedy=Remedy("With ", Flag("force"), " the rest is taken back; nothing was changed."),
        )
    overruled = {number: later[number][-1] for number in different if later[number]}
    if overruled:
        newest = max(overruled.values(), key=lambda line: line.seq).change
        changes = ((number, line.change) for number, line in overruled.items())
        listed = listed_briefly(f"#{number} ({change.operation} by {change.actor})" for number, change in changes)
        raise Conflict(
            f"Changed since: {listed}.",
            remedy=Remedy(
                "Undo that first (",
                Run("undo", newest.batch),
                "), or overrule it with ",
                Flag("force"),
                "; nothing was changed.",
            ),
        )
    reverting = [lines[-1] for lines in later.values() if lines and lines[-1].change.operation in _REVERTING]
    if reverting and not different:
        change = max(reverting, key=lambda line: line.seq).change
        raise Conflict(
            f"This was taken back already, by {change.actor} at {format_local(change.at)}, in batch {change.batch}.",
            remedy=Remedy("Undo that to bring it back: ", Run("undo", change.batch)),
        )

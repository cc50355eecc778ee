"""Taking back what one call, one session or one writer did: every memory it touched becomes what it was before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from perdure.errors import AmbiguousReference, Conflict, InvalidInput, NotFound
from perdure.lifecycle.revert import Aim, rewind
from perdure.model import Operation, Record, RevertResult, Revision, Skipped, same_history
from perdure.store.port import LogFilter, Store

if TYPE_CHECKING:
    from perdure.services import Services

SHORTEST_PREFIX: Final = 8
_ID_LENGTH: Final = 36
_PAGE: Final = 1000
# A batch that is named by its first characters is looked for among so many of the newest lines.
_LOOKED_AT: Final = 20_000
_NAMED: Final = 5
_GOING_BACK: Final[frozenset[Operation]] = frozenset({"undo", "rewind"})


@dataclass(frozen=True, slots=True)
class Undoing:
    """The intent to take back the lines of the log that `wanted` selects."""

    store: Store
    namespace: str
    wanted: LogFilter
    force: bool
    operation: Operation = "undo"

    def plan(self) -> Aim:
        chosen = list(lines_of(self.store, self.namespace, self.wanted))
        if not chosen:
            return Aim()
        touched = _by_number(chosen)
        current = {record.number: record for record in self.store.fetch(self.namespace, list(touched))}
        before = _states_before(self.store, self.namespace, touched, chosen)
        goals: dict[int, Record | None] = {}
        left: list[Skipped] = []
        later: dict[int, list[Revision]] = {}
        for number, own in touched.items():
            later[number] = self._strangers(own, current.get(number))
            reason = _obstacle(before.get(number), current.get(number), (*own, *later[number]))
            if reason:
                left.append(Skipped(number, reason))
            elif number in current:
                line = before.get(number)
                goals[number] = line.record if line else None
        open_goals = {number for number, goal in goals.items() if not _reached(current[number], goal)}
        if not self.force:
            in_the_way = {number: later[number] for number in sorted(open_goals) if later[number]}
            self._refuse(left, in_the_way)
            if not open_goals:
                self._refuse_twice(later.values())
        return Aim(goals, current, tuple(left), () if open_goals else (_NOTHING_LEFT,))

    def selects(self, line: Revision) -> bool:
        wanted, change = self.wanted, line.change
        return (wanted.batch, wanted.session, wanted.actor) == (
            wanted.batch and change.batch,
            wanted.session and change.session,
            wanted.actor and change.actor,
        )

    def _strangers(self, own: Sequence[Revision], current: Record | None) -> list[Revision]:
        """The lines of others that undoing would overrule. What they did and took back again does not count."""
        first, last = own[0], own[-1]
        if current is not None and current.seq == last.seq and len(own) == 1:
            return []
        mine = {line.seq for line in own}
        lines = self.store.revisions(self.namespace, first.number)
        others = [line for line in lines if line.seq > first.seq and line.seq not in mine]
        unchanged = current is not None and last.record is not None and same_history(current, last.record)
        return [line for line in others if line.seq < last.seq] if unchanged else others

    def _refuse(self, left: Sequence[Skipped], in_the_way: Mapping[int, Sequence[Revision]]) -> None:
        if left:
            listed = _listed(f"#{one.number}: {one.reason}" for one in left)
            raise Conflict(
                f"Not everything can be taken back. {listed}",
                remedy="With force (--force) the rest is taken back; nothing was changed.",
            )
        if in_the_way:
            found = ((number, lines[-1].change) for number, lines in in_the_way.items())
            listed = _listed(f"#{number} ({change.operation} by {change.actor})" for number, change in found)
            newest = max((lines[-1] for lines in in_the_way.values()), key=lambda line: line.seq)
            raise Conflict(
                f"Changed since: {listed}.",
                remedy=f"Undo that first (perdure undo {newest.change.batch}), or overrule it with force (--force); "
                "nothing was changed.",
            )

    def _refuse_twice(self, later: Iterable[Sequence[Revision]]) -> None:
        back = [lines[-1] for lines in later if lines and lines[-1].change.operation in _GOING_BACK]
        if back:
            change = max(back, key=lambda line: line.seq).change
            raise Conflict(
                f"This was taken back already, by {change.actor} at {change.at:%Y-%m-%d %H:%M:%S} UTC, "
                f"in batch {change.batch}.",
                remedy=f"Undo that to bring it back: perdure undo {change.batch}",
            )


_NOTHING_LEFT: Final = "Everything is as it was before; there was nothing to take back."


def undo(
    services: Services, namespaces: Sequence[str], wanted: LogFilter, *, force: bool = False, dry_run: bool = False
) -> RevertResult:
    store = services.store
    if wanted.batch is not None:
        wanted = replace(wanted, batch=_full_name(store, namespaces, wanted.batch))
    found = [name for name in namespaces if store.log(name, wanted, limit=1)]
    if not found:
        if wanted.batch is not None:
            raise _unknown(wanted.batch)
        who = f"session {wanted.session!r}" if wanted.session is not None else f"{wanted.actor!r}"
        return RevertResult(None, (), notes=(f"There is nothing to undo: {who} wrote nothing here.",))
    return rewind(services, [Undoing(store, name, wanted, force) for name in found], dry_run=dry_run)


def lines_of(store: Store, namespace: str, wanted: LogFilter) -> Iterator[Revision]:
    """Oldest first, however many there are."""
    while page := store.log(namespace, wanted, limit=_PAGE, newest=False):
        yield from page
        if len(page) < _PAGE:
            return
        wanted = replace(wanted, after=page[-1].seq)


def _by_number(lines: Iterable[Revision]) -> dict[int, list[Revision]]:
    found: dict[int, list[Revision]] = {}
    for line in lines:
        found.setdefault(line.number, []).append(line)
    return found


def _states_before(
    store: Store, namespace: str, touched: Mapping[int, Sequence[Revision]], chosen: Sequence[Revision]
) -> dict[int, Revision]:
    """Each memory's newest line before the first that is taken back; none for what was born by it.

    Between the first line of an unbroken run and a memory's own first line in it nobody else wrote, so that one look
    into the log does for the whole run.
    """
    start = 0
    starts: dict[int, list[int]] = {}
    for place, line in enumerate(chosen):
        if not place or chosen[place - 1].seq != line.seq - 1:
            start = line.seq
        if touched[line.number][0] is line:
            starts.setdefault(start, []).append(line.number)
    found: dict[int, Revision] = {}
    for first, numbers in starts.items():
        found |= store.states_at(namespace, numbers, first - 1)
    return found


def _obstacle(before: Revision | None, current: Record | None, lines: Sequence[Revision]) -> str | None:
    """Why a memory cannot become what it was."""
    if current is None:
        erased = next((line.change for line in lines if line.change.operation == "erase"), None)
        if erased is None:
            return "It is damaged; `perdure doctor --repair` may bring it back."
        return f"It was erased by {erased.actor} on {erased.at:%Y-%m-%d}." if before else None
    if before is not None and before.record is None:
        return "What it said before was not kept, because versioning is off."
    return None


def _reached(current: Record, goal: Record | None) -> bool:
    return current.state == "deleted" if goal is None else same_history(current, goal)


def _listed(items: Iterable[str]) -> str:
    found = list(items)
    more = len(found) - _NAMED
    return ", ".join(found[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _full_name(store: Store, namespaces: Sequence[str], batch: str) -> str:
    """The batch that begins like this."""
    name = batch.strip().lower()
    if len(name) >= _ID_LENGTH:
        return name
    if len(name) < SHORTEST_PREFIX:
        raise InvalidInput(
            f"{batch[:80]!r} is too short for a batch.",
            remedy=f"Give its id, or at least {SHORTEST_PREFIX} characters of it; `perdure log` shows them.",
        )
    found: dict[str, None] = {}
    for namespace in namespaces:
        for line in islice(_newest(store, namespace), _LOOKED_AT):
            if line.change.batch.startswith(name):
                found[line.change.batch] = None
    if len(found) > 1:
        raise AmbiguousReference(
            f"{len(found)} batches begin with {name[:80]!r}: {_listed(found)}.", remedy="Give more of the id."
        )
    if not found:
        raise _unknown(name)
    return next(iter(found))


def _newest(store: Store, namespace: str) -> Iterator[Revision]:
    wanted = LogFilter()
    while page := store.log(namespace, wanted, limit=_PAGE):
        yield from page
        wanted = replace(wanted, before=page[-1].seq)


def _unknown(batch: str) -> NotFound:
    return NotFound(f"There is no batch {batch[:80]!r} in this namespace.", remedy="`perdure log` lists them.")

"""What becomes of the facts of a conversation by the actions of one run: decided, and not yet written.

Nothing is deleted, and no text is changed. A fact is added, gets more evidence, or ends; what takes its place names it.
Everything is decided on the facts as they are inside the transaction that writes, and each memory is written once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from perdure.episodes.surprise import telling_terms
from perdure.ids import parse_reference
from perdure.learn.actions import Action, FactAction
from perdure.learn.known_facts import KnownFacts, is_fact
from perdure.learn.sameness import Verdict, duplicate_verdict, normal_form
from perdure.lifecycle.import_export import is_blocked
from perdure.lifecycle.write import Plan
from perdure.model import Record, forgotten_as, identity_of, replace_record
from perdure.store.port import Reader
from perdure.tiers import ONLY_PEOPLE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perdure.learn.task import TaskEpisode
    from perdure.settings import Settings

# A fact that ended the moment it began would never have been true.
_MOMENT: Final = timedelta(microseconds=1)
_FEW: Final = 3
LOW_TRUST: Final = "what a conversation of low trust says does not end what was said in another one"
CONTRADICTORY: Final = "one answer says both of the same fact"
FORGOTTEN: Final = "A fact that was forgotten or corrected after it was said is not learned again."


@dataclass(frozen=True, slots=True)
class PlannedAction:
    """An action with everything that could be found out before the transaction. `record` is the new fact, if it makes
    one. `episodes` say so, and it holds from `at` on.
    """

    action: FactAction
    episodes: tuple[TaskEpisode, ...]
    at: datetime
    record: Record | None = None
    vector: NDArray[np.float32] | None = None

    @property
    def evidence(self) -> tuple[str, ...]:
        return tuple(episode.record.id for episode in self.episodes)

    @property
    def said_at(self) -> datetime:
        """When it was last said: by the message that shares most words with it, else when the newest episode began."""
        words = telling_terms([self.action.fact])
        said = [message for episode in self.episodes for message in episode.messages]
        shared = [(len(words & telling_terms([one.text])), one.valid_at or one.created_at) for one in said]
        most, at = max(shared, default=(0, self.at))
        return at if most else max(episode.since for episode in self.episodes)


class ConflictingPair(NamedTuple):
    """Two facts, by their ids, that cannot both be true, and of which nobody here may decide."""

    first: str
    second: str
    reasons: tuple[str, ...]
    cosine: float | None = None


class DecidedChange(NamedTuple):
    """What is done to the fact with this id; an update also ends the one that it replaces."""

    action: Action
    id: str
    replaced: str | None = None


class FactChanges:
    """One plan for each memory that changes, in order, by id. `shown` has the content hash of each fact that could be
    named.
    """

    def __init__(
        self, reader: Reader, known: KnownFacts, shown: Mapping[int, str], settings: Settings, at: datetime
    ) -> None:
        self.reader, self.known, self.settings, self.at = reader, known, settings, at
        self.plans: dict[str, Plan] = {}
        self.conflicts: list[ConflictingPair] = []
        self.decided: list[DecidedChange] = []
        self.left_out = 0
        self.notes: list[str] = []
        self._shown = shown
        self.superseded = 0

    def apply(self, planned: PlannedAction) -> None:
        if planned.action.against is not None and planned.record is not None:
            self._add_against(planned.action.against, planned, planned.record)
            return
        fact = self._named(planned.action)
        if fact is None:
            # It was forgotten, corrected or superseded since it was shown.
            if planned.record is not None:
                self.add(planned, planned.record)
            else:
                self.skip(f"Fact #{planned.action.existing} is not as it was shown any more, and stays as it is.")
        elif planned.action.action == "reinforce":
            self.reinforce(fact, planned)
        elif planned.action.action == "invalidate":
            self.invalidate(fact, planned)
        elif planned.record is not None:
            self.update(fact, planned, planned.record)

    def _add_against(self, number: int, planned: PlannedAction, record: Record) -> None:
        """What the same answer says against a fact, or against what it put in the place of one."""
        [fact] = self.reader.fetch([number]) or [None]
        successors = (plan.record for plan in self.plans.values() if fact and fact.id in plan.record.supersedes)
        told = fact and (next(successors, None) or self.current(fact))
        added = self.add(planned, record)
        if told and added and told.id != added.id:
            self.conflicts.append(ConflictingPair(told.id, added.id, (CONTRADICTORY,)))

    def _named(self, action: FactAction) -> Record | None:
        """The fact that an action is about, if it is still what was shown."""
        number = action.existing
        if number is None:
            return None
        now = next(iter(self.reader.fetch([number])), None)
        if now is None or not is_fact(now, self.known.conversation, self.at):
            return None
        return self.current(now) if now.content_hash == self._shown.get(number) else None

    def current(self, record: Record) -> Record:
        """As it is with the changes so far."""
        plan = self.plans.get(record.id)
        return plan.record if plan else record

    def change(self, record: Record, operation: Literal["observe", "annotate"], **changes: object) -> Record:
        plan = self.plans.get(record.id)
        if plan is None:
            outcome = "observed" if operation == "observe" else "annotated"
            # Nobody wanted these words gone: they may be true again.
            plan = Plan(record, replace_record(record, updated_at=self.at), operation, outcome, leaves_tombstone=False)
        changed = replace_record(plan.record, **changes)
        self.plans[record.id] = replace(plan, record=changed)
        if changed.state == "active":
            self.known.records[record.id] = changed
        else:
            self.known.remove(record.id)
        return changed

    def skip(self, note: str) -> None:
        self.left_out += 1
        self.notes.append(note)

    def is_forgotten(self, record: Record, planned: PlannedAction) -> bool:
        """Whether these words were forgotten or corrected after they were said."""
        since = self.forgotten_since(record)
        if since is None or not is_blocked(since, planned.said_at):
            return False
        self.skip(FORGOTTEN)
        return True

    def forgotten_since(self, record: Record) -> datetime | None:
        """When these words were last forgotten or corrected, in this conversation or wherever facts are compared."""
        identities = [identity_of(record)] if self.known.conversation else forgotten_as(record)
        return max(filter(None, map(self.reader.tombstone_since, identities)), default=None)

    def add(self, planned: PlannedAction, record: Record) -> Record | None:
        """A new fact, unless it is known already: the fact that says so now. None where it was forgotten."""
        if self.is_forgotten(record, planned):
            return None
        if twin := self._twin(record):
            return self.reinforce(twin, planned)
        conflicts: list[ConflictingPair] = []
        least, says = self.settings.duplicate_cosine, normal_form(record.text)
        for near, cosine in self.known.nearest(record.text, planned.vector, self.settings.duplicate_candidates):
            if (cosine is None or cosine < least) and normal_form(near.text) != says:
                continue
            verdict, reasons = duplicate_verdict(near.text, record.text, cosine, at_least=least)
            if verdict is Verdict.SAME:
                return self.reinforce(near, planned)
            if verdict is Verdict.CONFLICTS:
                conflicts.append(ConflictingPair(near.id, record.id, reasons, cosine))
        self.insert(record, planned.vector)
        self.decided.append(DecidedChange("new", record.id))
        self.conflicts += conflicts
        return record

    def insert(self, record: Record, vector: NDArray[np.float32] | None) -> None:
        self.plans[record.id] = Plan(None, record, "insert", "inserted")
        if record.state == "active":
            self.known.add(record, vector)

    def reinforce(self, fact: Record, planned: PlannedAction) -> Record:
        """More evidence, and nothing else."""
        fact = self.current(fact)
        more = tuple(id for id in planned.evidence if id not in fact.evidence)
        if not more:
            return fact
        is_first = self.plans.get(fact.id) is None
        if is_first:
            self.decided.append(DecidedChange("reinforce", fact.id))
        return self.change(
            fact, "observe", evidence=(*fact.evidence, *more), observation_count=fact.observation_count + is_first
        )

    def update(self, fact: Record, planned: PlannedAction, record: Record) -> None:
        """What is true now takes the place of what was; what is said now but was true earlier only precedes it."""
        if fact.content_hash == record.content_hash:
            self.reinforce(fact, planned)
        elif self.is_forgotten(record, planned):
            pass
        elif planned.at < begins(fact):
            self._insert_before(fact, planned, record)
        elif self.may_end(fact, planned):
            twin = self._twin(record)
            if twin:
                self.reinforce(twin, planned)
                self.change(twin, "annotate", supersedes=(*self.current(twin).supersedes, fact.id))
            else:
                self.insert(replace_record(record, supersedes=(fact.id,)), planned.vector)
            self._end(fact, planned)
            self.decided.append(DecidedChange("update", (twin or record).id, fact.id))
        else:
            self.add(planned, record)
            if record.id in self.plans:
                self.conflicts.append(ConflictingPair(fact.id, record.id, (self._why_not(fact, planned),)))

    def invalidate(self, fact: Record, planned: PlannedAction) -> None:
        if planned.at < begins(fact):
            self.skip(f"Fact #{fact.number} began after it was said to end, and stays.")
        elif self.may_end(fact, planned):
            self._end(fact, planned)
            self.decided.append(DecidedChange("invalidate", fact.id))
        else:
            self.skip(f"Fact #{fact.number} stays: {self._why_not(fact, planned)}.")

    @property
    def most_superseded(self) -> int:
        """What was shown is not ended as a whole: a quarter of it at most, or three."""
        most = self.settings.consolidation_most_superseded
        return min(most, max(_FEW, len(self._shown) // 4)) if self._shown else most

    def may_end(self, fact: Record, planned: PlannedAction) -> bool:
        return not self._why_not(fact, planned)

    def _why_not(self, fact: Record, planned: PlannedAction) -> str:
        """Empty where it may end."""
        if fact.tier == ONLY_PEOPLE:
            return "only a person may end a constitutional memory"
        if self._is_out_of_reach(fact, planned):
            return LOW_TRUST
        if self.superseded < self.most_superseded:
            return ""
        return f"one run supersedes {self.most_superseded} facts at most"

    def _is_out_of_reach(self, fact: Record, planned: PlannedAction) -> bool:
        """Whether a conversation of low trust speaks of what was said with more trust in another one."""
        if not any(episode.record.trust == "low" for episode in planned.episodes):
            return False
        here = {episode.record.conversation_id for episode in planned.episodes}
        said = (fact, *(episode for id in fact.evidence for episode in self._by_id(id)))
        return any(one.trust != "low" and one.conversation_id not in here for one in said)

    def supersede(self, older: Record, newer: Record, planned: PlannedAction) -> None:
        """The newer of two facts ends the older one, if it may."""
        if why := self._why_not(older, planned):
            self.leave_undecided(older, newer, why)
            return
        self._end(self.current(older), planned)
        self._link(newer, older)

    def end_at(self, fact: Record, newer: Record, ends: Callable[[Record], bool]) -> None:
        """It became known after what ends it, and takes its place in time: what ended with that one, and `ends` by this
        one already, ends here.
        """
        earlier = [one for id in self.current(newer).supersedes for one in self._by_id(id)]
        self.change(fact, "annotate", state="superseded", invalid_at=begins(newer))
        for one in map(self.current, earlier):
            if begins(one) < begins(fact) and ends(one):
                self.change(one, "annotate", invalid_at=max(begins(fact), begins(one) + _MOMENT))
                kept = tuple(id for id in self.current(newer).supersedes if id != one.id)
                self.change(newer, "annotate", supersedes=kept)
                self._link(fact, one)
        self._link(newer, fact)

    def replaced_by(self, fact: Record) -> Iterator[Record]:
        """All that it took the place of, and what that took the place of."""
        waiting, seen = list(self.current(fact).supersedes), set[str]()
        while waiting:
            id = waiting.pop()
            if id not in seen:
                seen.add(id)
                for one in map(self.current, self._by_id(id)):
                    waiting += one.supersedes
                    yield one

    def leave_undecided(self, older: Record, newer: Record, why: str) -> None:
        """A person is asked."""
        if not any({one.first, one.second} == {older.id, newer.id} for one in self.conflicts):
            self.conflicts.append(ConflictingPair(older.id, newer.id, (why,)))

    def _link(self, newer: Record, older: Record) -> None:
        newer = self.current(newer)
        self.decided[:] = [one for one in self.decided if one.action != "new" or one.id not in {newer.id, older.id}]
        self.decided.append(DecidedChange("update", newer.id, older.id))
        self.change(newer, "annotate", supersedes=(*newer.supersedes, older.id))

    def _end(self, fact: Record, planned: PlannedAction) -> None:
        self.superseded += 1
        self.change(fact, "annotate", state="superseded", invalid_at=max(planned.at, begins(fact) + _MOMENT))

    def _insert_before(self, fact: Record, planned: PlannedAction, record: Record) -> None:
        """Where it belongs in time among what the fact superseded."""
        newer, older = fact, self._superseded_by(fact)
        while older and planned.at < begins(older):
            newer, older = older, self._superseded_by(older)
        if older and older.content_hash == record.content_hash:
            self.reinforce(older, planned)
            return
        before = () if older is None else (older.id,)
        placed = replace_record(record, state="superseded", invalid_at=begins(newer), supersedes=before)
        self.insert(placed, planned.vector)
        self.decided.append(DecidedChange("update", newer.id, placed.id))
        self.change(newer, "annotate", supersedes=(*(id for id in newer.supersedes if id not in before), placed.id))
        if older and not self._is_out_of_reach(older, planned):
            self.change(older, "annotate", invalid_at=max(planned.at, begins(older) + _MOMENT))

    def _superseded_by(self, fact: Record) -> Record | None:
        """The last of the facts whose place this one took."""
        found = [
            self.current(record)
            for id in self.current(fact).supersedes
            for record in self._by_id(id)
            if record.state == "superseded"
        ]
        return max(found, key=begins, default=None)

    def _by_id(self, id: str) -> Sequence[Record]:
        return [self.plans[id].record] if id in self.plans else self.reader.find(parse_reference(id))

    def _twin(self, record: Record) -> Record | None:
        """The active memory that says the same in this conversation, or wherever facts are compared."""
        added = (plan.record for plan in self.plans.values() if plan.previous is None)
        same = (one for one in added if one.content_hash == record.content_hash and one.state == "active")
        known = (one for one in self.known.records.values() if one.content_hash == record.content_hash)
        twin = next(same, None) or self.reader.by_content(identity_of(record)) or next(known, None)
        twin = twin and self.current(twin)
        return twin if twin and twin.state == "active" else None


def begins(fact: Record) -> datetime:
    return fact.valid_at or fact.created_at

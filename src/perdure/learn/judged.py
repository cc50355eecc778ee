"""Which known facts a newer one ends, by the judge of two statements (embed/judge.py).

A fact is compared with the nearest ones that are known, and so is each message as a whole: a change is often told in
words of which no fact was made. The judge reads each of two facts as it is and as it was said, because a fact may lack
what the sentence told beside it; the mean of the two readings that speak most for an end counts. What the judge is sure
of is done; what it only finds likely is proposed to a person; and what somebody says of themselves is ended by nobody
else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import TYPE_CHECKING, Final

from perdure.learn.english_verbs import is_past
from perdure.learn.fact_changes import DecidedChange, FactChanges, PlannedAction, begins
from perdure.learn.people import NAME, NICKNAME, is_by_program
from perdure.learn.rule_facts import BY_OTHERS, SLOT, is_by_rules, is_own, speaker_in, without_dates

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perdure.embed.judge import PairVerdict
    from perdure.learn.known_facts import KnownFacts
    from perdure.learn.people import People
    from perdure.model import Record
    from perdure.store.port import Reader

    AskJudge = Callable[[Sequence[tuple[str, str]]], Sequence[PairVerdict]]

# How many of the nearest facts a new one is compared with, and how near they have to be.
NEAREST: Final = 3
LEAST_COSINE: Final = 0.2
# From here on the judge is believed; from there on a person is asked; below this a rule is not believed.
SURE: Final = 0.9
LIKELY: Final = 0.6
DOUBTED: Final = 0.15
# Below this the first reading is the only one: most facts have nothing to do with each other.
WORTH_A_SECOND_LOOK: Final = 0.2
# Among its first words a fact has its verb.
_EARLY: Final = 8
_PRESENT: Final = frozenset("are can can't doesn't has hasn't have is isn't may should will won't".split())
_BEGINS_TO_HOLD: Final = frozenset(
    """
    accepted adopted agreed applied became began booked bought changed chose closed decided enrolled finished found gave
    got had hired inherited joined kept left lived lost made married met moved opened ordered owned paid passed picked
    planned promised quit rented replaced reserved retired set settled signed sold started stopped switched used was
    went were worked
    """.split()
)
_READINGS_THAT_COUNT: Final = 2
_LIKELY: Final = "the newer one probably ends the older one"
_SETTLED: Final = "what a person or a model settled is not overruled"


class Judging:
    """The judge, who is asked each thing once. `find_said` finds how a known fact was said; it may be empty."""

    def __init__(
        self,
        ask: AskJudge,
        told: Iterable[PlannedAction] = (),
        find_said: Callable[[Reader, Record], str] = lambda _reader, _fact: "",
    ) -> None:
        self._ask, self._find_said = ask, find_said
        self._said: dict[str, str] = {one.record.id: one.action.said for one in told if one.record}
        self._known: dict[tuple[str, str], float] = {}

    def readings(self, reader: Reader, fact: Record) -> list[str]:
        """A fact as it is, and as it was said."""
        if fact.id not in self._said:
            self._said[fact.id] = self._find_said(reader, fact) if is_by_rules(fact) else ""
        return [*dict.fromkeys(filter(None, (without_dates(fact.text), self._said[fact.id])))]

    def ends(self, reader: Reader, older: Record, newer: Record) -> float:
        """How likely the newer of two facts ends the older one."""
        [found] = self.judge_pairs(reader, [(older, newer)])
        return found

    def judge_pairs(self, reader: Reader, pairs: Sequence[tuple[Record, Record]]) -> list[float]:
        """The same of many pairs, all at once, which takes less time than one by one."""
        first = [(without_dates(older.text), self.readings(reader, newer)[-1]) for older, newer in pairs]
        self._look_at(first)
        every = [
            [(one, other) for one in self.readings(reader, older) for other in self.readings(reader, newer)]
            if self._known[pair] >= WORTH_A_SECOND_LOOK
            else [pair]
            for (older, newer), pair in zip(pairs, first, strict=True)
        ]
        self._look_at(pair for asked in every for pair in asked)
        return [mean(sorted(self._known[pair] for pair in asked)[-_READINGS_THAT_COUNT:]) for asked in every]

    def ends_by(self, older: str, newer: str) -> float:
        """By the words alone."""
        pair = without_dates(older), without_dates(newer)
        self._look_at([pair])
        return self._known[pair]

    def _look_at(self, pairs: Iterable[tuple[str, str]]) -> None:
        new = list(dict.fromkeys(pair for pair in pairs if pair not in self._known))
        self._known.update((pair, verdict.ends) for pair, verdict in zip(new, self._ask(new), strict=True))


def pairs_ahead(
    known: KnownFacts, told: Sequence[PlannedAction], sayings: Sequence[PlannedAction]
) -> Iterator[tuple[Record, Record]]:
    """What the transaction will ask, as far as it can be seen before: facts are compared with known ones, and among
    themselves, and messages with older facts.
    """
    new = [(one.record, one.vector) for one in told if one.record]
    for one in (*filter(is_told_to_assistant, told), *sayings):
        record, vector = one.record, one.vector
        if record is None or vector is None:
            continue
        near = [fact for fact, cosine in known.nearest(record.text, vector, NEAREST) if (cosine or 0) >= LEAST_COSINE]
        for fact in (*near, *nearest_new(record, vector, new)):
            if begins(fact) < begins(record) and not happened_once(fact.text):
                yield fact, record
            elif begins(record) < begins(fact) and one in told and not happened_once(record.text):
                yield record, fact


def nearest_new(
    record: Record, vector: NDArray[np.float32], new: Sequence[tuple[Record, NDArray[np.float32] | None]]
) -> list[Record]:
    cosines = [(float(other @ vector), one) for one, other in new if other is not None and one is not record]
    best = sorted((pair for pair in cosines if pair[0] >= LEAST_COSINE), key=lambda pair: -pair[0])
    return [one for _, one in best[:NEAREST]]


@dataclass(frozen=True, slots=True)
class Endings:
    """What ends by the facts and messages of one run."""

    changes: FactChanges
    people: People
    judging: Judging

    def by_facts(self, told: Sequence[PlannedAction]) -> None:
        """By each fact that is new, the oldest first."""
        for one in sorted(told, key=lambda one: (one.at, one.action.fact)):
            plan = self.changes.plans.get(one.record.id) if one.record else None
            is_new = plan is not None and plan.previous is None and plan.record.state == "active"
            if plan is not None and is_new and is_told_to_assistant(one):
                self._by_fact(one, plan.record)

    def _by_fact(self, planned: PlannedAction, record: Record) -> None:
        later: list[Record] = []
        for older, newer in self._pairs(planned, record):
            ends = 0.0 if happened_once(older.text) else self.judging.ends(self.changes.reader, older, newer)
            if ends < LIKELY:
                continue
            if why := self._why_undecided(older, newer, ends):
                if newer.state == "active":
                    self.changes.leave_undecided(older, newer, why)
            elif newer is record:
                self.changes.supersede(older, newer, planned)
            else:
                later.append(newer)
        if later:
            first = min(later, key=begins)
            self.changes.end_at(
                record, first, lambda older: self.judging.ends(self.changes.reader, older, record) >= SURE
            )

    def _pairs(self, planned: PlannedAction, record: Record) -> Iterator[tuple[Record, Record]]:
        """The fact with each one near it, the older of both first; also with what such a newer one took the place of:
        it may have become known before.
        """
        for near in self._near(planned, record):
            if begins(near) < begins(record):
                yield near, record
            else:
                yield record, near
                yield from ((record, one) for one in self.changes.replaced_by(near) if begins(one) > begins(record))

    def _near(self, planned: PlannedAction, record: Record) -> Iterator[Record]:
        """How somebody is called is no matter of likelihood."""
        for near, cosine in self.changes.known.nearest(record.text, planned.vector, NEAREST + 1):
            is_name = any(one.metadata.get(SLOT) in (NAME, NICKNAME) for one in (near, record))
            is_other = near.id != record.id and begins(near) != begins(record)
            if is_other and (cosine or 0) >= LEAST_COSINE and not is_name:
                yield near

    def by_messages(self, sayings: Sequence[PlannedAction]) -> None:
        """By each message as a whole, the oldest first. What took the place of a fact that ends is the fact of the
        message that the judge finds nearest to doing so; where no fact was made of it, it becomes one.
        """
        for one in sorted(sayings, key=lambda one: (one.at, one.action.fact)):
            if one.record is None or self.changes.is_forgotten(one.record, one):
                continue
            for near in list(self._near(one, one.record)):
                may_end = begins(near) < one.at and not happened_once(near.text)
                ends = self.judging.ends(self.changes.reader, near, one.record) if may_end else 0.0
                if ends >= LIKELY:
                    self._by_message(near, one, one.record, ends)

    def _by_message(self, older: Record, planned: PlannedAction, saying: Record, ends: float) -> None:
        facts = [fact for fact in self.changes.known.records.values() if told_by(fact, saying)]
        why = self._why_undecided(older, saying, ends)
        if not facts and (ends >= SURE or why != _LIKELY):
            self.changes.insert(saying, planned.vector)
            self.changes.decided.append(DecidedChange("new", saying.id))
            facts = [saying]
        newer = max(facts, key=lambda fact: self.judging.ends_by(older.text, fact.text), default=None)
        if newer is None:
            return
        if why:
            self.changes.leave_undecided(older, newer, why)
        else:
            self.changes.supersede(older, newer, planned)

    def _why_undecided(self, older: Record, newer: Record, ends: float) -> str:
        """Empty where the newer one ends the older one."""
        if ends < SURE:
            return _LIKELY
        if not is_by_rules(older):
            return _SETTLED
        people = self.people
        speakers = {people.speaker(speaker_in(one), one.conversation_id or "") for one in (older, newer)}
        return BY_OTHERS if len(speakers) > 1 and is_own(older, people) else ""


def is_told_to_assistant(planned: PlannedAction) -> bool:
    """Whether it was said where an assistant answers. People tell each other of events and moods, some of which the
    judge takes for ends: of 861 facts of four LoCoMo talks it ended 31, most of them wrongly.
    """
    return any(is_by_program(message) for episode in planned.episodes for message in episode.messages)


def happened_once(text: str) -> bool:
    """Whether a fact tells what happened, and not what has held since: that stays true, whatever happens later."""
    for word in text.lower().replace(",", " ").split()[1:_EARLY]:
        if word in _PRESENT:
            return False
        if is_past(word):
            return word not in _BEGINS_TO_HOLD
    return False


def told_by(fact: Record, saying: Record) -> bool:
    """Whether a fact was made of a message, by when, where and by whom it was said."""
    same_time = begins(fact) == begins(saying) and fact.conversation_id == saying.conversation_id
    return same_time and is_by_rules(fact) and speaker_in(fact) == speaker_in(saying)

"""Which known facts a newer message ends, by the judge of two statements (embed/judge.py).

Each part of a message, a sentence or a clause, is compared with the known facts that are nearest to it, or to a fact
that it told. For each of them count: what the judge says of the two messages, what it says of the fact and of the
part, how near the part is to the fact and the message to the one that told it, and a few words. Most pairs have so
little in common that the judge need not look at them. One part ends one fact, that of which it is surest, and what one
message had said of it twice; one message ends one fact of another one; what is only likely is proposed to a person;
and what somebody says of themselves is ended by nobody else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby
from math import exp, log
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.episodes.surprise import telling_terms
from perdure.learn.fact_changes import DecidedChange, FactChanges, PlannedAction, begins
from perdure.learn.known_facts import SourceMessage
from perdure.learn.people import NAME, NICKNAME
from perdure.learn.rule_facts import BY_OTHERS, SLOT, SUBJECT, is_by_rules, is_own, speaker_in
from perdure.learn.rules.languages import rules_for, without_dates

if TYPE_CHECKING:
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from perdure.embed.judge import PairVerdict
    from perdure.learn.known_facts import KnownFacts
    from perdure.learn.people import People
    from perdure.learn.task import TaskEpisode
    from perdure.model import Record
    from perdure.store.port import Reader

    AskJudge = Callable[[Sequence[tuple[str, str]]], Sequence[PairVerdict]]
    FindSource = Callable[[Reader, Record], SourceMessage]

# With how many of the nearest facts each text of a message is compared. Its own and later ones are looked at as well.
NEAREST: Final = 2
_LOOKED_AT: Final = 12
# Of the judge alone, where two learnings or two values of a slot are compared.
SURE: Final = 0.85
DOUBTED: Final = 0.15
# From here on a fact ends; from there on a person is asked.
ENDS: Final = 0.28
LIKELY: Final = 0.2
# Of a message of which no fact was made and in which no word tells of a change.
SILENT_ENDS: Final = 0.34
# By logistic regression; `python -m bench.learn.fit` prints what they give, and what it would choose.
WEIGHTS: Final = (-1.77, 0.62, 0.48, 0.13, 0.86, -0.43, -1.27, -0.6, -1.5)
# Of whether the judge would find at least that it is likely, from what costs nothing to know; asked from here on.
OUTLOOK_WEIGHTS: Final = (-1.89, 3.66, -0.95, -2.59, 1.26, 1.7, 0.62, -1.03)
ASKED: Final = 0.037
# Where one of the two is a message of which no fact was made: of those many more are near to each other.
SILENT_ASKED: Final = 0.1
_LEAST_SHARE: Final = 0.001
# The judge is never surer.
_CERTAIN: Final = 0.98
_SEVERAL: Final = 2
_JUST_BEFORE: Final = timedelta(hours=1)
_OWNER: Final = "'s "
# Slots of which each may be filled beside the others.
_PLACES: Final = frozenset(("country", "home", "lives_in"))
_LIKELY: Final = "the newer one probably ends the older one"
_SETTLED: Final = "what a person or a model settled is not overruled"


class PairEvidence(NamedTuple):
    """What speaks for a message ending a fact. `words`: what the judge says of the fact and of the message;
    `is_doubtful`: the message tells of another time, or of what may be. `messages`: what it says of both messages.
    `rank`: how many facts are nearer. `no_change_word`: people talk among themselves, and no word says that something
    changed; of events and moods the judge understands less. `is_recent`: it was said just before, when people say more
    of a thing and seldom take it back.
    """

    words: float
    messages: float
    cosine: float
    cosine_of_messages: float
    rank: int
    no_change_word: bool
    is_doubtful: bool = False
    is_recent: bool = False

    def values(self) -> tuple[float, ...]:
        judged = log_odds(self.messages), log_odds(self.words)
        about = float(self.no_change_word), float(self.is_doubtful), float(self.is_recent)
        return 1.0, *judged, self.cosine, self.cosine_of_messages, float(self.rank), *about

    @property
    def likelihood(self) -> float:
        return logistic(WEIGHTS, self.values())


def logistic(weights: Sequence[float], values: Sequence[float]) -> float:
    return 1 / (1 + exp(-sum(weight * value for weight, value in zip(weights, values, strict=True))))


def log_odds(share: float) -> float:
    share = min(max(share, _LEAST_SHARE), 1 - _LEAST_SHARE)
    return log(share / (1 - share))


@dataclass(frozen=True, slots=True)
class TellingMessage:
    """What somebody said at one time in one part of a message: the message, that part, and the facts that were made of
    it. A part without a fact may become one itself, `whole`.
    """

    saying: SourceMessage
    at: datetime
    no_change_word: bool
    part: SourceMessage
    facts: Sequence[PlannedAction] = ()
    whole: PlannedAction | None = None

    @property
    def first(self) -> PlannedAction:
        return self.whole or self.facts[0]

    @property
    def ends_from(self) -> float:
        """How likely the end of a fact has to be for this message to end it."""
        text = self.part.text
        return ENDS if self.whole is None or rules_for(text).sounds_like_change(text) else SILENT_ENDS


class EndingCandidate(NamedTuple):
    """A fact near a message: how near, and how many of those that are older, or newer, than the message are nearer."""

    fact: Record
    cosine: float
    rank: int
    is_silent: bool = False
    """Whether it is no fact, and would only become one."""


class Judging:
    """The judge, who is asked each thing once, about the messages of one run. `earlier` are those of runs before it of
    which no fact was made. `find_saying` finds how a known fact was said.
    """

    def __init__(
        self,
        ask: AskJudge,
        messages: Sequence[TellingMessage],
        earlier: Sequence[TellingMessage],
        known: KnownFacts,
        find_saying: FindSource,
    ) -> None:
        self._ask, self._find_saying = ask, find_saying
        self.messages = [one for one in messages if not (one.whole and one.no_change_word)]
        self._sayings, self.silent = known.sayings, SilentParts((*earlier, *messages))
        told = ((one, each.saying) for each in (*messages, *earlier) for one in (*each.facts, each.whole))
        self._sayings |= {one.record.id: saying for one, saying in told if one and one.record}
        self._known: dict[tuple[str, str], float] = {}
        self._terms: dict[str, frozenset[str]] = {}

    def saying(self, reader: Reader, fact: Record) -> SourceMessage:
        if fact.id not in self._sayings:
            found = self._find_saying(reader, fact) if is_by_rules(fact) else SourceMessage("", None)
            self._sayings[fact.id] = found if found.text else SourceMessage(without_dates(fact.text), None)
        return self._sayings[fact.id]

    def look_ahead(self, reader: Reader, known: KnownFacts) -> None:
        """Ask what the transaction will ask, as far as it can be seen before it: the facts of the run are compared with
        known ones and among themselves.
        """
        new = new_facts(one for each in self.messages for one in each.facts)
        pairs: list[tuple[TellingMessage, EndingCandidate]] = []
        for each in self.messages:
            pairs += ((each, near) for near in near_facts(known, each, new) if begins(near.fact) < each.at)
            if silent := self.silent.nearest(each, lambda _: True):
                pairs.append((each, silent.candidate))
        self.weigh(reader, pairs)

    def weigh(self, reader: Reader, pairs: Sequence[tuple[TellingMessage, EndingCandidate]]) -> list[float]:
        """How likely each message ends the fact near it. The judge is not asked where it cannot change the answer."""
        sayings = [self.saying(reader, near.fact) for _, near in pairs]
        found = [without_words(older, *pair) for older, pair in zip(sayings, pairs, strict=True)]
        hopeful = [
            place
            for place, (message, near) in enumerate(pairs)
            if found[place].likelihood >= ENDS
            and self._outlook(sayings[place], near.fact, message.part, found[place]) >= asked_from(message, near)
        ]
        # The fact and the part are shorter than the two messages, and most pairs end here.
        texts = {
            place: (without_dates(near.fact.text), message.part.text)
            for place in hopeful
            for message, near in [pairs[place]]
        }
        self._look_at(texts.values())
        for place, pair in texts.items():
            found[place] = found[place]._replace(words=self._known[pair])
        hopeful = [place for place in hopeful if found[place].likelihood >= ENDS]
        texts = {place: as_said(sayings[place], pairs[place][0].saying) for place in hopeful}
        self._look_at(texts.values())
        for place, pair in texts.items():
            found[place] = found[place]._replace(messages=self._known[pair])
        return [found[place].likelihood if place in texts else 0.0 for place in range(len(pairs))]

    def _outlook(self, older: SourceMessage, fact: Record, newer: SourceMessage, evidence: PairEvidence) -> float:
        """How likely the judge would find that a person should at least be asked."""
        words, others = self._telling(newer.text), self._telling(older.text)
        return logistic(
            OUTLOOK_WEIGHTS,
            (
                1.0,
                evidence.cosine_of_messages,
                float(evidence.rank),
                float(evidence.no_change_word),
                float(rules_for(newer.text).sounds_like_change(newer.text)),
                float(not words.isdisjoint(others)),
                float(not words.isdisjoint(self._telling(fact.text))),
                log(max(len(newer.text.split()), 1)),
            ),
        )

    def _telling(self, text: str) -> frozenset[str]:
        if text not in self._terms:
            self._terms[text] = frozenset(telling_terms([text]))
        return self._terms[text]

    def ends_by(self, older: str, newer: str) -> float:
        """By the words alone."""
        pair = without_dates(older), without_dates(newer)
        self._look_at([pair])
        return self._known[pair]

    def _look_at(self, pairs: Iterable[tuple[str, str]]) -> None:
        new = list(dict.fromkeys(pair for pair in pairs if pair not in self._known))
        self._known.update((pair, verdict.ends) for pair, verdict in zip(new, self._ask(new), strict=True))


def without_words(older: SourceMessage, message: TellingMessage, near: EndingCandidate) -> PairEvidence:
    """The most that is possible, whatever the judge says."""
    text, newer = message.part.text, message.saying.vector
    cosine = near.cosine if older.vector is None or newer is None else float(older.vector @ newer)
    is_recent = timedelta() <= message.at - begins(near.fact) < _JUST_BEFORE
    return PairEvidence(
        _CERTAIN,
        _CERTAIN,
        near.cosine,
        cosine,
        near.rank,
        message.no_change_word,
        rules_for(text).is_doubtful(text),
        is_recent,
    )


def asked_from(message: TellingMessage, near: EndingCandidate) -> float:
    return SILENT_ASKED if near.is_silent or message.ends_from > ENDS else ASKED


def as_said(older: SourceMessage, newer: SourceMessage) -> tuple[str, str]:
    """What was said at both times. One person's own words say most: to tell a chat in the third person bends it."""
    is_one_person = older.said and newer.said and older.speaker == newer.speaker
    return (older.said, newer.said) if is_one_person else (older.text, newer.text)


class SilentCandidate(NamedTuple):
    """A message of which no fact was made, as the fact that it may become, and how it may end."""

    planned: PlannedAction
    candidate: EndingCandidate


class SilentParts:
    """What people said of which no fact was made, with a row of a matrix for each."""

    def __init__(self, messages: Iterable[TellingMessage]) -> None:
        found = ((one, one.whole, one.whole.record) for one in messages if one.whole and one.whole.record)
        self._parts = [each for each in found if each[0].part.vector is not None]
        self._matrix: NDArray[np.float32] | None = None

    def nearest(self, message: TellingMessage, is_left: Callable[[TellingMessage], bool]) -> SilentCandidate | None:
        """Of what the same person said before, the nearest to what they say now."""
        if message.part.vector is None or not self._parts:
            return None
        import numpy as np

        matrix = self._matrix
        if matrix is None:
            vectors = (one.part.vector for one, _, _ in self._parts)
            matrix = self._matrix = np.stack([vector for vector in vectors if vector is not None])
        cosines: list[float] = (matrix @ message.part.vector).tolist()
        for place in sorted(range(len(cosines)), key=lambda row: -cosines[row]):
            one, planned, record = self._parts[place]
            is_before = one.at < message.at and one.saying.speaker == message.saying.speaker
            if is_before and is_left(one) and not is_lasting(record):
                return SilentCandidate(planned, EndingCandidate(record, cosines[place], 0, is_silent=True))
        return None


class NewFacts(NamedTuple):
    """Facts that are not known yet, and a row of the matrix for each."""

    records: Sequence[Record] = ()
    matrix: NDArray[np.float32] | None = None

    def nearest(self, vector: NDArray[np.float32]) -> list[tuple[Record, float]]:
        return [] if self.matrix is None else list(zip(self.records, (self.matrix @ vector).tolist(), strict=True))


def new_facts(planned: Iterable[PlannedAction]) -> NewFacts:
    found = [(one.record, one.vector) for one in planned if one.record and one.vector is not None]
    if not found:
        return NewFacts()
    import numpy as np

    return NewFacts([record for record, _ in found], np.stack([vector for _, vector in found]))


def near_facts(known: KnownFacts, message: TellingMessage, new: NewFacts | None = None) -> list[EndingCandidate]:
    """The facts nearest to a message or to one of its facts, older and newer ones, beside the known ones also `new`
    ones. How somebody is called is no matter of likelihood, and what only happened once never ends.
    """
    best: dict[str, EndingCandidate] = {}
    texts = [(message.part.text, message.part.vector)]
    texts += [(one.record.text, one.vector) for one in message.facts if one.record]
    for text, vector in texts:
        if vector is None:
            continue
        cosines = [(fact, cosine) for fact, cosine in known.nearest(text, vector, _LOOKED_AT) if cosine is not None]
        cosines += new.nearest(vector) if new else []
        ranks = {True: 0, False: 0}
        for fact, cosine in sorted(cosines, key=lambda pair: -pair[1]):
            is_older = begins(fact) < message.at
            if ranks[is_older] == NEAREST or begins(fact) == message.at or fact.metadata.get(SLOT) in (NAME, NICKNAME):
                continue
            if is_older and (is_of_other_thing(fact, message) or is_place_around(fact, message) or is_lasting(fact)):
                continue
            rank, ranks[is_older] = ranks[is_older], ranks[is_older] + 1
            known_as = best.get(fact.id, EndingCandidate(fact, cosine, rank))
            best[fact.id] = EndingCandidate(fact, max(cosine, known_as.cosine), min(rank, known_as.rank))
            if min(ranks.values()) == NEAREST:
                break
    return list(best.values())


class LikelyEnd(NamedTuple):
    """The fact that a part of a message ends most likely, and how likely it ends each of those near to it."""

    fact: Record | None = None
    share: float = 0.0
    weighed: Sequence[tuple[EndingCandidate, float]] = ()


@dataclass(frozen=True, slots=True)
class Endings:
    """What ends by the messages of one run."""

    changes: FactChanges
    people: People
    judging: Judging

    def carry_out(self) -> None:
        """By each message, the oldest first, and by each part of it, the surest first."""
        ordered = sorted(self.judging.messages, key=lambda one: (one.at, one.saying.text))
        for _, parts in groupby(ordered, key=lambda one: (one.at, one.saying.text)):
            told = [one for one in parts if not self._is_forgotten(one)]
            settled = self._settled_messages(told)
            for part in sorted(told, key=lambda one: -self._likeliest(one, settled).share):
                self._end_older(part, settled)
            for part in told:
                for fact in self._new_facts(part):
                    self._end_by_later(part, fact)

    def _is_forgotten(self, message: TellingMessage) -> bool:
        whole = message.whole.record if message.whole else None
        return whole is not None and self.changes.is_forgotten(whole, message.first)

    def _end_older(self, message: TellingMessage, settled: set[str]) -> None:
        """`settled` are the older messages of which this one has ended something: of one message it ends one fact."""
        likely = self._likeliest(message, settled)
        if likely.fact is None or likely.share < LIKELY:
            self._end_silent(message, settled)
            return
        older = likely.fact
        self._end(message, older, likely.share)
        for one, other_share in likely.weighed:
            if one.fact is not older and other_share >= message.ends_from and self._say_the_same(older, one.fact):
                self._end(message, one.fact, other_share)
        if likely.share >= message.ends_from:
            settled.add(self._said_in(older))

    def _likeliest(self, message: TellingMessage, settled: AbstractSet[str]) -> LikelyEnd:
        near = [one for one in near_facts(self.changes.known, message) if begins(one.fact) < message.at]
        near = [one for one in near if self._said_in(one.fact) not in settled]
        shares = self.judging.weigh(self.changes.reader, [(message, one) for one in near])
        weighed = list(zip(near, shares, strict=True))
        best = max(weighed, key=lambda one: one[1], default=None)
        return LikelyEnd(best[0].fact, best[1], weighed) if best else LikelyEnd()

    def _said_in(self, fact: Record) -> str:
        return self.judging.saying(self.changes.reader, fact).text

    def _end_silent(self, message: TellingMessage, settled: set[str]) -> None:
        """An older message of which no fact was made, if this one ends it: it becomes a fact that has ended."""
        changes = self.changes
        silent = self.judging.silent.nearest(
            message, lambda one: one.saying.text not in settled and not self._is_made(one)
        )
        if silent is None:
            return
        [share] = self.judging.weigh(changes.reader, [(message, silent.candidate)])
        older, planned = silent.candidate.fact, silent.planned
        # What may not end stays what was said, and nobody is asked about words that are no fact.
        if (
            share >= message.ends_from
            and changes.may_end(older, message.first)
            and are_unchanged(changes.reader, planned.episodes)
            and not changes.is_forgotten(older, planned)
        ):
            changes.insert(older, planned.vector)
            self._end(message, older, share)
            settled.add(self._said_in(older))

    def _is_made(self, message: TellingMessage) -> bool:
        whole = message.whole and message.whole.record
        return whole is not None and whole.id in self.changes.plans

    def _say_the_same(self, one: Record, other: Record) -> bool:
        """Whether one message told both facts, in the same words: `has a cat named Zoe`, `Zoe is user's cat`."""
        sayings = {self._said_in(fact) for fact in (one, other)}
        words, others = telling_terms([one.text]), telling_terms([other.text])
        return len(sayings) == 1 and (words <= others or others <= words)

    def _end(self, message: TellingMessage, older: Record, share: float) -> None:
        if message.first.record is None:
            return
        why = self._why_undecided(older, message.first.record, share, message.ends_from)
        newer = self._taking_place(message, older, is_wanted=why != _LIKELY)
        if newer is None:
            return
        if why:
            self.changes.leave_undecided(older, newer, why)
        else:
            self.changes.supersede(older, newer, message.first)

    def _settled_messages(self, parts: Sequence[TellingMessage]) -> set[str]:
        """Older messages of which the rules have ended a fact by this one: what it ends is known, and what else they
        told goes on. `I live in Tokyo now` ends the home of `I live in Osaka and I work as a nurse`, not the work.
        """
        ended = (one for part in parts for fact in self._new_facts(part) for one in self.changes.replaced_by(fact))
        return {self._said_in(one) for one in ended}

    def _taking_place(self, message: TellingMessage, older: Record, *, is_wanted: bool) -> Record | None:
        """The fact of a message of which the judge says most that it ends the older one. Where no fact was made of the
        message, it becomes one if that `is_wanted`.
        """
        facts = self._new_facts(message)
        if message.whole and message.whole.record and is_wanted:
            facts = [message.whole.record]
            if facts[0].id not in self.changes.plans:
                self.changes.insert(facts[0], message.whole.vector)
                self.changes.decided.append(DecidedChange("new", facts[0].id))
        if len(facts) < _SEVERAL:
            return next(iter(facts), None)
        return max(facts, key=lambda fact: self.judging.ends_by(older.text, fact.text))

    def _new_facts(self, message: TellingMessage) -> list[Record]:
        plans = (self.changes.plans.get(one.record.id) for one in message.facts if one.record)
        return [plan.record for plan in plans if plan and plan.previous is None and plan.record.state == "active"]

    def _end_by_later(self, message: TellingMessage, fact: Record) -> None:
        """A fact that became known in a run after what ends it: one near it, or what such a one took the place of."""
        told = replace(message, facts=[one for one in message.facts if one.record and one.record.id == fact.id])
        later: list[Record] = []
        for near in near_facts(self.changes.known, told) if not rules_for(fact.text).happened_once(fact.text) else ():
            plan = self.changes.plans.get(near.fact.id)
            if begins(near.fact) > message.at and (plan is None or plan.previous is not None):
                between = (one for one in self.changes.replaced_by(near.fact) if begins(one) > begins(fact))
                later += (one for one in (near.fact, *between) if self._is_ended(fact, one, message, near))
        if later:
            first = min(later, key=begins)
            self.changes.end_at(
                fact, first, lambda one: self._is_ended(one, fact, message, EndingCandidate(one, 1.0, 0))
            )

    def _is_ended(self, older: Record, newer: Record, message: TellingMessage, near: EndingCandidate) -> bool:
        """Whether one known fact ends another, as near as `near` says, told where the message was."""
        saying = self.judging.saying(self.changes.reader, newer)
        told = TellingMessage(saying, begins(newer), message.no_change_word, saying._replace(text=newer.text))
        [share] = self.judging.weigh(self.changes.reader, [(told, near._replace(fact=older))])
        if share >= LIKELY and (why := self._why_undecided(older, newer, share)):
            if newer.state == "active":
                self.changes.leave_undecided(older, newer, why)
            return False
        return share >= ENDS

    def _why_undecided(self, older: Record, newer: Record, share: float, ends_from: float = ENDS) -> str:
        """Empty where the newer one ends the older one."""
        if share < ends_from:
            return _LIKELY
        if not is_by_rules(older):
            return _SETTLED
        people = self.people
        speakers = {people.speaker(speaker_in(one), one.conversation_id or "") for one in (older, newer)}
        return BY_OTHERS if len(speakers) > 1 and is_own(older, people) else ""


def is_lasting(fact: Record) -> bool:
    """What only happened once stays true, and so does who was born as whose: `daughter:juno`, `has:sisters`."""
    told = str(fact.metadata.get(SLOT)).replace(":", " ").split()
    rules = rules_for(fact.text)
    return rules.happened_once(fact.text) or any(map(rules.is_permanent, told))


def is_place_around(fact: Record, message: TellingMessage) -> bool:
    """Whether both only say where somebody lives: the one the city, the other the country or the house."""
    slot, slots = str(fact.metadata.get(SLOT)), {str(one.action.metadata.get(SLOT)) for one in message.facts}
    return len(slots) == 1 and slot not in slots and {slot, *slots} <= _PLACES


def is_of_other_thing(fact: Record, message: TellingMessage) -> bool:
    """Whether a fact is about something of somebody, and the message about something else of theirs: `My doctor is …`
    says nothing of a dentist.
    """
    owner, _, thing = str(fact.metadata.get(SUBJECT)).partition(_OWNER)
    subjects = [str(one.action.metadata.get(SUBJECT)).partition(_OWNER) for one in message.facts]
    others = [other for whose, _, other in subjects if whose == owner and other]
    return bool(thing and others) and thing not in others and thing not in message.saying.text.lower()


def are_unchanged(reader: Reader, episodes: Sequence[TaskEpisode]) -> bool:
    """Whether the messages say what they said when they were read."""
    before = [message for episode in episodes for message in episode.messages]
    now = {one.id: one for one in reader.fetch([message.number for message in before])}
    return all(
        one.id in now and now[one.id].state == "active" and now[one.id].content_hash == one.content_hash
        for one in before
    )

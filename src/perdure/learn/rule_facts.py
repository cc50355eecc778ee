"""What rules make of statements about one thing, together with the facts that are known of it. Pure functions.

A newer statement supersedes an older one that cannot be true beside it; both stay, and each is dated by when it was
said. All that was ever said about the thing is looked at again each time, so it does not matter in which order it
became known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final, NamedTuple

from perdure.learn.actions import FactAction
from perdure.learn.people import ASSISTANT, USER, People
from perdure.learn.rules.languages import Statement, rules_for
from perdure.learn.sameness import Verdict, duplicate_verdict
from perdure.learn.validity import Assertion, Lifespan, Moment, Saying, SayingOrigin, lifespans, read_moment
from perdure.model import SPEAKER, Json, Record

# Entries of the metadata of a fact that rules learned; `said_at` are the moments at which it was said, and
# `said_elsewhere` says of those that have another origin than the fact itself which one they have.
SUBJECT: Final = "subject"
SLOT: Final = "slot"
VALUE: Final = "value"
AFFIRMED: Final = "affirmed"
SAID_AT: Final = "said_at"
SAID_ELSEWHERE: Final = "said_elsewhere"
BY_OTHERS: Final = "somebody says otherwise of themselves"
_LOW: Final = " low"


class Topic(NamedTuple):
    """What a statement is about: a slot of a subject. What fills no slot is about nothing but itself: `text`."""

    subject: str
    slot: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A fact of a topic, what it claims, and when it was said. What `is_settled` is a person's or a model's word: rules
    do not supersede it. What `is_own` was said by whom it is about. `vouched` are the moments at which a person said so
    outside of the conversation.
    """

    record: Record
    assertion: Assertion
    said: tuple[Moment, ...]
    is_settled: bool = False
    is_own: bool = True
    vouched: tuple[Moment, ...] = ()

    def origin(self, moment: Moment) -> SayingOrigin:
        """That of what was said at one of its moments."""
        home = origin_of(self.record)
        if moment in self.vouched:
            return SayingOrigin(home.conversation)
        elsewhere = self.record.metadata.get(SAID_ELSEWHERE)
        told = elsewhere.get(str(moment)) if isinstance(elsewhere, Mapping) else None
        return SayingOrigin(told.removesuffix(_LOW), not told.endswith(_LOW)) if isinstance(told, str) else home


class ToldFact(NamedTuple):
    """What is said now, where, and whether by whom it is about."""

    action: FactAction
    origin: SayingOrigin = SayingOrigin()
    is_own: bool = True


@dataclass(frozen=True, slots=True)
class PlacedFact:
    """The target state of one fact. `known` is the stored fact to change, None to insert one. Its text comes from
    `actions`, else from `like`: a known fact which was said before and after something else.

    `absorbed` are known facts of which it turned out that nothing lies between them and this one.

    `supersedes` and `conflicts` are places in the list of all facts of the topic: what ended because of this one, and
    what was said at the same moment, or by a person, and cannot be true beside it. What `is_own` was said by whom it
    is about. Not `is_trusted`: all that says so is of low trust. `origins` are those of what was said.
    """

    known: KnownFact | None
    like: Record | None
    actions: tuple[FactAction, ...]
    said: tuple[Moment, ...]
    end: Moment | None
    absorbed: tuple[Record, ...] = ()
    supersedes: tuple[int, ...] = ()
    conflicts: tuple[int, ...] = ()
    is_own: bool = True
    is_trusted: bool = True
    origins: Mapping[Moment, SayingOrigin] = field(default_factory=dict[Moment, SayingOrigin])


def is_by_rules(fact: FactAction | Record) -> bool:
    return isinstance(fact.metadata.get(SUBJECT), str) and isinstance(fact.metadata.get(SLOT), str)


def topic_of(fact: Record, people: People) -> Topic | None:
    """None for a fact that rules did not learn. What an assistant should do depends on whom it answers."""
    subject, slot = fact.metadata.get(SUBJECT), fact.metadata.get(SLOT)
    if not isinstance(subject, str) or not isinstance(slot, str):
        return None
    conversation = fact.conversation_id or ""
    person = people.subject(subject, conversation)
    if person == ASSISTANT:
        person = f"{ASSISTANT} of {people.subject(speaker_in(fact), conversation)}"
    return Topic(person, slot) if slot else Topic(person, slot, fact.text.lower())


def is_own(fact: Record, people: People) -> bool:
    """Whether it was said by whom it is about."""
    return people.is_own(str(fact.metadata.get(SUBJECT)), speaker_in(fact), fact.conversation_id or "")


def speaker_in(fact: Record) -> str:
    return str(fact.metadata.get(SPEAKER) or USER)


def origin_of(fact: Record) -> SayingOrigin:
    """Where a fact was first said. The name of a conversation may be somebody's: it is kept in no other place."""
    return SayingOrigin(sha256((fact.conversation_id or "").encode()).hexdigest()[:16], fact.trust != "low")


def told_elsewhere(fact: Record, origins: Mapping[Moment, SayingOrigin]) -> dict[str, Json]:
    """As the metadata of a fact has it, of what was said of another origin than its own."""
    home = origin_of(fact)
    return {
        str(moment): origin.conversation + ("" if origin.is_trusted else _LOW)
        for moment, origin in sorted(origins.items())
        if origin != home
    }


def place(known: Iterable[KnownFact], told: Iterable[ToldFact]) -> list[PlacedFact]:
    """The facts of one topic as they are to be, from those that are known and what is said now."""
    sayings = find_sayings(known, told)
    found = lifespans((one.saying for one in sayings), other_ends(sayings))
    begun: set[int] = set()
    placed: list[PlacedFact] = []
    for lifespan in found:
        inside = [one for one in sayings if lifespan.holds_what(one.saying)]
        # Of two origins of one moment the trusted one counts.
        trusted_last = sorted((one.saying for one in inside), key=lambda saying: saying.origin.is_trusted)
        facts = [one.source for one in inside if isinstance(one.source, KnownFact)]
        # A fact that goes on after it ended is another one from then on.
        own = list({fact.record.number: fact for fact in facts if fact.record.number not in begun}.values())
        begun.update(fact.record.number for fact in own)
        owner = own[0] if own else None
        placed.append(
            PlacedFact(
                known=owner,
                like=facts[0].record if facts else None,
                actions=tuple(one.source.action for one in inside if isinstance(one.source, ToldFact)),
                said=lifespan.said,
                end=None if owner and owner.is_settled else lifespan.end,
                absorbed=tuple(fact.record for fact in own[1:] if not fact.is_settled),
                is_own=lifespan.is_own,
                is_trusted=lifespan.is_trusted,
                origins={saying.moment: saying.origin for saying in trusted_last},
            )
        )
    return [with_relations(place, placed, found) for place in range(len(found))]


class SourcedSaying(NamedTuple):
    """Who says it: a fact that is known, each time it was said, or an action."""

    saying: Saying
    source: KnownFact | ToldFact


def find_sayings(known: Iterable[KnownFact], told: Iterable[ToldFact]) -> list[SourcedSaying]:
    """Facts that make the same assertion are one where nothing in their words tells them apart."""
    wordings: defaultdict[Assertion, list[str]] = defaultdict(list)

    def said_by(source: KnownFact | ToldFact, assertion: Assertion, text: str, moment: Moment) -> SourcedSaying:
        same = (words for words in wordings[assertion] if duplicate_verdict(words, text, 1.0).verdict is Verdict.SAME)
        wording = next(same, None)
        if wording is None:
            wordings[assertion].append(text)
        origin = source.origin(moment) if isinstance(source, KnownFact) else source.origin
        return SourcedSaying(Saying(moment, assertion, wording or text, source.is_own, origin), source)

    facts = sorted(known, key=lambda fact: (fact.record.state != "active", fact.record.number))
    spoken = sorted(told, key=lambda one: (moments_said(one.action), one.action.fact))
    return [
        *(said_by(fact, fact.assertion, fact.record.text, at) for fact in facts for at in fact.said),
        *(
            said_by(one, assertion_in(one.action), one.action.fact, at)
            for one in spoken
            for at in moments_said(one.action)
        ),
    ]


def other_ends(sayings: Sequence[SourcedSaying]) -> dict[tuple[Assertion, str], list[Moment]]:
    """When facts ended that nothing ended which was said: a model did, or what ended them was forgotten since."""
    ends: defaultdict[tuple[Assertion, str], list[Moment]] = defaultdict(list)
    for (begin, assertion, wording, is_own, _), source in sayings:
        if not isinstance(source, KnownFact) or source.is_settled or source.record.invalid_at is None:
            continue
        ended, held = source.record.invalid_at, [source.origin(moment) for moment in source.said]
        if not any(
            other.assertion.contradicts(assertion) and begin < other.moment and other.moment.at <= ended
            for other, _ in sayings
            if (other.is_own or not is_own) and other.origin.may_end(held)
        ):
            ends[assertion, wording].append(Moment(ended))
    return ends


def with_relations(place: int, placed: Sequence[PlacedFact], found: Sequence[Lifespan]) -> PlacedFact:
    """What this fact ends, and what it leaves undecided. What is settled is not ended."""
    supersedes: list[int] = []
    conflicts: list[int] = []
    for other, lifespan in enumerate(found):
        fact = placed[other].known
        if found[place].leaves_undecided(lifespan):
            conflicts.append(other)
        elif found[place].ends(lifespan):
            (conflicts if fact and fact.is_settled else supersedes).append(other)
    return replace(placed[place], supersedes=tuple(supersedes), conflicts=tuple(conflicts))


def moments_said(fact: FactAction | Record) -> list[Moment]:
    """When it was said, as its metadata has it."""
    told = fact.metadata.get(SAID_AT)
    moments = [read_moment(one) for one in told if isinstance(one, str)] if isinstance(told, list) else []
    return sorted(moment for moment in moments if moment)


def assertion_in(fact: FactAction | Record) -> Assertion:
    """What fills no slot contradicts nothing."""
    value, slot = fact.metadata.get(VALUE), fact.metadata.get(SLOT)
    return (
        Assertion(rules_for(text_of(fact)).plain_value(str(value)), fact.metadata.get(AFFIRMED) is not False)
        if slot
        else Assertion(text_of(fact))
    )


def read_again(record: Record, speaker: str = USER) -> list[Statement]:
    """What a memory says in the words that it has, whoever wrote them."""
    found = rules_for(record.text).statements(record.text, speaker, record.valid_at or record.created_at)
    return [one for one in found if one.slot]


def text_of(fact: FactAction | Record) -> str:
    return fact.fact if isinstance(fact, FactAction) else fact.text

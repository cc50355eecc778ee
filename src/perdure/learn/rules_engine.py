"""Facts without any model: what people tell of themselves and of others, sentence by sentence.

The engine only says what was said and when; `rule_facts` decides, inside the transaction, what that means for the facts
that are known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from perdure.episodes.keys import position_of
from perdure.episodes.lookup import messages_of_episode
from perdure.episodes.messages import said_after
from perdure.episodes.surprise import telling_terms
from perdure.ids import parse_reference
from perdure.learn.actions import FactAction
from perdure.learn.judged import TellingMessage
from perdure.learn.known_facts import SourceMessage, scope_of
from perdure.learn.people import ASSISTANT, NAME, NICKNAME, USER, GivenName, People, is_by_program, is_of_session
from perdure.learn.rule_changes import names_known
from perdure.learn.rule_facts import AFFIRMED, SAID_AT, SLOT, SUBJECT, VALUE
from perdure.learn.rules.languages import Statement, choose, parts_of, rules_for
from perdure.learn.similar import unpacked
from perdure.learn.validity import Moment
from perdure.model import SPEAKER, Record
from perdure.text.entry import passage_hash
from perdure.text.introductions import find_introduction
from perdure.text.secrets.spans import MARK

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perdure.embed.port import Generation
    from perdure.learn.fact_changes import PlannedAction
    from perdure.learn.task import ConsolidationTask
    from perdure.services import Services
    from perdure.store.port import Reader

RULES: Final = "rules"
# Of one run, so that no transaction takes long.
_MOST_EPISODES: Final = 20
# A message that the judge reads as a whole.
FEWEST_WORDS: Final = 2
WHOLE_WORDS: Final = 25
# Where words are not told apart by spaces.
_WHOLE_SIGNS: Final = 80
# Of the telling words of a part at least so many stand in no fact.
_UNREAD: Final = 0.6

MomentSaid: TypeAlias = tuple[datetime, str, str]


@dataclass(frozen=True, slots=True)
class RulesEngine:
    """It gives one action for each time that a fact worth keeping was said."""

    services: Services
    name: str = RULES
    needs_facts: bool = False
    joins_conversations: bool = True
    most_episodes: int = _MOST_EPISODES

    @staticmethod
    def unread(task: ConsolidationTask) -> int:
        """How many messages of people are in a language that rules do not read."""
        messages = (message for episode in task.episodes for message in episode.messages)
        return sum(
            not is_by_program(message) and not rules_for(message.text).reads(message.text) for message in messages
        )

    def actions(self, task: ConsolidationTask) -> Sequence[FactAction]:
        episodes = {message.id: episode.record for episode in task.episodes for message in episode.messages}
        messages = [message for episode in task.episodes for message in episode.messages]
        people = people_in(self.services, task)
        told = list(facts_told(messages, people))
        kept = {statement.fact for _, statement in choose(told)}
        return [
            fact_action(statement, message, episodes[message.id])
            for message, found in zip(messages, told, strict=True)
            for statement in found
            if statement.fact in kept
        ]


def people_in(services: Services, task: ConsolidationTask) -> People:
    with services.store.read(task.namespace) as reader:
        known = list(names_known(reader, scope_of(services.settings, task.conversation_id)))
    return People((*known, *names_given([message for episode in task.episodes for message in episode.messages])))


class MessagePart(NamedTuple):
    """What somebody said in one part of a message, in their own words and told of them. `action` is what it may become
    one day, where no fact was made of it.
    """

    message: Record
    said: str
    told: str
    terms: AbstractSet[str]
    action: FactAction | None


def message_parts(
    messages: Iterable[tuple[Record, Record]], told: Mapping[MomentSaid, Sequence[str]], people: People
) -> list[MessagePart]:
    """What people said in messages, each beside the episode that it is of. Questions are left out. `told` are the facts
    that were made of what was said when.
    """
    found: list[MessagePart] = []
    for message, episode in messages:
        words = words_of(message)
        if is_by_program(message) or MARK in words:
            continue
        known = telling_terms(told.get(moment_key(message), ()))
        name, at = name_of(message, people), moment_said(message).at

        def is_unread(part: str, known: AbstractSet[str] = known) -> bool:
            terms = telling_terms([part])
            return is_short(part) and len(terms - known) >= _UNREAD * len(terms)

        for part in parts_of(words, is_unread):
            if is_short(part) and (terms := telling_terms([part])):
                action = fact_action(as_statement(part, name, at), message, episode) if is_unread(part) else None
                found.append(MessagePart(message, part, tell_all(part, name), terms, action))
    return found


def is_short(part: str) -> bool:
    """Whether it is long enough to say something, and short enough to say one thing."""
    if part.isascii() or " " in part.strip():
        return FEWEST_WORDS <= len(part.split()) <= WHOLE_WORDS
    return FEWEST_WORDS <= len(part) <= _WHOLE_SIGNS


def moment_key(message: Record) -> MomentSaid:
    """When it was said, by whom, and in which conversation."""
    return moment_said(message).at, speaker_of(message), message.conversation_id or ""


def telling_messages(
    task: ConsolidationTask,
    told: Sequence[PlannedAction],
    parts: Sequence[tuple[MessagePart, PlannedAction | None]],
    people: People,
    vectors: Mapping[str, NDArray[np.float32]],
) -> list[TellingMessage]:
    """The parts of messages of which facts were made, and those that may become one. `vectors` are those of messages,
    by their ids, and of parts, by their words.
    """
    found: list[TellingMessage] = []
    by_time: defaultdict[MomentSaid, list[PlannedAction]] = defaultdict(list)
    for one in told:
        # How somebody is called ends nothing else.
        if one.record and one.record.metadata.get(SLOT) not in (NAME, NICKNAME):
            key = one.at, str(one.record.metadata.get(SPEAKER)), one.record.conversation_id or ""
            by_time[key].append(one)
    by_message: defaultdict[str, list[tuple[MessagePart, PlannedAction | None]]] = defaultdict(list)
    for part, planned in parts:
        by_message[part.message.id].append((part, planned))
    for episode in task.episodes:
        between_people = not any(map(is_by_program, episode.messages))
        for message in episode.messages:
            if is_by_program(message):
                continue
            facts, own = by_time.pop(moment_key(message), []), by_message.pop(message.id, [])
            saying = source_message(message, people, vectors.get(message.id))
            no_change_word = between_people and not rules_for(message.text).tells_change(message.text)
            whole = TellingMessage(saying, moment_said(message).at, no_change_word, saying)
            made = facts_of_parts(facts, [part for part, _ in own])
            for (part, planned), some in zip(own, made, strict=True):
                vector = vectors.get(part.said)
                if some or planned:
                    as_fact = planned and replace(planned, vector=vector)
                    told_part = SourceMessage(part.told, vector, part.said, saying.speaker)
                    one = replace(whole, part=told_part, facts=some, whole=None if some else as_fact)
                    is_other = between_people and not some and not rules_for(part.said).tells_change(part.said)
                    found.append(replace(one, no_change_word=no_change_word or is_other))
            left = [one for one in facts if not any(one in some for some in made)]
            if left:
                found.append(replace(whole, facts=left))
    return found


def facts_of_parts(facts: Sequence[PlannedAction], parts: Sequence[MessagePart]) -> list[list[PlannedAction]]:
    """Which part of a message told each fact: the one with which it shares the most words."""
    found: list[list[PlannedAction]] = [[] for _ in parts]
    for fact in facts:
        terms = telling_terms([fact.action.fact])
        shared = [len(terms & part.terms) / len(part.terms | terms) for part in parts]
        if any(shared):
            found[shared.index(max(shared))].append(fact)
    return found


def words_of(message: Record) -> str:
    """What a message says of people. In a session what holds for the project becomes a learning of it, and what was
    pasted was not said.
    """
    return rules_for(message.text).without_rules(message.text) if is_of_session(message) else message.text


def as_statement(text: str, name: str, at: datetime) -> Statement:
    return Statement(
        fact=tell_all(text, name),
        category="experience",
        subject=name,
        slot="",
        value="",
        affirmed=True,
        valid_at=at,
        dated=False,
        confidence=0.5,
        speaker=name,
    )


def find_saying(people: People, generation: Generation | None, reader: Reader, fact: Record) -> SourceMessage:
    """The message that first told a fact which rules learned; empty where it is gone."""
    for episode in (one for id in fact.evidence for one in reader.find(parse_reference(id))):
        for message in messages_of_episode(reader, episode):
            if moment_said(message).at == fact.valid_at and speaker_of(message) == fact.metadata.get(SPEAKER):
                vectors = stored_vectors(reader, generation, [message])
                return source_message(message, people, vectors.get(message.id))
    return SourceMessage("", None)


def source_message(message: Record, people: People, vector: NDArray[np.float32] | None) -> SourceMessage:
    name = name_of(message, people)
    return SourceMessage(tell_all(message.text, name), vector, " ".join(message.text.split()), name)


def stored_vectors(
    reader: Reader, generation: Generation | None, messages: Sequence[Record]
) -> dict[str, NDArray[np.float32]]:
    """By the id of each message that has one."""
    if generation is None or not messages:
        return {}
    hashes = {message.id: passage_hash(message) for message in messages}
    stored = reader.passage_vectors(generation, list(hashes.values()))
    return {id: unpacked(stored[hash], generation) for id, hash in hashes.items() if hash in stored}


def tell_all(text: str, name: str) -> str:
    rules = rules_for(text)
    if rules.reads(text):
        text = rules.in_third_person(text, name, ASSISTANT)
    else:
        text = f"{name[:1].upper()}{name[1:]}: {text}"
    return " ".join(text.rstrip(".!").split())


def fact_action(statement: Statement, message: Record, episode: Record) -> FactAction:
    moment = moment_said(message)
    return FactAction(
        "new",
        None,
        statement.category,
        statement.fact,
        keywords_of(statement, moment.at),
        valid_at=moment.at,
        confidence=statement.confidence,
        evidence=(episode.number,),
        metadata={
            SUBJECT: subject_of(statement, message),
            SLOT: statement.slot,
            VALUE: statement.value,
            AFFIRMED: statement.affirmed,
            SPEAKER: speaker_of(message),
            **({SAID_AT: [str(moment)]} if statement.slot else {}),
        },
    )


def keywords_of(statement: Statement, at: datetime) -> tuple[str, ...]:
    """Without `user` and the like, which are in every fact; and of what happened the day on which it was told, because
    that is how people ask for it.
    """
    subject = statement.subject.partition("'")[0]
    found = [word for word in statement.keywords if not (subject.islower() and subject in word.lower().split())]
    return (*found, *([] if statement.slot else [f"{at.day} {at:%B %Y}"]))


def moment_said(message: Record) -> Moment:
    if after := said_after(message):
        return Moment(after)
    if message.valid_at is not None:
        return Moment(message.valid_at)
    return Moment(message.created_at, position_of(message.key or "") or 0)


def subject_of(statement: Statement, message: Record) -> str:
    """Without the name that a speaker gave to themselves: what the statement is about stays the same by any name."""
    name, label = statement.speaker, speaker_of(message)
    is_own = statement.subject == name or statement.subject.startswith(f"{name}'s ")
    return label + statement.subject[len(name) :] if is_own else statement.subject


def names_given(messages: Sequence[Record]) -> Iterator[GivenName]:
    """By people, to themselves; what is corrected later is left out."""
    given: dict[tuple[str, str], list[GivenName]] = {}
    for message in messages:
        found = None if is_by_program(message) else find_introduction(message.text)
        if found:
            one = GivenName(message.conversation_id or "", speaker_of(message), found.name, found.is_nickname)
            names = given.setdefault((one.conversation, one.speaker), [])
            names[:] = [*([] if found.corrects else names), one]
    yield from (one for names in given.values() for one in names)


def facts_told(messages: Sequence[Record], people: People) -> Iterator[list[Statement]]:
    """Of each message. Who is spoken to is whoever else spoke last in the conversation, or speaks next."""
    before = others_before(messages)
    after = others_before(messages[::-1])[::-1]
    for message, last, following in zip(messages, before, after, strict=True):
        if is_by_program(message):
            yield []
            continue
        listener = last or following
        named = ASSISTANT if listener is None or is_by_program(listener) else name_of(listener, people)
        name = name_of(message, people)
        words = words_of(message)
        told = rules_for(words).statements(words, name, moment_said(message).at, listener=named)
        names = (NAME, NICKNAME)
        told = [one for one in told if one.slot not in names or one.subject != name]
        if (introduced := find_introduction(message.text)) and introduced.is_nickname:
            # `Call me Leni` is no rule for an assistant alone.
            told = [one for one in told if one.category != "guideline" or introduced.name not in one.fact]
        # What is left of a secret says nothing of anybody.
        yield [one for one in (*told, *introductions(message, name)) if MARK not in one.fact]


def introductions(message: Record, name: str) -> Iterator[Statement]:
    """How the speaker is called, told of whoever they were before: `User's name is Lena`."""
    found, label = find_introduction(message.text), speaker_of(message)
    if found is None or found.name.lower() == label.lower():
        return
    told = " goes by" if found.is_nickname else "'s name is"
    yield Statement(
        fact=f"{label[:1].upper()}{label[1:]}{told} {found.name}",
        category="identity",
        subject=name,
        slot=NICKNAME if found.is_nickname else NAME,
        value=found.name,
        affirmed=True,
        valid_at=moment_said(message).at,
        dated=False,
        confidence=0.9,
        speaker=name,
    )


def others_before(messages: Sequence[Record]) -> list[Record | None]:
    """For each message the last one before it of somebody else, in its conversation."""
    found: list[Record | None] = []
    for message, previous in zip(messages, (None, *messages), strict=False):
        if previous is None or previous.conversation_id != message.conversation_id:
            found.append(None)
        else:
            found.append(previous if speaker_of(previous) != speaker_of(message) else found[-1])
    return found


def speaker_of(message: Record) -> str:
    return People.label(str(message.metadata.get(SPEAKER, USER)))


def name_of(message: Record, people: People) -> str:
    return people.name(speaker_of(message), message.conversation_id or "")

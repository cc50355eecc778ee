"""Facts without any model: what people tell of themselves and of others, sentence by sentence.

The engine only says what was said and when; `rule_facts` decides, inside the transaction, what that means for the facts
that are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from perdure.episodes.keys import position_of
from perdure.episodes.messages import ROLE
from perdure.learn.actions import FactAction
from perdure.learn.rule_facts import AFFIRMED, SAID_AT, SLOT, SUBJECT, VALUE
from perdure.learn.statements import Statement, statements
from perdure.learn.validity import Moment
from perdure.learn.worth import choose
from perdure.model import SPEAKER, Record
from perdure.text.secrets.spans import MARK

if TYPE_CHECKING:
    from perdure.learn.task import ConsolidationTask

RULES: Final = "rules"
# Of one run, so that no transaction takes long.
_MOST_EPISODES: Final = 20
# What these say is about a task, or was made up by a model.
_NO_PEOPLE: Final = frozenset(("assistant", "developer", "function", "model", "system", "tool"))


class RulesEngine:
    """It gives one action for each time that a fact worth keeping was said."""

    name = RULES
    needs_facts = False
    most_episodes = _MOST_EPISODES

    def actions(self, task: ConsolidationTask) -> Sequence[FactAction]:
        episodes = {message.id: episode.record for episode in task.episodes for message in episode.messages}
        messages = [message for episode in task.episodes for message in episode.messages]
        told = list(facts_told(messages))
        kept = {statement.fact for _, statement in choose(told)}
        return [
            fact_action(statement, message, episodes[message.id])
            for message, found in zip(messages, told, strict=True)
            for statement in found
            if statement.fact in kept
        ]


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
            SUBJECT: statement.subject,
            SLOT: statement.slot,
            VALUE: statement.value,
            AFFIRMED: statement.affirmed,
            SPEAKER: statement.speaker,
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
    if message.valid_at is not None:
        return Moment(message.valid_at)
    return Moment(message.created_at, position_of(message.key or "") or 0)


def facts_told(messages: Sequence[Record]) -> Iterator[list[Statement]]:
    """Of each message. Who is spoken to is whoever else spoke last, or speaks next."""
    before = others_before(messages)
    after = others_before(messages[::-1])[::-1]
    for message, last, following in zip(messages, before, after, strict=True):
        listener = last or following
        named = "assistant" if listener is None or is_no_person(listener) else speaker_of(listener)
        at = moment_said(message).at
        told = [] if is_no_person(message) else statements(message.text, speaker_of(message), at, listener=named)
        # What is left of a secret says nothing of anybody.
        yield [one for one in told if MARK not in one.fact]


def others_before(messages: Sequence[Record]) -> list[Record | None]:
    """For each message the last one before it of somebody else."""
    found: list[Record | None] = []
    for message, previous in zip(messages, (None, *messages), strict=False):
        is_other = previous is not None and speaker_of(previous) != speaker_of(message)
        found.append(previous if is_other or not found else found[-1])
    return found


def is_no_person(message: Record) -> bool:
    return str(message.metadata.get(ROLE, "")).lower() in _NO_PEOPLE


def speaker_of(message: Record) -> str:
    return str(message.metadata.get(SPEAKER, "user"))

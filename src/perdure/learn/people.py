"""Who is who in a namespace: which person a speaker or a name in a statement stands for. Pure functions.

A speaker without a name is called by a role. The user of all conversations is one person, unless the conversations give
them different names; whoever has a name of their own is somebody else, unless the user goes by that name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final, NamedTuple

from perdure.learn.tool_fixes import TOOL_ROLE, TOOL_SPEAKER
from perdure.model import ROLE, SPEAKER, Record
from perdure.text.persons import is_assistant_role, is_no_person, is_user_role

USER: Final = "user"
ASSISTANT: Final = "assistant"
# Slots of facts that say how a speaker is called.
NAME: Final = "name"
NICKNAME: Final = "nickname"
_OWNER: Final = "'s "


class GivenName(NamedTuple):
    """A name that a speaker gave to themselves. A nickname tells nobody apart: people give another one each time."""

    conversation: str
    speaker: str
    name: str
    is_nickname: bool = False


class People:
    """The people of a namespace, by what speakers call themselves, the oldest names first. A person is known by a text
    that stands for no other person: `user`, or a name in lower case.
    """

    def __init__(self, given: Iterable[GivenName] = ()) -> None:
        self._names: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        self._nicknames: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        found = [one._replace(speaker=self.label(one.speaker).lower()) for one in given]
        for one in found:
            by_place = self._nicknames if one.is_nickname else self._names
            by_place[one.speaker, one.conversation].append(one.name)
        users = {_first(name) for (speaker, _), names in self._names.items() if speaker == USER for name in names}
        self._several_users = len(users) > 1 and self._are_apart()
        called: defaultdict[str, set[str]] = defaultdict(set)
        for one in found:
            person = self.speaker(one.speaker, one.conversation)
            for alias in (one.name.lower(), _first(one.name)):
                called[alias].add(person)
        self._called = {alias: persons.pop() for alias, persons in called.items() if len(persons) == 1}

    def _are_apart(self) -> bool:
        """Whether two conversations give the user names that have nothing in common."""
        groups = [{_first(name) for name in names} for (speaker, _), names in self._names.items() if speaker == USER]
        return any(one.isdisjoint(other) for one in groups for other in groups)

    @staticmethod
    def label(speaker: str) -> str:
        """As facts call a speaker of whom no name is known."""
        if is_user_role(speaker):
            return USER
        return ASSISTANT if is_assistant_role(speaker) else speaker

    def speaker(self, speaker: str, conversation: str) -> str:
        """The person who speaks there under this name."""
        label = self.label(speaker).lower()
        if label == USER and self._several_users:
            names = self._names.get((USER, conversation))
            return f"{USER} {_first(names[0])}" if names else USER
        return label

    def subject(self, subject: str, conversation: str) -> str:
        """The person, or the thing of a person, that a statement of this conversation is about."""
        owner, apostrophe, thing = subject.partition(_OWNER)
        label = self.label(owner).lower()
        person = self._called.get(label) or self.speaker(label, conversation)
        return f"{person}{apostrophe}{thing.lower()}"

    def names_of(self, person: str) -> frozenset[str]:
        """Every name that a person is known by and nobody else, in lower case."""
        return frozenset((person, *(alias for alias, called in self._called.items() if called == person)))

    def is_own(self, subject: str, speaker: str, conversation: str) -> bool:
        """Whether somebody speaks of themselves, or of what is theirs."""
        owner = self.subject(subject.partition(_OWNER)[0], conversation)
        return owner in {self.subject(speaker, conversation), ASSISTANT}

    def name(self, speaker: str, conversation: str) -> str:
        """How facts call a speaker: by the name that they have or gave, else by their role."""
        label = self.label(speaker)
        if label != USER:
            return label
        person = self.speaker(USER, conversation)
        for given in (self._names, self._nicknames):
            here = given.get((USER, conversation))
            if here:
                return here[-1]
            there = [
                names[-1]
                for (other, place), names in given.items()
                if other == USER and self.speaker(USER, place) == person
            ]
            if there:
                return there[-1]
        return label


def is_by_program(message: Record) -> bool:
    """Whether an assistant, a tool or a system says it."""
    return is_no_person(str(message.metadata.get(ROLE, "")))


def is_of_session(message: Record) -> bool:
    """Whether it was said in a session of a coding agent: that names its project."""
    return message.source_project is not None


def is_tool_use(message: Record) -> bool:
    """Whether a hook tells what a session did with its tools."""
    named = (message.metadata.get(ROLE), message.metadata.get(SPEAKER))
    return is_of_session(message) and named == (TOOL_ROLE, TOOL_SPEAKER)


def _first(name: str) -> str:
    return name.partition(" ")[0].lower()

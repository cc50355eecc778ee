"""Speakers that are roles, and who is meant by a question that names nobody: who asks is `I`, the other is `you`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from perdure.text.patterns import pattern

Role: TypeAlias = Literal["user", "assistant"]

# Speakers that are no people but sides of a conversation.
ROLES: Final[Mapping[str, Role]] = {
    "human": "user",
    "user": "user",
    "agent": "assistant",
    "ai": "assistant",
    "assistant": "assistant",
    "bot": "assistant",
    "chatbot": "assistant",
    "model": "assistant",
}
# What these say is about a task, or comes from a program.
_NO_PEOPLE: Final = frozenset(("developer", "function", "operator", "system", "tool"))


def is_user_role(speaker: str) -> bool:
    return ROLES.get(speaker.casefold()) == "user"


def is_assistant_role(speaker: str) -> bool:
    return ROLES.get(speaker.casefold()) == "assistant"


def is_no_person(role: str) -> bool:
    """Whether no person speaks in this role."""
    return is_assistant_role(role) or role.casefold() in _NO_PEOPLE


_FIRST_PERSON: Final = pattern(
    r"\b(?:i|i['’](?:d|ll|m|ve)|me|mine|my|myself|our|ours|us|we|we['’](?:d|ll|re|ve)"  # noqa: RUF001 - as it is written
    r"|ich|mein\w{0,2}|mich|mir|uns\w{0,3}|wir|je|j['’]ai|moi|mon|mes|nous|nos|yo|mi|mis|nuestr[ao]s?)\b",  # noqa: RUF001
    re.IGNORECASE,
)
# What an assistant does with words. `You` alone may be anybody.
_ASKS_WHAT_YOU_SAID: Final = pattern(
    r"\b(?:you|your)\b.{0,40}\b(?:advi[cs]e|answer|describ|explain|gave|give|list|mention|propos|provid|recommend|said"
    r"|say|suggest|tell|told)|\byour\s+(?:advice|answer|explanation|list|recommendation|suggestion|tips?)",
    re.IGNORECASE,
)


def meant_roles(question: str) -> frozenset[Role]:
    """Whose words are asked for: those of the assistant, where the question asks what it said; or else those of the
    user, who asks and says `I`.
    """
    if _ASKS_WHAT_YOU_SAID.search(question):
        return frozenset(("assistant",))
    return frozenset(("user",)) if _FIRST_PERSON.search(question) else frozenset()

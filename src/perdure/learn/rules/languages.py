"""The rules that read statements, one set for each language: what they give, and where they are found.

English is built in. Any installed package brings another language: an entry point of the group `perdure.languages`,
named as the language is (`de`), leads to an object or a module with what `LanguageRules` names: docs/consolidation.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

from perdure.providers.plugins import LANGUAGES, load, provider_names
from perdure.text.keywords import extract_keywords
from perdure.text.question_share import QUESTION_MARKS
from perdure.text.sentences import sentences

Category: TypeAlias = Literal["anti-patterns", "heuristics", "patterns"]

BUILT_IN: Final = "en"
LEAST_WORTH: Final = 0.26
"""What is worth less says little: promises, vague plans, and who they are about is not clear."""

_ADDED_DATES: Final = re.compile(r" \((?:from )?[0-9]{4}[^)]*\)")
# Commas, semicolons, colons, also those of Chinese and Japanese; dashes between spaces.
_COMMAS: Final = re.compile(r"[,;:\u3001\uff0c\uff1b\uff1a]+(?=\s|[^\x00-\x7f])|\s[-\u2013\u2014]\s")
_CHANGING: Final = frozenset(("identity", "preference", "guideline"))


@dataclass(frozen=True, slots=True)
class Statement:
    """`slot` is what of the subject it tells (`lives_in`, `likes:sushi`): a later statement with the same subject and
    slot, and another value or the opposite of `affirmed`, takes its place. One with an empty slot tells what happened,
    and nothing takes its place. `dated`: it says when.
    """

    fact: str
    category: str
    subject: str
    slot: str
    value: str
    affirmed: bool
    valid_at: datetime
    dated: bool
    confidence: float
    speaker: str

    @property
    def keywords(self) -> tuple[str, ...]:
        return extract_keywords(self.fact)

    @property
    def may_change(self) -> bool:
        """Whether somebody may say otherwise one day: about themselves, what they like, whom they have one of, and what
        an assistant should do.
        """
        is_only = self.category == "relationship" and ":" not in self.slot
        return self.slot != "" and (not self.affirmed or is_only or self.category in _CHANGING)


class ProjectRule(NamedTuple):
    """What holds for a project. `text` stands alone; `said` are the words of the person."""

    text: str
    title: str
    category: Category
    confidence: float
    said: str


class LanguageRules(Protocol):
    """What the rules of one language read: pure functions of a text, none of which raises an error. Whoever inherits
    from it has to write the first two; the others read nothing until they are written.
    """

    def reads(self, text: str) -> bool:
        """Whether a text is in this language."""
        ...

    def statements(self, text: str, speaker: str, at: datetime, *, listener: str = "assistant") -> list[Statement]:
        """What the speaker tells in one message, in order. `at` is when it was said. Instructions become guidelines
        only where the listener is a role, as `assistant` is, and no person.
        """
        ...

    def worth(self, statement: Statement) -> float:
        """From 0 to 1: how much it tells in particular. What is below `LEAST_WORTH` is not kept."""
        return statement.confidence

    def plain_value(self, value: str) -> str:
        """As values of slots are compared: in lower case and without articles."""
        return value.lower()

    def in_third_person(self, text: str, speaker: str, listener: str) -> str:
        """What somebody says of themselves, told of them."""
        del listener
        return f"{speaker}: {text}"

    def sounds_like_change(self, text: str) -> bool:
        """Whether it has a word with which changes are told. It spares the judge most of what is said."""
        del text
        return False

    def tells_change(self, text: str) -> bool:
        """Whether it says that something is otherwise than before."""
        del text
        return False

    def is_doubtful(self, text: str) -> bool:
        """Whether it tells of another time, or of what may be."""
        del text
        return False

    def happened_once(self, fact: str) -> bool:
        """Whether a fact tells what happened, and not what has held since: that stays true, whatever happens later."""
        del fact
        return False

    def is_permanent(self, relation: str) -> bool:
        """Whether somebody was born as that, such as `daughter` or `sisters`."""
        del relation
        return False

    def project_rules(self, message: str, project: str | None = None, asked: str = "") -> list[ProjectRule]:
        """What a person tells a coding agent that holds for the project. `asked` is what they had asked for before."""
        del message, project, asked
        return []

    def without_rules(self, message: str) -> str:
        """What a person wrote in a message besides rules and what they pasted."""
        return message


@lru_cache(maxsize=1)
def languages() -> tuple[LanguageRules, ...]:
    """English first; the others in the order of their names."""
    from perdure.learn.rules import english

    others = (name for name in provider_names(LANGUAGES) if name != BUILT_IN)
    return english, *(load(LANGUAGES, name) for name in others)


def rules_for(text: str) -> LanguageRules:
    """Those of the language that a text is in. English, where no language is certain: its rules find nothing then."""
    first, *others = languages()
    if not others or first.reads(text):
        return first
    return next((one for one in others if one.reads(text)), first)


def parts_of(text: str, is_whole: Callable[[str], bool]) -> list[str]:
    """What a message says one after the other, without questions: sentences, and in English the clauses of those that
    are not `is_whole`.
    """
    from perdure.learn.rules.english.speech_acts import clauses

    first = languages()[0]
    is_english = first.reads(text)
    found: list[str] = []
    for sentence in sentences(text):
        if is_english and (sentence.endswith(QUESTION_MARKS) or not is_whole(sentence)):
            found += [clause.spoken for clause in clauses(sentence, "assistant") if not clause.asks]
        elif not sentence.rstrip().endswith(QUESTION_MARKS):
            found += [sentence] if is_whole(sentence) else _at_commas(sentence)
    return found


def _at_commas(sentence: str) -> list[str]:
    """A long sentence at its commas, in a language whose clauses nobody reads."""
    return [piece for part in _COMMAS.split(sentence) if (piece := part.strip())]


def choose(messages: Sequence[Sequence[Statement]], least: float = LEAST_WORTH) -> list[tuple[int, Statement]]:
    """The statements of these messages that are worth keeping, each with the position of its message, in order. A fact
    that is told again counts once.

    What may be corrected, or corrects something, is never left out, so that an older statement cannot stand because a
    newer one was worth less. For the same reason no number of facts is the most that is kept: what is left out because
    others were better might be what ends one of them.
    """
    known: set[str] = set()
    kept: list[tuple[int, Statement]] = []
    for position, found in enumerate(messages):
        for one in found:
            if one.fact not in known and (one.may_change or rules_for(one.fact).worth(one) >= least):
                known.add(one.fact)
                kept.append((position, one))
    return kept


def without_dates(text: str) -> str:
    """A fact without the dates that were added to it for words such as `yesterday`."""
    return _ADDED_DATES.sub("", text)

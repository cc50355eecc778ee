"""Which statements are worth keeping: those that tell what somebody may ask for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import exp, log1p
from typing import Final

from perdure.learn.english_verbs import MODALS, is_past
from perdure.learn.kin import RELATIONS
from perdure.learn.moods import MOODS
from perdure.learn.statements import Statement
from perdure.learn.substance import says_what_changed
from perdure.text.keyword_words import FUNCTION_WORDS

LEAST_WORTH: Final = 0.26
"""What is worth less says little: promises, vague plans, and who they are about is not clear."""

_WORD: Final = re.compile(r"\w+(?:['-]\w+)*")
_DATES: Final = re.compile(r" \(\d{4}[^)]*\)")
_NAMING: Final = frozenset(("named", "called", "name"))
_UNCLEAR: Final = frozenset("it it'd it's them these they they're this those".split())
_ENOUGH: Final = 3
_CHANGING: Final = frozenset(("identity", "preference", "guideline"))
# What happened and what has a name is asked for, plans and moods rarely.
_CATEGORIES: Final = {
    "guideline": 1.5, "relationship": 0.3, "interest": 0.2, "identity": 0.1, "preference": -0.1, "personality": -0.3,
    "experience": -0.4, "goal": -0.7,
}  # fmt: skip


def worth(statement: Statement) -> float:
    """From 0 to 1: how much it tells in particular. Names, numbers, times and people count for it, moods and pronouns
    against it.
    """
    body = _DATES.sub("", statement.fact.replace(statement.speaker, "").replace(statement.subject, ""))
    spelled = _WORD.findall(body)
    words = {word.lower() for word in spelled}
    moods = words & MOODS
    content = words - FUNCTION_WORDS["en"] - moods
    begins = not statement.fact.startswith((statement.speaker, statement.subject))
    names = sum(word[0].isupper() for word in spelled[begins:])
    score = (
        _CATEGORIES[statement.category]
        + 0.5 * statement.confidence
        + 0.3 * log1p(len(content))
        + 0.8 * min(names, _ENOUGH) / _ENOUGH
        + 0.4 * any(word[0].isdigit() for word in spelled)
        + 1.0 * statement.dated
        + 0.6 * (not words.isdisjoint(_NAMING))
        + 0.3 * ('"' in body)
        + 0.5 * any(map(is_past, words))
        + 0.3 * (not words.isdisjoint(RELATIONS))
        + 0.4 * says_what_changed(body)
        - 0.3 * (not words.isdisjoint(MODALS))
        - 0.4 * min(len(moods), _ENOUGH) / _ENOUGH
        - 0.5 * (bool(moods) and len(content) < _ENOUGH and not statement.slot and not statement.dated and not names)
        - 0.4 * (not words.isdisjoint(_UNCLEAR))
        - 1
    )
    return 1 / (1 + exp(-score))


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
            if one.fact not in known and (may_change(one) or worth(one) >= least):
                known.add(one.fact)
                kept.append((position, one))
    return kept


def may_change(statement: Statement) -> bool:
    """Whether somebody may say otherwise one day: about themselves, what they like, whom they have one of, and what an
    assistant should do.
    """
    is_only = statement.category == "relationship" and ":" not in statement.slot
    return statement.slot != "" and (not statement.affirmed or is_only or statement.category in _CHANGING)

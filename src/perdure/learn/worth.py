"""Which statements are worth keeping: those that tell what somebody may ask for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from heapq import nlargest
from math import exp, log1p
from typing import Final

from perdure.learn.english_verbs import MODALS, is_past
from perdure.learn.kin import RELATIONS
from perdure.learn.moods import MOODS
from perdure.learn.statements import Statement
from perdure.text.keyword_words import FUNCTION_WORDS

MOST_FACTS: Final = 30
"""How many statements of a hundred messages are kept."""

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
    begins = not statement.fact.startswith((statement.speaker, statement.subject))
    names = sum(word[0].isupper() for word in spelled[begins:])
    score = (
        _CATEGORIES[statement.category]
        + 0.5 * statement.confidence
        + 0.3 * log1p(len(words - FUNCTION_WORDS["en"] - moods))
        + 0.8 * min(names, _ENOUGH) / _ENOUGH
        + 0.4 * any(word[0].isdigit() for word in spelled)
        + 1.0 * statement.dated
        + 0.6 * (not words.isdisjoint(_NAMING))
        + 0.3 * ('"' in body)
        + 0.5 * any(map(is_past, words))
        + 0.3 * (not words.isdisjoint(RELATIONS))
        - 0.3 * (not words.isdisjoint(MODALS))
        - 0.4 * min(len(moods), _ENOUGH) / _ENOUGH
        - 0.4 * (not words.isdisjoint(_UNCLEAR))
        - 1
    )
    return 1 / (1 + exp(-score))


def choose(messages: Sequence[Sequence[Statement]], most: int = MOST_FACTS) -> list[tuple[int, Statement]]:
    """Of the statements of these messages the best, `most` for a hundred messages, each with the position of its
    message, in order. The second of a message counts half, the third a quarter; a fact that is told again counts once.

    What may be corrected, or corrects something, is never left out, so that an older statement cannot stand because a
    newer one was worth less. It takes the place of others, but of no more than half of them.
    """
    offered: list[tuple[float, int, int]] = []
    kept: list[tuple[float, int, int]] = []
    known: set[str] = set()
    for position, found in enumerate(messages):
        share = 1.0
        for value, number in sorted(((worth(one), -number) for number, one in enumerate(found)), reverse=True):
            one = found[-number]
            if one.fact not in known:
                known.add(one.fact)
                (kept if may_change(one) else offered).append((value * share, -position, number))
                share /= 2
    room = max(1, len(messages) * most // 100)
    best = kept + nlargest(max(room - len(kept), (room + 1) // 2), offered)
    return [
        (-position, messages[-position][-number])
        for _, position, number in sorted(best, key=lambda row: (-row[1], -row[2]))
    ]


def may_change(statement: Statement) -> bool:
    """Whether somebody may say otherwise one day: about themselves, what they like, whom they have one of, and what an
    assistant should do.
    """
    is_only = statement.category == "relationship" and ":" not in statement.slot
    return statement.slot != "" and (not statement.affirmed or is_only or statement.category in _CHANGING)

"""Which statements are worth keeping: those that tell what somebody may ask for."""

from __future__ import annotations

import re
from math import exp, log1p
from typing import Final

from perdure.learn.rules.english.kin import RELATIONS
from perdure.learn.rules.english.moods import MOODS
from perdure.learn.rules.english.substance import says_what_changed
from perdure.learn.rules.english.verbs import MODALS, is_past
from perdure.learn.rules.languages import Statement
from perdure.text.keyword_words import FUNCTION_WORDS

_WORD: Final = re.compile(r"\w+(?:['-]\w+)*")
_DATES: Final = re.compile(r" \(\d{4}[^)]*\)")
_NAMING: Final = frozenset(("named", "called", "name"))
_UNCLEAR: Final = frozenset("it it'd it's them these they they're this those".split())
_ENOUGH: Final = 3
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

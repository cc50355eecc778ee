"""What a text tells in particular, because a question mostly asks for it: names, and when something was."""

from __future__ import annotations

import re
from typing import Final

from perdure.text.patterns import pattern

# Words that tell a time by themselves. Months and years are left out: they stand in the index of every dated memory.
WORDS_THAT_TELL_WHEN: Final = (
    "yesterday today tonight tomorrow ago week weekend month year "
    "monday tuesday wednesday thursday friday saturday sunday"
).split()

# A capital letter that does not begin a sentence. Beginning with the space makes it twice as quick to look for.
_NAME: Final = pattern(r" (?<=[^.!?:] )(?!I\b)[A-ZÀ-ÖØ-ÞΑ-ΩА-Я]\w+")
_ASKS_WHEN: Final = pattern(
    r"^\W*(?:and |but |so )?(?:since |until )?when\b|\bhow long\b|\b(?:what|which) (?:date|day|week|month|year)\b"
    r"|\bwhen (?:am|are|can|could|did|do|does|had|has|have|is|should|was|were|will|would)\b",
    re.IGNORECASE,
)


def holds_name(text: str) -> bool:
    """In a language that writes other words with a capital letter, too, these count as well."""
    return _NAME.search(text) is not None


def asks_when(question: str) -> bool:
    return _ASKS_WHEN.search(question) is not None

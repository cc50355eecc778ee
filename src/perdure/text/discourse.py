"""Words of a question that say only that something was said or done: `what did we talk about`, `remind me of it`.

A question that has nothing but these and a time asks for that time.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from perdure.text.stopwords import STOPWORDS
from perdure.text.words import all_words, terms

# Each stands for all forms of it: to talk, to remember, to happen; then what is talked about; then what only fills a
# sentence.
_LIGHT_WORDS: Final = """
    ask bring brought came chat chatted come conversation cover describe discuss explain gave give happen hear heard
    know let list mention note occur recall recap remember remind review revisit said say session share show speak spoke
    spoken sum summarise summarize summary talk telling told touch want
    anything bit bunch couple detail everything gist highlight idea item kind lot matter overview part point rundown
    something sort stuff subject takeaway thing topic type whatever
    again all almost also any back down during earlier else entire ever every exactly far few full hello hey hi just
    main more nearly now oh ok okay only other out over previously quick quickly really some thanks through time up
    various whole
"""
# Words that say so little only together: `work` alone may be what is asked about.
_PHRASES: Final = re.compile(
    r"\b(?:(?:deal[ts]?|end(?:ed)?|g[eo]t|go(?:es|ing|ne)?|went|work(?:ed|ing)?)\s+(?:about|back|into|on|over|through|up"
    # The time that follows may have taken the `on`: `what was going on last week`.
    r"|with)|(?:going|work(?:ed|ing)|new)(?=\W*$)|g[eo]t\s+done|t(?:ake|ook)\s+place|at\s+that\s+time|back\s+then"
    r"|between\s+us|with\s+each\s+other|memor(?:y|ies)\s+(?:of|from)|catch\s+(?:me\s+)?up|fill\s+me\s+in|up\s+to\s+speed"
    r"|key\s+(?:points?|topics?|things)|walk\s+me\s+through|like\s+to|w(?:as|ere)\s+(?:it\s+)?like(?=\W*$)|refresh\s+my\s+memory|how\s+much\s+do\s+you|have\s+a\s+look)\b",
    re.IGNORECASE,
)
_SAID: Final = "said|told|mentioned|talked|discussed|chatted|spoken?"
# `Can you tell me` only asks, who `had to say goodbye` took leave; of `did she mention doing` and `did she say that`
# the time may be that of what is told; `did I tell you about` and `we discussed` are about what was said.
_ASKS_WHAT_WAS_SAID: Final = re.compile(
    r"\b(?:(?:did|have|has|had)\s+(?!to\b)\w+(?:\s+and\s+\w+)?\s+"
    rf"(?:say|tell|mention|talk|discuss|chat|speak|{_SAID})|(?:i|we|you|he|she|they)\s+(?:{_SAID}))"
    r"\b(?!\s+(?:that|\w+ing)\b)",
    re.IGNORECASE,
)
# These ask for something in particular: a place, a person, a reason.
ASKING_WORDS: Final = frozenset("where who whom whose why how when".split())


@cache
def _light_stems() -> frozenset[str]:
    return frozenset(terms(_LIGHT_WORDS))


def asks_what_was_said(text: str) -> bool:
    """Whether a question is about what somebody said, and not about what happened."""
    return _ASKS_WHAT_WAS_SAID.search(text) is not None


def content_words(text: str) -> tuple[str, ...]:
    """The words of a question that say what it is about, in order; where it asks for something in particular, also the
    word that asks.
    """
    words = all_words(_PHRASES.sub(" ", text))
    telling = [word for word in words if word in ASKING_WORDS or word not in STOPWORDS]
    return tuple(word for word in telling if not _light_stems().issuperset(terms(word)))

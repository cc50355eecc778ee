"""The words with which people say that something is over, that it may be, and that it happened once."""

from __future__ import annotations

import re
from typing import Final

from perdure.learn.rules.english.verbs import is_past
from perdure.learn.rules.languages import without_dates

_CHANGE_WORDS: Final = frozenset(
    """
    again anymore any cancelled canceled changed closed different done ended finally finished fine gone history instead
    isn't left longer lost moved never new no not now off old over postponed quit rang replaced retired scrap since
    sold stopped swapped switched these used was wasn't won't
    """.split()
)
_CHANGES: Final = re.compile(
    r"\b(?:after all|any ?more|any longer|became|broke up|called off|cancel\w*|changed|closed|dead|died|dropp(?:ed|ing)"
    r"|fell through|from now on|g[aio]v\w+ up|gone|instead|joined|left|moved|moving|no longer|no more|pushed|quit"
    r"|rather than|replac\w*|retired|scrap\w*|sold|split up|stopped|swap\w*|switch\w*|turn(?:s|ed) out)\b",
    re.IGNORECASE,
)
_DOUBTFUL: Final = re.compile(
    r"\b(?:almost|as soon as|could|for the first time|going to|gonna|if|in (?:19|20)\d\d|last year|maybe|might|nearly"
    r"|next|soon|thinking|used to|will|would|years ago|yesterday)\b",
    re.IGNORECASE,
)
# Among its first words a fact has its verb.
_EARLY: Final = 8
_PRESENT: Final = frozenset("are can can't doesn't has hasn't have is isn't may should will won't".split())
_BEGINS_TO_HOLD: Final = frozenset(
    """
    accepted adopted agreed applied became began booked bought changed chose closed decided enrolled finished found gave
    got had hired inherited joined kept left lived lost made married met moved opened ordered owned paid passed picked
    planned promised quit rented replaced reserved retired set settled signed sold started stopped switched used was
    went were worked
    """.split()
)
# Of these, what is dated happened then: `went to a fair yesterday (2023-05-07)`.
_MOMENTARY: Final = frozenset("found gave got had made met was went were".split())


def sounds_like_change(text: str) -> bool:
    return not _CHANGE_WORDS.isdisjoint(word.strip(".,!?;:").lower() for word in text.split())


def tells_change(text: str) -> bool:
    return _CHANGES.search(text) is not None


def is_doubtful(text: str) -> bool:
    return _DOUBTFUL.search(text) is not None


def happened_once(fact: str) -> bool:
    for word in fact.lower().replace(",", " ").split()[1:_EARLY]:
        if word in _PRESENT:
            return False
        if is_past(word):
            return word not in _BEGINS_TO_HOLD or (word in _MOMENTARY and without_dates(fact) != fact)
    return False

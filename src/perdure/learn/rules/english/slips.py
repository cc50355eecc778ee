"""What somebody corrects in the same breath: `at the Ritz — no wait, it's the Savoy` is at the Savoy."""

from __future__ import annotations

import re
from typing import Final

_SLIP: Final = re.compile(
    r"[\s,.–—-]+(?:no,? wait|oh wait|wait,? no|wait|no,? sorry|sorry|i mean|i meant|make that|scratch that|correction"  # noqa: RUF001
    r"|er+|uh+|no)[\s,.:–—-]+(?:(?:no|sorry|i mean),? )?(?:it's |it is |it was |make that |that's |i meant )?"  # noqa: RUF001
    r"(?P<right>[^,.;!?–—]{1,40}?)(?=\s*(?:[.,;!]|$))",  # noqa: RUF001
    re.IGNORECASE,
)
_MARKS: Final = re.compile(r"\b(?:no|sorry|wait|mean|meant|make that|scratch|correction|er+|uh+)\b", re.IGNORECASE)
_NUMBER: Final = r"[$€£]?\d[\d.,:]*(?:st|nd|rd|th)?(?: ?[ap]\.?m\b)?"
_DAY: Final = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august|september|october"
    r"|november|december"
)
_NAME: Final = r"(?-i:[A-Z])[\w'-]*(?: (?-i:[A-Z])[\w'-]*)*"
# What takes the place of what: the last of its kind that was said before.
_KINDS: Final = tuple(
    re.compile(kind, re.IGNORECASE)
    for kind in (
        rf"(?:the )?{_NUMBER}(?: of (?:{_DAY}))?",
        rf"(?:{_DAY})",
        rf"the {_NAME}",
        r"the [\w-]+(?: [\w-]+)?",
        _NAME,
    )
)


def without_slips(sentence: str) -> str:
    """The sentence with what was meant in the place of what was said, where it is plain what that is."""
    if not _MARKS.search(sentence):
        return sentence
    slip = _SLIP.search(sentence)
    if slip is None:
        return sentence
    before, right = sentence[: slip.start()], slip["right"].strip().removeprefix("on ")
    for kind in _KINDS:
        if kind.fullmatch(right) and (said := list(kind.finditer(before))):
            last = said[-1]
            if last.start() > 0:
                return before[: last.start()] + right + before[last.end() :] + sentence[slip.end() :]
    return sentence

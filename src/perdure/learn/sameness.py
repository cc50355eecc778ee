"""Whether two texts say the same: by the cosine of their vectors, and by what the words have against it.

At a cosine of .90 and more, 6 % of the pairs of SICK contradict each other: `The door is open` and `The door is closed`
have nearly the same vector. So what a cosine would take for one is looked at again, word by word, and whatever is
in doubt stays two.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from perdure.learn.claim import read_claim
from perdure.learn.differences import Weight, differences, shared_words

# S4: above the one two texts are always merged, below the other never.
ALWAYS: Final = 0.9
NEVER: Final = 0.2
# S2: from here on a new fact is one that is known already.
DUPLICATE: Final = 0.95
# Share of the words that two statements about one thing have in common, where no cosine tells.
_ONE_SUBJECT: Final = 2 / 3


class Verdict(StrEnum):
    """CONFLICTS: both are about one thing, and cannot both be true now: perhaps the newer one corrects the older."""

    SAME = "same"
    UNDECIDED = "undecided"
    CONFLICTS = "conflicts"
    DIFFERENT = "different"


class Sameness(NamedTuple):
    """The verdict, and in words what speaks against taking the two for one."""

    verdict: Verdict
    reasons: tuple[str, ...] = ()


def merge_verdict(
    first: str, second: str, cosine: float | None, *, always: float = ALWAYS, never: float = NEVER
) -> Sameness:
    """For two memories that may become one which holds the words of both. `always` and `never` themselves belong to the
    middle, where somebody else decides. Without a cosine only equal texts are the same.
    """
    alike, unlike = cosine is not None and cosine > always, cosine is not None and cosine < never
    return _verdict(first, second, alike=alike, unlike=unlike, allowed=frozenset((Weight.DETAIL,)))


def duplicate_verdict(first: str, second: str, cosine: float | None, *, at_least: float = DUPLICATE) -> Sameness:
    """For a new text that may be left out because an older one says all of it: here a name more is in the way, too."""
    alike = cosine is not None and cosine >= at_least
    return _verdict(first, second, alike=alike, unlike=False, allowed=frozenset())


def _verdict(first: str, second: str, *, alike: bool, unlike: bool, allowed: frozenset[Weight]) -> Sameness:
    if normal_form(first) == normal_form(second):
        return Sameness(Verdict.SAME)
    if unlike:
        return Sameness(Verdict.DIFFERENT)
    one, other = read_claim(first), read_claim(second)
    found = [difference for difference in differences(one, other) if difference.weight not in allowed]
    reasons = tuple(difference.reason for difference in found)
    contrary = any(difference.weight is Weight.CONTRARY for difference in found)
    if contrary and (alike or shared_words(one, other) >= _ONE_SUBJECT):
        return Sameness(Verdict.CONFLICTS, reasons)
    return Sameness(Verdict.UNDECIDED if found or not alike else Verdict.SAME, reasons)


def normal_form(text: str) -> str:
    """Case, white space and the full stop at the end do not count."""
    return " ".join(text.lower().split()).rstrip(".。")

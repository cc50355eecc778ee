"""Who does what to whom, where and when: what the order of words, prepositions and pronouns say of it, in English."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from perdure.learn.claim import Claim
from perdure.text.stopwords import STOPWORDS

# What somebody said is told in the past whenever it is true.
REPORTING: Final = frozenset(("said", "say", "says", "told"))
_BE: Final = frozenset(("am", "are", "be", "been", "being", "get", "gets", "got", "is", "was", "were"))
# Words that stand anywhere without changing who does what.
LOOSE: Final = REPORTING | frozenset(
    """
    a also an and be been being did do does had has have her his it its just my or our some that the their there which
    who whom whose your
    """.split()
)
# So many words in reverse, as in `Ann called Bob` and `Bob called Ann`, are no phrase that moved; but where most of a
# long sentence moved, it was told in another way.
_REVERSED: Final = 3
_MOST_MOVED: Final = 1 / 3
_FEW_MOVED: Final = 3

# Prepositions of one line mean the same of a thing; what a line excludes stands behind it.
_PLACES_AND_TIMES: Final = """
    in: in inside into within
    on: on onto upon atop on_top_of
    under: under below beneath underneath
    over: over above
    behind: behind in_back_of
    front: in_front_of
    beside: beside next_to alongside
    opposite: across_from opposite
    outside: outside out_of
    around: around
    through: through
    to: to toward towards
    from: from since starting
    before: before
    after: after
    during: during
    until: until till up_to
    with: with
    without: without
    for: for
    against: against
    other: about across against along among at between by despite like near of off past per than via versus
"""
_EXCLUDING: Final = """
    in under, in behind, in outside, in front, in beside, in opposite,
    on under, on behind, on beside, on front,
    under over, under behind, under beside, under front, under outside,
    over behind, over beside, over front,
    behind front, behind beside, behind opposite, front beside, beside opposite,
    around through, until from, until after, before after, before during, after during, before from,
    with without, for against
"""
_KIND_OF: Final = {
    preposition: line.partition(":")[0].strip()
    for line in _PLACES_AND_TIMES.strip().splitlines()
    for preposition in line.partition(":")[2].split()
}
_FIRST_WORDS: Final = frozenset(preposition.partition("_")[0] for preposition in _KIND_OF)
_EXCLUDED: Final = frozenset(frozenset(pair.split()) for pair in _EXCLUDING.split(","))
_LONGEST_PREPOSITION: Final = 3
# What a preposition stands before ends here.
_ENDS_A_PHRASE: Final = frozenset("and are but is or that was were which who will".split())
_LONGEST_PHRASE: Final = 4

_PERSONS: Final = {
    "i": ("i", "does"), "me": ("i", "undergoes"), "we": ("we", "does"), "us": ("we", "undergoes"),
    "he": ("he", "does"), "him": ("he", "undergoes"), "she": ("she", "does"), "her": ("she", "undergoes"),
    "they": ("they", "does"), "them": ("they", "undergoes"),
}  # fmt: skip


class Contrast(NamedTuple):
    """The words of either text that exclude each other."""

    first: tuple[str, ...]
    second: tuple[str, ...]


def prepositions(claim: Claim) -> dict[str, dict[str, str]]:
    """For each stem the prepositions it stands behind, by their kind, as they were written."""
    found: dict[str, dict[str, str]] = {}
    words = claim.words
    at, preposition, length = 0, "", 0
    while at < len(words):
        size = 0
        if words[at] in _FIRST_WORDS:
            sizes = range(_LONGEST_PREPOSITION, 0, -1)
            size = next((size for size in sizes if "_".join(words[at : at + size]) in _KIND_OF), 0)
        if size:
            preposition, length = "_".join(words[at : at + size]), 0
        elif words[at] in _ENDS_A_PHRASE:
            preposition = ""
        elif preposition and words[at] not in STOPWORDS and length < _LONGEST_PHRASE:
            found.setdefault(claim.stems[at], {})[_KIND_OF[preposition]] = preposition.replace("_", " ")
            length += 1
        at += size or 1
    return found


def contrary_prepositions(first: Claim, second: Claim) -> Iterator[Contrast]:
    """`under` and `on` before the same word."""
    before, after = prepositions(first), prepositions(second)
    told: set[Contrast] = set()
    for stem in before:
        if stem not in after or first.counts[stem] != 1 or second.counts[stem] != 1:
            continue
        one, other = before[stem], after[stem]
        for kind in sorted(one.keys() - other.keys()):
            for against in sorted(other.keys() - one.keys()):
                contrast = Contrast((one[kind],), (other[against],))
                if frozenset((kind, against)) in _EXCLUDED and contrast not in told:
                    told.add(contrast)
                    yield contrast


def swapped_persons(first: Claim, second: Claim) -> Contrast | None:
    """`I` in the one and `me` in the other, as in `I owe my aunt` and `My aunt owes me`; unless the voice turned it."""
    if (_passive(first) is None) != (_passive(second) is None):
        return None
    roles = _persons(first), _persons(second)
    for person in sorted(roles[0].keys() & roles[1].keys()):
        one, other = roles[0][person], roles[1][person]
        if len(one) == 1 == len(other) and one.keys() != other.keys():
            return Contrast(tuple(one.values()), tuple(other.values()))
    return None


def _persons(claim: Claim) -> dict[str, dict[str, str]]:
    """What each person of the text does, by pronoun. `her` before a word that tells something is whose it is."""
    found: dict[str, dict[str, str]] = {}
    for word, following in pairwise((*claim.words, "the")):
        if word in _PERSONS and not (word == "her" and following not in STOPWORDS):
            person, role = _PERSONS[word]
            found.setdefault(person, {})[role] = word
    return found


def order_differs(first: Claim, second: Claim) -> bool:
    """Whether who does it to whom differs by the order of the words that each has once. What stands behind the same
    preposition in both, and who is said to have said it, may stand anywhere.
    """
    places = {
        stem: place
        for place, (word, stem) in enumerate(zip(first.words, first.stems, strict=True))
        if word not in LOOSE and first.counts[stem] == 1 == second.counts[stem]
    }
    order = [places[stem] for stem in second.stems if stem in places]
    passive = _passive(first), _passive(second)
    if (passive[0] is None) != (passive[1] is None):
        # The order turns round with the voice: here it differs where it stays.
        return _keeps_order(first, second, passive[0], places) or _keeps_order(second, first, passive[1], places)
    if not _is_reversed(order):
        return False
    moving = _freely_placed(first, second)
    order = [places[stem] for stem in second.stems if stem in places and stem not in moving]
    return _is_reversed(order) and len(order) - _longest_rise(order) <= max(_FEW_MOVED, _MOST_MOVED * len(order))


def _is_reversed(order: Sequence[int]) -> bool:
    return _longest_rise([-place for place in order]) >= _REVERSED


def _freely_placed(first: Claim, second: Claim) -> set[str]:
    before, after = prepositions(first), prepositions(second)
    marked = {stem for stem in before if before[stem].keys() == after.get(stem, {}).keys()}
    # They move with what stands behind them.
    own = {
        word for stem in marked for words in (*before[stem].values(), *after[stem].values()) for word in words.split()
    }
    return marked | own | (_who_said(first) & _who_said(second))


def _who_said(claim: Claim) -> set[str]:
    """The words around `said`."""
    return {
        claim.stems[near]
        for at, word in enumerate(claim.words)
        if word in REPORTING
        for near in (at - 1, at + 1)
        if 0 <= near < len(claim.words)
    }


def _passive(claim: Claim) -> tuple[int, int] | None:
    """Where the verb and `by` stand in `was called by Ann`."""
    verb, words = None, claim.words
    for at, word in enumerate(words):
        if word == "by" and at and (verb or words[at - 1].endswith(("ed", "en", "wn"))):
            return verb or at - 1, at
        if word in _BE:
            after = at + 1
            while after < len(words) - 1 and words[after].endswith("ly"):
                after += 1
            if after < len(words) and (word == "being" or not words[after].endswith("ing")):
                verb = after
    return None


def _keeps_order(passive: Claim, active: Claim, at: tuple[int, int] | None, common: Collection[str]) -> bool:
    """Whether subject, verb and agent of the passive sentence stand in the same order in the active one."""
    if at is None:
        return False
    verb, by = passive.stems[at[0]], at[1]
    agent = next((stem for stem in passive.stems[by + 1 :] if stem in common), None)
    if agent is None or verb not in common:
        return False
    place = {stem: at for at, stem in enumerate(active.stems)}
    subjects = (stem for stem in passive.stems[: at[0]] if stem in common)
    return any(place[subject] < place[verb] < place[agent] for subject in subjects)


def _longest_rise(order: Sequence[int]) -> int:
    """The length of the longest increasing subsequence."""
    tails: list[int] = []
    for place in order:
        at = bisect_left(tails, place)
        tails[at : at + 1] = [place]
    return len(tails)

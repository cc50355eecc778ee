"""In which ways two texts that look alike say something else: the guard before they are taken for one.

Denials, numbers, signs and questions are compared in every language. Opposites, modal words and voice are known in
English alone: elsewhere a single word that was replaced is a doubt, because nobody here knows what it does.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from enum import Enum
from typing import Final, NamedTuple

from perdure.learn.claim import Claim
from perdure.text.english import Evidence, evidence_of_english
from perdure.text.figures import numbers_in
from perdure.text.negation import NEGATIONS
from perdure.text.opposites import opposites
from perdure.text.stopwords import STOPWORDS


class Weight(Enum):
    """CONTRARY: both cannot be true of one thing. DOUBT: they may say two things. DETAIL: one of them says more."""

    CONTRARY = "contrary"
    DOUBT = "doubt"
    DETAIL = "detail"


class Difference(NamedTuple):
    """Its kind, a key of `REASONS`, and the words of either text that make it."""

    kind: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    weight: Weight

    @property
    def reason(self) -> str:
        sides = [", ".join(words) for words in (self.first, self.second) if words]
        return f"{REASONS[self.kind]}: {' / '.join(sides)}" if sides else REASONS[self.kind]


REASONS: Final = {
    "negation": "one of them denies it",
    "denied": "they deny different things",
    "number": "the numbers differ",
    "date": "the times differ",
    "name": "the names differ",
    "subject": "the subjects differ",
    "opposite": "these words exclude each other",
    "order": "the same words stand in another order, so that who does it to whom may differ",
    "certainty": "only one of them says it with this word",
    "tense": "only one of them is about the past",
    "sign": "the signs differ",
    "question": "only one of them is a question",
    "language": "these words differ, and their language is not known here",
}
# A claim may be about the thing itself, or say that it may, should, did or will be so.
_MODALS: Final = {
    word: kind
    for kind, words in {
        "possible": "alleged allegedly could likely may maybe might perhaps possibly probably supposedly unlikely",
        "wanted": "want wanted wants",
        "due": "must ought should",
        "ahead": "shall will",
        "ended": "ceased quit quits stop stopped stops",
        "former": "ex former formerly",
        "almost": "almost nearly",
        "only": "only",
        "on condition": "if unless whether",
    }.items()
    for word in words.split()
}
_BEFORE_TO: Final = {"used": "former"} | dict.fromkeys(
    "aim aims hope hoped hopes hoping intend intends need needs plan planned planning plans wish wishes".split(),
    "wanted",
)
_PAST: Final = frozenset(("was", "were"))
_PRESENT: Final = frozenset(("am", "are", "is"))
# What somebody said is told in the past whenever it is true.
_REPORTING: Final = frozenset(("said", "say", "says", "told"))
_BE: Final = frozenset(("am", "are", "be", "been", "being", "get", "gets", "got", "is", "was", "were"))
# Words that stand anywhere without changing who does what.
_LOOSE: Final = _REPORTING | frozenset(
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
_YEARS: Final = frozenset(map(str, range(1900, 2100)))
_OF_A_PEOPLE: Final = ("an", "ean", "ese", "i", "ian", "ish", "n", "ni", "s")
_SHORTEST_PLACE: Final = 3
_VOWELS: Final = tuple("aeioy")
_INITIALS: Final = range(2, 7)


def differences(first: Claim, second: Claim) -> list[Difference]:
    only_first, only_second = first.counts - second.counts, second.counts - first.counts
    return [
        *compare_denials(first, second),
        *compare_numbers(first, second),
        *compare_names(first, second, only_first, only_second),
        *(
            Difference(
                "date" if pair.when else "opposite",
                first.spell(pair.first),
                second.spell(pair.second),
                Weight.CONTRARY,
            )
            for pair in opposites(only_first, only_second)
        ),
        *compare_order(first, second),
        *compare_certainty(first, second),
        *compare_other_words(first, second, only_first, only_second),
    ]


def shared_words(first: Claim, second: Claim) -> float:
    """Of the words that tell something, the share that both have."""
    counts = [
        Counter(
            stem
            for word, stem in zip(one.words, one.stems, strict=True)
            if word not in STOPWORDS and word not in NEGATIONS
        )
        for one in (first, second)
    ]
    return 2 * (counts[0] & counts[1]).total() / ((counts[0] + counts[1]).total() or 1)


def compare_denials(first: Claim, second: Claim) -> Iterator[Difference]:
    denials = (
        tuple(word for word in first.words if word in NEGATIONS),
        tuple(word for word in second.words if word in NEGATIONS),
    )
    if len(denials[0]) != len(denials[1]):
        yield Difference("negation", *denials, Weight.CONTRARY)
    elif denials[0]:
        denied = _denied(first), _denied(second)
        moved = (denied[0] & second.counts.keys()) - denied[1], (denied[1] & first.counts.keys()) - denied[0]
        if all(denied) and any(moved):
            yield Difference("denied", first.spell(*moved[0]), second.spell(*moved[1]), Weight.DOUBT)


def _denied(claim: Claim) -> set[str]:
    """The first word that tells something after each denial."""
    denied: set[str] = set()
    waiting = False
    for word, stem in zip(claim.words, claim.stems, strict=True):
        if word in NEGATIONS:
            waiting = True
        elif waiting and word not in STOPWORDS:
            denied.add(stem)
            waiting = False
    return denied


def compare_numbers(first: Claim, second: Claim) -> Iterator[Difference]:
    """`one` alone may be an article."""
    only = tuple(first.numbers - second.numbers), tuple(second.numbers - first.numbers)
    numbers = {*only[0], *only[1]} - {"1"}
    if numbers:
        is_date = all(":" in number or number in _YEARS for number in numbers)
        yield Difference("date" if is_date else "number", *only, Weight.CONTRARY if all(only) else Weight.DOUBT)


def compare_names(
    first: Claim, second: Claim, only_first: Counter[str], only_second: Counter[str]
) -> Iterator[Difference]:
    """A name that stands where the other text has another one replaces it; else it is a detail."""
    names = _other_names(first, only_first, second), _other_names(second, only_second, first)
    if any(names):
        replaced = _around(first, only_first, {*names[0]}) & _around(second, only_second, {*names[1]})
        yield Difference("name", *names, Weight.CONTRARY if replaced else Weight.DETAIL)
        return
    if not (first.subject and second.subject):
        return
    replaced = first.stems[0] in only_first and second.stems[0] in only_second
    related = first.subject in _forms(second.subject) or second.subject in _forms(first.subject)
    if replaced and not related:
        yield Difference("subject", (first.subject,), (second.subject,), Weight.DOUBT)


def _other_names(claim: Claim, only: Counter[str], other: Claim) -> tuple[str, ...]:
    """The names that the other text does not have, in no form."""
    pairs = zip(claim.words, claim.stems, strict=True)
    names = dict.fromkeys(word for word, stem in pairs if stem in only and stem in claim.names)
    if not names:
        return ()
    initials, others = _initials(claim), set(other.words)
    spelled_out = {
        word
        for short in _in_capitals(other) & initials.keys()
        for word in claim.words[initials[short] : initials[short] + len(short)]
    } | (_in_capitals(claim) & _initials(other).keys())
    return tuple(name for name in names if name not in spelled_out and _forms(name).isdisjoint(others))


def _initials(claim: Claim) -> dict[str, int]:
    """What the first letters of neighbouring words make, such as IBM, and where it begins."""
    letters = "".join(word[0] for word in claim.words)
    return {letters[at : at + length]: at for length in _INITIALS for at in range(len(letters) - length, -1, -1)}


def _in_capitals(claim: Claim) -> set[str]:
    return {word.lower() for word in claim.spelled if word.isupper()}


def _forms(name: str) -> set[str]:
    """The name itself, and what it is with the ending of a people, or without: `iran` and `iranian`, `china` and
    `chinese`.
    """
    roots = {name, *(name.removesuffix(ending) for ending in _OF_A_PEOPLE)}
    roots = {root for root in roots if len(root) >= _SHORTEST_PLACE}
    bare = name[:-1] if name[-1] in _VOWELS and len(name) > _SHORTEST_PLACE else name
    return (
        roots
        | {root + vowel for root in roots - {name} for vowel in _VOWELS}
        | {root + ending for root in (name, bare) for ending in _OF_A_PEOPLE}
    )


def _around(claim: Claim, only: Counter[str], names: Collection[str]) -> set[tuple[str, str]]:
    """The nearest words before and after each of these names that the other text has as well."""
    pairs = list(zip(claim.words, claim.stems, strict=True))
    found: set[tuple[str, str]] = set()
    for side, walk in (("before", pairs), ("after", reversed(pairs))):
        nearest = ""
        for word, stem in walk:
            if word in names:
                found.add((side, nearest))
            elif stem not in only:
                nearest = stem
    return found


def compare_order(first: Claim, second: Claim) -> Iterator[Difference]:
    """The words that each has once, in the order of the second, by their places in the first."""
    places = {
        stem: place
        for place, (word, stem) in enumerate(zip(first.words, first.stems, strict=True))
        if word not in _LOOSE and first.counts[stem] == 1 == second.counts[stem]
    }
    order = [places[stem] for stem in second.stems if stem in places]
    passive = _passive(first), _passive(second)
    if (passive[0] is None) != (passive[1] is None):
        # The order turns round with the voice: here it differs where it stays.
        differs = _keeps_order(first, second, passive[0], places) or _keeps_order(second, first, passive[1], places)
    elif _longest_rise([-place for place in order]) < _REVERSED:
        differs = False
    else:
        differs = len(order) - _longest_rise(order) <= max(_FEW_MOVED, _MOST_MOVED * len(order))
    if differs:
        yield Difference("order", (), (), Weight.CONTRARY)


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


def compare_certainty(first: Claim, second: Claim) -> Iterator[Difference]:
    modals = _modals(first), _modals(second)
    only = (
        tuple(
            word for kind, (word, about) in modals[0].items() if kind not in modals[1] and about in {"", *second.stems}
        ),
        tuple(
            word for kind, (word, about) in modals[1].items() if kind not in modals[0] and about in {"", *first.stems}
        ),
    )
    if any(only):
        yield Difference("certainty", *only, Weight.DOUBT)
    if first.is_question != second.is_question:
        yield Difference("question", (), (), Weight.DOUBT)
    if _REPORTING.isdisjoint(first.words) and _REPORTING.isdisjoint(second.words):
        tenses = [(_PAST.isdisjoint(one.words), _PRESENT.isdisjoint(one.words)) for one in (first, second)]
        if sorted(tenses) == [(False, True), (True, False)]:
            yield Difference("tense", (), (), Weight.DOUBT)


def _modals(claim: Claim) -> dict[str, tuple[str, str]]:
    """By its kind each modal word, with the stem of the word it is about; without one where it is about everything."""
    found: dict[str, tuple[str, str]] = {}
    after = about = ""
    for word, stem in zip(reversed(claim.words), reversed(claim.stems), strict=True):
        kind = _BEFORE_TO.get(word) if after == "to" and word in _BEFORE_TO else _MODALS.get(word)
        if kind:
            found.setdefault(kind, (word, "" if kind == "on condition" else about))
        if word not in STOPWORDS and word not in _LOOSE:
            about = stem
        after = word
    return found


def compare_other_words(
    first: Claim, second: Claim, only_first: Counter[str], only_second: Counter[str]
) -> Iterator[Difference]:
    if _has_sign(only_first) and _has_sign(only_second):
        yield Difference("sign", (), (), Weight.DOUBT)
    evidence = evidence_of_english(_telling_words(first), _telling_words(second))
    if evidence is Evidence.ENGLISH:
        return
    unknown = _words_of(first, only_first), _words_of(second, only_second)
    # A word more hardly turns a meaning round unless it denies, and denials are known in many languages.
    if all(unknown) or (any(unknown) and evidence is Evidence.FOREIGN):
        yield Difference("language", *unknown, Weight.DOUBT)


def _has_sign(stems: Counter[str]) -> bool:
    return any(len(stem) == 1 and not stem.isalnum() for stem in stems)


def _telling_words(claim: Claim) -> list[str]:
    """Those that show a language. A name shows none."""
    pairs = zip(claim.spelled, claim.words, strict=True)
    return [word for spelled, word in pairs if word.isalpha() and (claim.is_headline or not spelled[0].isupper())]


def _words_of(claim: Claim, stems: Counter[str]) -> tuple[str, ...]:
    """Names and numbers are compared elsewhere."""
    pairs = zip(claim.words, claim.stems, strict=True)
    words = dict.fromkeys(word for word, stem in pairs if stem in stems and stem not in claim.names)
    return tuple(word for word in words if word not in STOPWORDS and not numbers_in([word]))

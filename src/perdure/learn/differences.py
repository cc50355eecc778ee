"""In which ways two texts that look alike say something else: the guard before they are taken for one.

Denials, numbers, signs and questions are compared in every language. Opposites, modal words and voice are known in
English alone: elsewhere a single word that was replaced is a doubt, because nobody here knows what it does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from enum import Enum
from itertools import pairwise
from typing import Final, NamedTuple

from perdure.learn.claim import Claim
from perdure.learn.roles import LOOSE, REPORTING, contrary_prepositions, order_differs, swapped_persons
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
    "placed": "the numbers stand elsewhere",
    "name": "the names differ",
    "subject": "the subjects differ",
    "opposite": "these words exclude each other",
    "order": "the same words stand in another order, so that who does it to whom may differ",
    "place": "these words say another place or time of the same thing",
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
_BEFORE_TO: Final = {
    word: kind
    for kind, words in {
        "former": "used",
        "wanted": "hope hoped hopes hoping wish wishes",
        "due": "had has have need needs",
        "ahead": "aim aims intend intends plan planned planning plans",
    }.items()
    for word in words.split()
}
# Who stops for a rest has not stopped resting.
_AFTER_AN_END: Final = frozenset("as at by for in on over".split())
# Words that deny without saying no, as in `declined to give details`.
_DENYING: Final = frozenset(
    """
    absent acquit acquits acquitted avoid avoided avoids ban banned bans decline declined declines forbid forbidden
    forbids missing prevent prevented prevents prohibit prohibited prohibits unable
    """.split()
)
_NEAR: Final = 4
_IN_LISTS: Final = frozenset(("and", "or"))
_RHYTHMS: Final = {"other": "second"} | {word: word for word in "second third fourth fifth sixth".split()}
_PAST: Final = frozenset(("was", "were"))
_PRESENT: Final = frozenset(("am", "are", "is"))
_YEARS: Final = frozenset(map(str, range(1900, 2100)))
_OF_A_PEOPLE: Final = ("an", "ean", "ese", "i", "ian", "ish", "n", "ni", "s")
_SHORTEST_PLACE: Final = 3
_VOWELS: Final = tuple("aeioy")
_INITIALS: Final = range(2, 7)


def differences(first: Claim, second: Claim) -> list[Difference]:
    only_first, only_second = first.counts - second.counts, second.counts - first.counts
    return [
        *compare_denials_and_opposites(first, second, only_first, only_second),
        *compare_numbers(first, second),
        *compare_names(first, second, only_first, only_second),
        *compare_roles(first, second),
        *compare_rhythm(first, second),
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


def compare_denials_and_opposites(
    first: Claim, second: Claim, only_first: Counter[str], only_second: Counter[str]
) -> list[Difference]:
    """Who denies the opposite says the same, or nothing against it: `not open` and `closed`, `no guitar` and `a flute`.
    Of two things that are not named each may be something else: `a man` and `a woman`.
    """
    denials = list(compare_denials(first, second, only_first, only_second))
    is_one = not (first.is_indefinite and second.is_indefinite)
    excluding = [
        Difference(
            "date" if pair.when else "opposite",
            first.spell(pair.first),
            second.spell(pair.second),
            Weight.CONTRARY if is_one else Weight.DOUBT,
        )
        for pair in opposites(only_first, only_second)
    ]
    told = {word for one in excluding for word in (*one.first, *one.second)}
    if any(one.kind == "negation" for one in denials) and told and told.isdisjoint(NEGATIONS):
        return [one._replace(weight=Weight.DOUBT) for one in (*denials, *excluding)]
    return [*denials, *excluding]


def compare_denials(
    first: Claim, second: Claim, only_first: Counter[str], only_second: Counter[str]
) -> Iterator[Difference]:
    denials = (
        tuple(word for word in first.words if word in NEGATIONS),
        tuple(word for word in second.words if word in NEGATIONS),
    )
    implied = _implied_denials(first, only_first), _implied_denials(second, only_second)
    if len(denials[0]) != len(denials[1]) and len(denials[0]) + implied[0] != len(denials[1]) + implied[1]:
        yield Difference("negation", *denials, Weight.CONTRARY)
    elif denials[0] and denials[1]:
        denied, near = (_denied(first, 1), _denied(second, 1)), (_denied(first, _NEAR), _denied(second, _NEAR))
        moved = (denied[0] & second.counts.keys()) - near[1], (denied[1] & first.counts.keys()) - near[0]
        if all(denied) and any(moved):
            yield Difference("denied", first.spell(*moved[0]), second.spell(*moved[1]), Weight.DOUBT)


def _implied_denials(claim: Claim, only: Counter[str]) -> int:
    """How many words that the other text does not have deny without saying no."""
    pairs = zip(claim.words, claim.stems, strict=True)
    return sum(stem in only and (word in _DENYING or word.endswith("less")) for word, stem in pairs)


def _denied(claim: Claim, reach: int) -> set[str]:
    """The first words that tell something after each denial."""
    denied: set[str] = set()
    left = 0
    for word, stem in zip(claim.words, claim.stems, strict=True):
        if word in NEGATIONS:
            left = reach
        elif left and word not in STOPWORDS:
            denied.add(stem)
            left -= 1
    return denied


def compare_numbers(first: Claim, second: Claim) -> Iterator[Difference]:
    """`one` alone may be an article."""
    only = (
        tuple(number for number in first.numbers if number not in second.numbers),
        tuple(number for number in second.numbers if number not in first.numbers),
    )
    numbers = {*only[0], *only[1]} - {"1"}
    if numbers:
        is_date = all(":" in number or number in _YEARS for number in numbers)
        yield Difference("date" if is_date else "number", *only, Weight.CONTRARY if all(only) else Weight.DOUBT)
    elif moved := moved_numbers(first, second):
        yield Difference("placed", *moved, Weight.DOUBT)


def moved_numbers(first: Claim, second: Claim) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The numbers that stand in each other's places among equal words: `room 3 has 4 beds`, `room 4 has 3 beds`. A list
    of numbers says the same in any order.
    """
    places = [place for place, (one, other) in enumerate(zip(first.stems, second.stems, strict=False)) if one != other]
    if not places or len(first.stems) != len(second.stems):
        return None
    moved = tuple(tuple(claim.words[place] for place in places) for claim in (first, second))
    between = [word for word in first.words[places[0] : places[-1] + 1] if word not in _IN_LISTS]
    if len(numbers_in([*moved[0], *moved[1]])) != 2 * len(places) or len(numbers_in(between)) == len(between):
        return None
    return moved[0], moved[1]


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
    spelled_out = {word for short in _in_capitals(other) & initials.keys() for word in initials[short]} | (
        _in_capitals(claim) & _initials(other).keys()
    )
    return tuple(name for name in names if name not in spelled_out and _forms(name).isdisjoint(others))


def _initials(claim: Claim) -> dict[str, tuple[str, ...]]:
    """What the first letters of neighbouring words make, such as IBM, and these words; `of` and the like may count."""
    return {
        "".join(word[0] for word in chosen): tuple(chosen)
        for words in ([word for word in claim.words if word not in STOPWORDS], claim.words)
        for length in _INITIALS
        for at in range(len(words) - length, -1, -1)
        for chosen in [words[at : at + length]]
    }


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


def compare_rhythm(first: Claim, second: Claim) -> Iterator[Difference]:
    """`every day` and `every other day`."""
    rhythms = _rhythms(first), _rhythms(second)
    if all(rhythms) and rhythms[0] != rhythms[1]:
        yield Difference("date", *rhythms, Weight.CONTRARY)


def _rhythms(claim: Claim) -> tuple[str, ...]:
    return tuple(
        f"every {_RHYTHMS[following]}" if following in _RHYTHMS else "every"
        for word, following in pairwise(claim.words)
        if word in {"each", "every"}
    )


def compare_roles(first: Claim, second: Claim) -> Iterator[Difference]:
    weight = Weight.DOUBT if first.is_indefinite and second.is_indefinite else Weight.CONTRARY
    if order_differs(first, second):
        yield Difference("order", (), (), weight)
    elif swapped := swapped_persons(first, second):
        yield Difference("order", *swapped, weight)
    for contrast in contrary_prepositions(first, second):
        yield Difference("place", *contrast, weight)


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
    if REPORTING.isdisjoint(first.words) and REPORTING.isdisjoint(second.words):
        tenses = [(_PAST.isdisjoint(one.words), _PRESENT.isdisjoint(one.words)) for one in (first, second)]
        if sorted(tenses) == [(False, True), (True, False)]:
            yield Difference("tense", (), (), Weight.DOUBT)


def _modals(claim: Claim) -> dict[str, tuple[str, str]]:
    """By its kind each modal word, with the stem of the word it is about; without one where it is about everything."""
    found: dict[str, tuple[str, str]] = {}
    after = about = ""
    for word, stem in zip(reversed(claim.words), reversed(claim.stems), strict=True):
        kind = _BEFORE_TO.get(word) if after == "to" and word in _BEFORE_TO else _MODALS.get(word)
        if kind and not (kind == "ended" and after in _AFTER_AN_END):
            found.setdefault(kind, (word, "" if kind == "on condition" else about))
        if word not in STOPWORDS and word not in LOOSE:
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

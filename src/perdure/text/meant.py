"""Which of some texts a description means: one, all that are about it, or, where that is not plain, none. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from perdure.text.corrections import StatedCorrection, exchanged, is_changed_by, may_hold_still
from perdure.text.descriptions import CALENDAR, Description, Fit, is_over, names_in, person_of, tokens_of
from perdure.text.keyword_terms import language_of
from perdure.text.orders import Order
from perdure.text.patterns import pattern
from perdure.text.stopwords import STOPWORDS
from perdure.text.words import UNSPACED

# For each pair of texts how near they are by their meaning, from -1 to 1.
Similarity: TypeAlias = Callable[[Sequence[tuple[str, str]]], Sequence[float]]

# What is left must be a little like what is missing.
_SOME_LIKENESS: Final = 0.1
_LITTLE_LIKENESS: Final = 0.05
_WHOLE: Final = 0.999
# A text that fits less than this is not meant.
_LEAST: Final = 0.33
# So much less than the best one may fit what is one of all, and so much more than the next one has to fit what is one.
_AS_GOOD: Final = 0.22
_CLEARLY_BETTER: Final = 0.025
_CLEARLY_NEARER: Final = 0.07
# Of all that holds a part, what is nearly as like the rest as the one that is most like it.
_NEARLY: Final = 0.75
_HALF: Final = 0.5
_SEVERAL: Final = 2
_HELP: Final = 0.1
_BEGINS_WITH_PRONOUN: Final = pattern(r"(?:Her|His|She|He|Their|They) [a-z]")


class Meant(NamedTuple):
    """Places of the texts that are meant, best first, and of those that may be where none plainly is; why the others
    that hold some of the words are not, by place.
    """

    places: tuple[int, ...] = ()
    doubtful: tuple[int, ...] = ()
    reasons: Mapping[int, str] = MappingProxyType({})


class _Candidate(NamedTuple):
    place: int
    fit: Fit
    score: float


def choose(order: Order, texts: Sequence[str], similarity: Similarity, *, exactly: bool = False) -> Meant:
    """`exactly`: only what holds every word of the description."""
    description = Description(order.about, order.states, language_of(order.sentence or order.about) or "en")
    if not description.words:
        return Meant()
    fits = [description.fit(text) for text in texts]
    reasons = {
        place: reason_against(fit) for place, fit in enumerate(fits) if fit.held and (fit.conflict or fit.missing)
    }
    possible = [place for place, fit in enumerate(fits) if not fit.conflict and _holds_names(description, texts[place])]
    likeness = likeness_of_rest(fits, possible, similarity)
    helped = Description(order.rest) if order.rest else None
    scored: list[_Candidate] = []
    for place in possible:
        fit = fits[place]
        score = (fit.held + sum(word.weight * likeness[place] for word in fit.missing)) / fit.weight
        if helped and helped.words:
            score += _HELP * helped.fit(texts[place]).share
        scored.append(_Candidate(place, fit, score))
    scored.sort(key=lambda each: (-each.score, each.place))
    scored = [
        each for each in scored if each.score >= _LEAST and is_supported(each.fit, likeness[each.place], description)
    ]
    if not scored:
        return Meant(reasons=reasons)
    whole = [each for each in scored if each.fit.share >= _WHOLE]
    if exactly:
        chosen = whole
    elif is_name_alone(description):
        chosen = scored
    elif order.everything and whole and (noun := _noun_behind_name(description)):
        # `the Meridian project`, which one text calls so, is Meridian elsewhere, but not the Meridian Hotel.
        chosen = [each for each in scored if each in whole or not is_followed(description, noun, texts[each.place])]
    elif order.everything:
        partly = [each for each in scored if each not in whole]
        most = max((likeness[each.place] for each in partly), default=0.0)
        least = max(_SOME_LIKENESS, _NEARLY * most)
        like = [each for each in partly if likeness[each.place] >= least and each.fit.share >= _HALF]
        # Where several hold all of it, nothing else needs to be guessed.
        like = like if len(whole) < _SEVERAL else []
        chosen = [*whole, *like] or [each for each in scored if each.score >= scored[0].score - _AS_GOOD]
    elif len(whole) > 1 and len(description.words) > 1:
        chosen = whole
    else:
        best = nearest_of(order, scored, texts, similarity)
        if len(best) > 1:
            return Meant((), tuple(each.place for each in best), reasons)
        chosen = best
    places = [each.place for each in chosen]
    places += [place for place in also_meant(order, description, places, texts) if place not in places]
    return Meant(tuple(places), (), {place: why for place, why in reasons.items() if place not in places})


def nearest_of(
    order: Order, scored: Sequence[_Candidate], texts: Sequence[str], similarity: Similarity
) -> list[_Candidate]:
    """The one that fits best; several where none fits clearly better than the next one."""
    best = [each for each in scored if each.score > scored[0].score - _CLEARLY_BETTER]
    if len(best) == 1:
        return best
    near = similarity([(order.sentence or order.about, texts[each.place]) for each in best])
    ranked = sorted(zip(near, best, strict=True), key=lambda each: -each[0])
    return [ranked[0][1]] if ranked[0][0] - ranked[1][0] >= _CLEARLY_NEARER else best


def is_name_alone(description: Description) -> bool:
    """`Osman`, `the applicant Theodora Blix`: whoever or whatever has that name."""
    others = [word.written for word in description.words if not word.is_name]
    tokens = [token.lower for token in tokens_of(description.text)]
    before = {first for first, second in pairwise(tokens) if second in {name.written for name in description.names}}
    is_joined = "'s" not in description.text and "\u2019s" not in description.text
    return bool(description.names) and is_joined and len(others) <= 1 and before.issuperset(others)


def _noun_behind_name(description: Description) -> str:
    """`project` of `the Meridian project`."""
    others = [word.written for word in description.words if not word.is_name]
    tokens = [token.lower for token in tokens_of(description.text)]
    names = {name.written for name in description.names}
    is_behind = any((name, other) in set(pairwise(tokens)) for name in names for other in others)
    return others[0] if len(others) == 1 and is_behind and "'s" not in description.text else ""


def is_followed(description: Description, noun: str, text: str) -> bool:
    """Whether the name stands before another noun there."""
    names = {name.written for name in description.names}
    behind = {second.lower for first, second in pairwise(tokens_of(text)) if first.lower in names}
    return any(word != noun and word not in STOPWORDS for word in behind)


def _holds_names(description: Description, text: str) -> bool:
    """Of a first name and a surname the surname is enough, and the first name is not."""
    held = {token.exact for token in tokens_of(text)}
    return all(not held.isdisjoint(name.stems) for name in description.required_names)


def likeness_of_rest(fits: Sequence[Fit], possible: Sequence[int], similarity: Similarity) -> dict[int, float]:
    pairs = {place: (" ".join(word.written for word in fits[place].missing), fits[place].left) for place in possible}
    asked = {place: pair for place, pair in pairs.items() if all(pair)}
    found = dict(zip(asked, similarity(list(asked.values())), strict=True)) if asked else {}
    return {place: max(found.get(place, 0.0), 0.0) for place in possible}


def is_supported(fit: Fit, likeness: float, description: Description) -> bool:
    """Whether what a text does not hold is made up for: by the likeness of the rest, by a figure, or by a name that
    says enough alone.
    """
    missing = [word for word in fit.missing if not word.is_value]
    if missing and all(word.is_unspaced for word in missing):
        return fit.share >= _HALF
    return (
        not missing
        or likeness >= _LITTLE_LIKENESS
        or is_name_alone(description)
        or bool(_noun_behind_name(description))
    )


def reason_against(fit: Fit) -> str:
    missing = " and ".join(f"'{word.written}'" for word in fit.missing)
    return f"does not hold {missing}" if missing else fit.conflict


def also_meant(order: Order, description: Description, places: Sequence[int], texts: Sequence[str]) -> list[int]:
    """What else is about the same: of a person who is described, all that names them; and what goes on about them."""
    found: list[int] = []
    if person_of(description.text) and len(description.words) <= _FEW_WORDS and not description.names:
        for place in places:
            for name in names_in(texts[place]):
                named = Description(name)
                found += [
                    at for at, text in enumerate(texts) if _holds_names(named, text) and not named.fit(text).conflict
                ]
    if order.everything:
        found += [
            place + 1 for place in places if place + 1 < len(texts) and _BEGINS_WITH_PRONOUN.match(texts[place + 1])
        ]
    return list(dict.fromkeys(found))


_FEW_WORDS: Final = 2


def choose_plainly(order: Order, texts: Sequence[str], similarity: Similarity) -> tuple[int, ...]:
    """Those that hold all that is said of them; one of several that do, if what else was said fits it alone. Nobody is
    asked before these go, so nothing is guessed.
    """
    description = Description(order.about, order.states, language_of(order.sentence or order.about) or "en")
    if all(word.written in CALENDAR for word in description.words):
        return ()
    meant = choose(order, texts, similarity)
    places = meant.places or meant.doubtful
    if not is_name_alone(description):
        least = _PLAIN_UNSPACED if UNSPACED.search(order.about) else _WHOLE
        places = tuple(place for place in places if description.fit(texts[place]).share >= least)
    if len(places) < _SEVERAL or order.everything:
        return places
    rest = Description(order.rest, language=description.language)
    shares = [rest.fit(texts[place]).share for place in places]
    best = [place for place, share in zip(places, shares, strict=True) if share == max(shares)]
    return tuple(best) if len(best) == 1 and max(shares) else ()


def corrects_plainly(correction: StatedCorrection, texts: Sequence[str], similarity: Similarity) -> int | None:
    """The one text that a correction is about, if words of it are exchanged or denied by what was said."""
    meant = choose_corrected(correction, texts, similarity, least=_PLAIN_CORRECTED)
    if len(meant.places) != 1:
        return None
    text = texts[meant.places[0]]
    denied = Description(correction.denied, language=correction.language)
    is_denied = bool(denied.words) and denied.fit(text).share >= _HALF
    return meant.places[0] if exchanged(text, correction) is not None or is_denied else None


_PLAIN_UNSPACED: Final = 0.6
_PLAIN_CORRECTED: Final = 0.4


def choose_corrected(
    correction: StatedCorrection, texts: Sequence[str], similarity: Similarity, *, least: float | None = None
) -> Meant:
    """Which text a correction is about: that shares most words with it, and is nearest by its meaning."""
    said = Description(correction.statement, language=correction.language)
    if not said.words:
        return Meant()
    # What is told as over is nothing that a correction changes.
    possible = [place for place, text in enumerate(texts) if not said.is_of_another(text) and not is_over(text)]
    if correction.exchanges and (spelled := [place for place in possible if is_changed_by(texts[place], correction)]):
        possible = spelled
    scores = _shared(correction.statement, possible, texts, correction.language, similarity)
    if correction.denied and not correction.exchanges:
        # What does not hold any more is what the text says.
        denied = _shared(correction.denied, possible, texts, correction.language, similarity)
        scores = [(first + second) / 2 for first, second in zip(scores, denied, strict=True)]
    # What is corrected often holds a value of the kind that was said.
    bonus = [_EXCHANGED * (exchanged(texts[place], correction) is not None) for place in possible]
    bonus = [
        more + _HOLDS_STILL * may_hold_still(texts[place], correction)
        for more, place in zip(bonus, possible, strict=True)
    ]
    is_unspaced = UNSPACED.search(correction.statement) is not None
    floor = _LEAST_CORRECTED_UNSPACED if is_unspaced else least or _LEAST_CORRECTED
    scored = [
        (score + more, place) for score, more, place in zip(scores, bonus, possible, strict=True) if score >= floor
    ]
    scored.sort(key=lambda each: (-each[0], each[1]))
    best = [place for score, place in scored if score > scored[0][0] - _CLEARLY_CORRECTED]
    return Meant(tuple(best)) if len(best) == 1 else Meant((), tuple(best))


def _shared(
    said: str, places: Sequence[int], texts: Sequence[str], language: str, similarity: Similarity
) -> list[float]:
    """How much each text has in common with what was said: words, either way, and meaning."""
    description = Description(said, language=language)
    near = similarity([(said, texts[place]) for place in places])
    scores: list[float] = []
    for place, likeness in zip(places, near, strict=True):
        told = Description(texts[place], language=language)
        shares = description.fit(texts[place]).share + told.fit(said).share
        scores.append(shares * _SHARED_WORDS + max(likeness, 0.0) * _LIKENESS)
    return scores


_SHARED_WORDS: Final = 0.35
_LIKENESS: Final = 0.3
_LEAST_CORRECTED: Final = 0.2
_LEAST_CORRECTED_UNSPACED: Final = 0.12
_EXCHANGED: Final = 0.12
_HOLDS_STILL: Final = 0.1
_CLEARLY_CORRECTED: Final = 0.02

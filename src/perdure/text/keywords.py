"""Keywords of a text by rules and counts alone: no model, no network, well below a millisecond for a paragraph.

A term weighs what its words weigh: how rare they are in the store, how often they occur here, and what they look like
(`parseFile`, `E1042` and names say more than verbs). What is chosen stands in the text, says each thing once, and is
never a generic word.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from math import log
from typing import Final, TypeAlias

from perdure.text.bm25 import WordCounts
from perdure.text.entry import term_hash
from perdure.text.keyword_terms import MAX_CHARACTERS, Kind, Term, Word, stem, terms_of, words_of
from perdure.text.keyword_words import ENDINGS, FUNCTION_WORDS, GENERIC
from perdure.text.stopwords import STOPWORDS
from perdure.text.unsafe_characters import UNSAFE_CHARACTERS

MIN_KEYWORDS: Final = 3
MAX_KEYWORDS: Final = 10
CountWords: TypeAlias = Callable[[Sequence[str]], WordCounts]

# Of a longer text the beginning counts, so that a megabyte costs no more than some pages.
MOST_READ: Final = 8_000
# How many terms are looked up in the store, the likeliest first.
_LOOKED_UP: Final = 16
# A store counts as if it had a hundred memories more: in a small one no word is common.
_IMAGINED: Final = 100
# Two words that begin alike, with four letters or more, are one word if nothing but endings differs.
_SHARED: Final = 4
_MOST_WORDS: Final = 5

_WEIGHTS: Final[dict[Kind, float]] = {
    "word": 1.0, "opening": 1.0, "participle": 0.6, "verb": 0.4, "weak": 0.2, "code": 2.0, "acronym": 1.5, "name": 1.5,
    "number": 0.5,
}  # fmt: skip
_POOR: Final[frozenset[Kind]] = frozenset({"participle", "verb", "weak", "number"})
_PAIR: Final = 1.2
_IN_TITLE: Final = 1.4
_LATE: Final = 0.3


def extract_keywords(
    text: str, title: str | None = None, reasoning: str | None = None, count_words: CountWords | None = None
) -> tuple[str, ...]:
    """From 3 to 10 keywords, the best first; fewer only where there are fewer words that tell anything. `count_words`
    says in how many memories words stand: it is asked once at most.
    """
    words = words_of(text[:MOST_READ])
    if reasoning:
        words += words_of(reasoning[:MOST_READ])
    titled = words_of((title or "")[:MOST_READ])
    weights = weigh(
        [term for term in terms_of(words) if not _POOR.issuperset(word.kind for word in term.words)], titled
    )
    most = max(MIN_KEYWORDS + 2, min(MAX_KEYWORDS, 3 + len(words) // 6))
    # Looking words up costs more than all the rest, and decides nothing where every term finds room.
    if count_words and len(weights) > most:
        weights = weigh_by_rarity(weights, count_words)
    ranked = sorted(weights, key=lambda term: (-weights[term], term.position))
    chosen: list[str] = []
    _choose((term.text for term in ranked), chosen, most)
    # Where these are too few: their single words, then weak words, then those of the title.
    single = sorted((word for word in words if word.kind != "number"), key=lambda word: -_WEIGHTS[word.kind])
    for more in (single, titled):
        _choose((word.text for word in more), chosen, MIN_KEYWORDS, within=True)
    return tuple(chosen)


def usable_keywords(offered: Iterable[object]) -> tuple[str, ...]:
    """What of a model's list may be stored: 10 at most, none generic, none twice, no sentences, nothing unsafe."""
    lines = (" ".join(one.split()).strip(" \"'`,;.") for one in offered if isinstance(one, str))
    short = (one for one in lines if len(one) <= MAX_CHARACTERS and one.count(" ") < _MOST_WORDS)
    chosen: list[str] = []
    _choose((one for one in short if re.search(r"\w", one)), chosen, MAX_KEYWORDS)
    return tuple(chosen)


@lru_cache(4096)
def is_generic(keyword: str) -> bool:
    """Whether it says nothing in particular: generic words, in whatever form, or stopwords."""
    return all(
        word in STOPWORDS or word in FUNCTION_WORDS["en"] or any(same_word(word, one) for one in GENERIC)
        for word in keyword.lower().split()
    )


def same_word(one: str, other: str) -> bool:
    """Whether two words are forms of one: parse, parsing and parser; Verbindung and Verbindungen."""
    one, other = one.lower(), other.lower()
    if one == other or stem(one) == stem(other):
        return True
    shared = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
    least = min(len(one), len(other)) if shared is None else shared
    return any(one[at:] in ENDINGS and other[at:] in ENDINGS for at in range(least, max(_SHARED, least - 2) - 1, -1))


def weigh(terms: Sequence[Term], titled: Sequence[Word]) -> dict[Term, float]:
    """Each term once, where it stands first."""
    found: dict[str, Term] = {}
    times: Counter[str] = Counter()
    for term in terms:
        key = " ".join(stem(word.text) for word in term.words)
        found.setdefault(key, term)
        times[key] += 1
    in_title = {stem(word.text) for word in titled}
    last = 1 + max((term.position for term in terms), default=0)
    weights: dict[Term, float] = {}
    for key, term in found.items():
        weight = sum(_WEIGHTS[word.kind] * min(1.2, 0.6 + len(word.text) / 15) for word in term.words) / len(term.words)
        weight *= (1 + log(times[key])) * (1 - _LATE * term.position / last)
        if len(term.words) > 1:
            weight *= _PAIR
        if any(stem(word.text) in in_title for word in term.words):
            weight *= _IN_TITLE
        weights[term] = weight
    return weights


def weigh_by_rarity(weights: dict[Term, float], count_words: CountWords) -> dict[Term, float]:
    """A term counts by its rarest word. Those that are too far behind to be looked up stay behind."""
    best = sorted(weights, key=lambda term: (-weights[term], term.position))[:_LOOKED_UP]
    counts = count_words(list(dict.fromkeys(word.text for term in best for word in term.words)))
    most = log(counts.documents + _IMAGINED)

    def rarity(word: str) -> float:
        held = [counts.containing.get(term_hash(term), 0) for term in stem(word).split()]
        return 1 - log(1 + min(held, default=0)) / most

    weighed = {term: weights[term] * max(rarity(word.text) for word in term.words) for term in best}
    least = min(weighed.values())
    return {term: weighed.get(term, least * weight / max(weights.values())) for term, weight in weights.items()}


def is_in_text(keyword: str, text: str) -> bool:
    """Whether it stands in the text, or each of its words does in another form."""
    if keyword.lower() in text.lower():
        return True
    held = set(re.findall(r"\w+", text.lower()))
    return all(any(same_word(word, one) for one in held) for word in keyword.lower().split())


def _choose(offered: Iterable[str], chosen: list[str], most: int, *, within: bool = False) -> None:
    """Add what says something new, until there are `most`: not all of its words are forms of those of another one.
    `within`: a word of a longer keyword counts as new.
    """
    for keyword in offered:
        if len(chosen) >= most:
            return
        words = keyword.split()
        if len(keyword) == 1 or is_generic(keyword) or UNSAFE_CHARACTERS.search(keyword):
            continue
        taken = [one.split() for one in chosen]
        known = (
            all(any(same_word(word, held) for held in one) for word in words)
            for one in taken
            if not within or len(one) == len(words)
        )
        if not any(known):
            chosen.append(keyword)

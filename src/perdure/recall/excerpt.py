"""What a long memory says about a question, in fewer words: its own sentences, those that answer best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

from perdure.text.preview import one_line
from perdure.text.sentences import sentences
from perdure.text.words import searchable, terms

MORE: Final = "…"

_LOOKED_AT: Final = 65_536
_SENTENCES: Final = 512
_MISSES: Final = 8
# Fewer characters of a sentence say nothing.
_FEW: Final = 20


class _Sentence(NamedTuple):
    place: int
    text: str
    worth: float


def excerpt(text: str, about: Collection[str], room: int, cost: Callable[[str], int], *, sparing: bool = False) -> str:
    """The sentences that hold the most of the terms `about`, in their own order, as many as fit; `…` stands for what
    is missing. Of a sentence that is too long by itself its first words; nothing when there is no room for a few.
    `sparing`: without sentences that hold none of the terms.
    """
    found = _ranked(text[:_LOOKED_AT], about)
    chosen = _fitting([one for one in found if one.worth or not sparing], room, cost)
    while chosen and cost(_joined(chosen, len(found))) > room:
        chosen.pop()
    if chosen:
        return _joined(chosen, len(found))
    return _cut(found[0].text if found else one_line(text[:_LOOKED_AT]), lambda said: cost(said) <= room)


def _fitting(found: Sequence[_Sentence], room: int, cost: Callable[[str], int]) -> list[_Sentence]:
    """By the sum of their costs, which is quick; what they cost together is for the caller to see."""
    chosen: list[_Sentence] = []
    nothing, misses = cost(""), 0
    left = room - nothing
    for sentence in found:
        price = cost(f"{sentence.text} ") - nothing
        if price <= left:
            chosen.append(sentence)
            left -= price
        else:
            misses += 1
        if misses > _MISSES:
            break
    return chosen


def _ranked(text: str, about: Collection[str]) -> list[_Sentence]:
    """Best first. A term that few of the sentences hold tells more about the one that does."""
    said = sentences(text)[:_SENTENCES]
    held = [set(terms(searchable(sentence))).intersection(about) for sentence in said]
    holding = Counter(term for one in held for term in one)
    worths = [sum(1 / holding[term] for term in sorted(one)) for one in held]
    ranked = [_Sentence(*each) for each in zip(range(len(said)), said, worths, strict=True)]
    return sorted(ranked, key=lambda one: (-one.worth, one.place))


def _joined(chosen: Sequence[_Sentence], total: int) -> str:
    parts: list[str] = []
    expected = 0
    for sentence in sorted(chosen):
        if sentence.place != expected:
            parts.append(MORE)
        parts.append(sentence.text)
        expected = sentence.place + 1
    if expected != total:
        parts.append(MORE)
    return " ".join(parts)


def _cut(text: str, fits: Callable[[str], bool]) -> str:
    """The longest beginning that fits, at the end of a word where there is one."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(text[:middle] + MORE) else (low, middle - 1)
    head = (text[:low].rpartition(" ")[0] or text[:low]).rstrip()
    return head + MORE if len(head) >= min(_FEW, len(text)) and fits(head + MORE) else ""

"""An excerpt of a long memory: its own sentences, those that answer a query best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from typing import Final

from perdure.text.preview import one_line
from perdure.text.sentences import sentences
from perdure.text.words import query_words, searchable, spelled_out, terms

MORE: Final = "…"

_LOOKED_AT: Final = 65_536
_SENTENCES: Final = 512
_MISSES: Final = 8
# Fewer characters of a sentence say nothing.
_FEW: Final = 20


def terms_of(query: str) -> frozenset[str]:
    """What the sentences of an excerpt are looked through for."""
    return frozenset(terms(" ".join(spelled_out(query_words(query)))))


def excerpt(
    text: str,
    query_terms: Collection[str],
    room: int,
    cost: Callable[[str], int],
    *,
    sparing: bool = False,
    passage: tuple[int, int] | None = None,
) -> str:
    """The sentences that hold the most of the query's terms, in their own order, as many as fit; `…` stands for what
    is missing. Of a sentence that is too long by itself its first words; nothing when there is no room for a few.
    `sparing`: without sentences that hold none of the terms. `passage`: from which to which character the text comes
    nearest to the query; to stand there counts as much as a term that no other sentence holds.
    """
    start, end = passage or (0, 0)
    before, near = sentences(text[max(0, start - _LOOKED_AT) : start]), sentences(text[start:end])
    left_out = start > _LOOKED_AT or len(before) > _SENTENCES
    before = before[-_SENTENCES:]
    parts = [*before, *near, *sentences(text[end : end + _LOOKED_AT])[:_SENTENCES]]
    inside = range(len(before), len(before) + len(near))
    held = [set(terms(searchable(sentence))).intersection(query_terms) for sentence in parts]
    # A term that few of the sentences hold tells more about the one that does.
    holding = Counter(term for each in held for term in each)
    worth = [sum(1 / holding[term] for term in sorted(each)) + (at in inside) for at, each in enumerate(held)]
    # Without a passage, from the beginning; with one, what stands near it.
    best_first = sorted(
        range(len(parts)), key=lambda at: (-worth[at], max(inside.start - at, at - inside.stop + 1, 0), at)
    )

    def joined(chosen: Collection[int]) -> str:
        pieces: list[str] = []
        expected = -1 if left_out else 0
        for at in sorted(chosen):
            pieces += [MORE, parts[at]] if at != expected else [parts[at]]
            expected = at + 1
        return " ".join([*pieces, MORE] if expected != len(parts) else pieces)

    # By the sum of their costs, which is quick; what they cost together is looked at afterwards.
    chosen: list[int] = []
    nothing, misses = cost(""), 0
    left = room - nothing
    for at in best_first:
        price = cost(f"{parts[at]} ") - nothing
        if sparing and not worth[at]:
            continue
        if price <= left:
            chosen.append(at)
            left -= price
        else:
            misses += 1
        if misses > _MISSES:
            break
    while chosen and cost(joined(chosen)) > room:
        chosen.pop()
    if chosen:
        return joined(chosen)
    # The longest beginning that fits, at the end of a word where there is one.
    best = parts[best_first[0]] if parts else one_line(text[:_LOOKED_AT])
    low, high = 0, len(best)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if cost(best[:middle] + MORE) <= room else (low, middle - 1)
    head = (best[:low].rpartition(" ")[0] or best[:low]).rstrip()
    return head + MORE if len(head) >= min(_FEW, len(best)) and cost(head + MORE) <= room else ""

"""A prompt cut into clauses: what a person asks for stands in one of them, and greetings, reasons and what was pasted
in others. Pure.
"""

from __future__ import annotations

from typing import Final

from perdure.text.patterns import pattern
from perdure.text.sentences import sentences

# A shorter one says nothing by itself.
_FEWEST_WORDS: Final = 3
# Of a longer prompt the first and the last ones.
MAX_CLAUSES: Final = 12
_FROM_THE_END: Final = 4
_BETWEEN: Final = pattern(
    r"[,;:\u2013\u2014]\s+|\s+(?:and|but|because|so that|although|since|when|while|after|before)\s+"
)


def clauses(text: str) -> tuple[str, ...]:
    """Each once, in their order; none where the text is a single one."""
    found: dict[str, None] = {}
    for sentence in (sentence for line in text.splitlines() for sentence in sentences(line)):
        pieces = (piece.strip() for piece in _BETWEEN.split(sentence))
        found |= dict.fromkeys(piece for piece in pieces if len(piece.split()) >= _FEWEST_WORDS)
    found.pop(text.strip(), None)
    every = tuple(found)
    if len(every) <= MAX_CLAUSES:
        return every
    return every[: MAX_CLAUSES - _FROM_THE_END] + every[-_FROM_THE_END:]

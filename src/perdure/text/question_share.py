"""How much of a text asks, and does not tell."""

from __future__ import annotations

from typing import Final

from perdure.text.patterns import pattern

# A question mark of any script; the mirrored one stands at the end in Arabic.
QUESTION_MARKS: Final = "?？؟"  # noqa: RUF001 - other scripts
_SENTENCE: Final = pattern(r"[^.!?…。！？؟\n]+([.!?…。！？؟\n]*)")  # noqa: RUF001 - other scripts


def question_share(text: str) -> float:
    """The characters of the sentences that end in a question mark, as a share of all."""
    if not any(mark in text for mark in QUESTION_MARKS):
        return 0.0
    asked, told = 0, 0
    for sentence in _SENTENCE.finditer(text):
        size = len(sentence[0].strip())
        if any(mark in sentence[1] for mark in QUESTION_MARKS):
            asked += size
        else:
            told += size
    return asked / (asked + told) if asked else 0.0

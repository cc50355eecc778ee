"""How near unrelated texts are to each other, with whatever model: measured on a few texts that have nothing in common.

Models crowd their vectors differently. With some, two texts about different things have a cosine of 0.05, with others
of 0.75, so without this it is unknown from which cosine on a memory is about a question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from perdure.embed.port import Vectors

# Changing them changes what is measured: `_AS_MEMORIES` belongs to them.
TEXTS: Final = (
    "The ferry to the island leaves at seven every morning.",
    "How do I sharpen a kitchen knife without ruining the edge?",
    "Her grandmother's bread recipe needs a pinch of cardamom.",
    "The parser fails on nested brackets deeper than nine levels.",
    "Glaciers in the northern range lost a third of their ice.",
    "When does the tax office expect the second payment?",
    "He plays the cello in a quartet on Thursday evenings.",
    "The goalkeeper was sent off shortly before half time.",
    "Antibiotics do not help against a virus.",
    "Which paint survives rain on a wooden fence?",
    "The treaty ended a war that had lasted thirty years.",
    "Our cat sleeps on the warm router in the hallway.",
    "Interest rates rose for the fourth time this year.",
    "She wants to learn Portuguese before moving to Porto.",
    "The telescope photographs comets in infrared light.",
    "Who left the bicycle chained to the gate of the school?",
)
# Texts in a store share a language, a date or a speaker, and are a little nearer to a question than these texts are to
# each other: what was measured moves this share of the way to 1. With it the packaged model comes to its own constant.
_AS_MEMORIES: Final = 0.0734


def unrelated_cosine(vectors: Vectors) -> float:
    """What an unrelated memory may be expected to have with a question, from the unit vectors of `TEXTS`."""
    import numpy as np

    first, second = np.triu_indices(len(vectors), 1)
    median = float(np.median(np.vecdot(vectors[first], vectors[second])))
    return median + _AS_MEMORIES * (1.0 - median)

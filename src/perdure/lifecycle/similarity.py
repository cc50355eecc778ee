"""How near pairs of short texts are by their meaning, as the model of the store has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from perdure.embed.port import checked_vectors
from perdure.errors import EmbedderUnavailable
from perdure.text.words import UNSPACED

if TYPE_CHECKING:
    from perdure.services import Services

# A description that fits more memories than this is too vague to compare.
MAX_PAIRS: Final = 64
# The packaged model knows English: what it says of a script without spaces is noise.
_PACKAGED: Final = "local"


def similarity(services: Services, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """The cosine of each pair; 0 where it is unknown."""
    chosen = services.embedders.current()
    if chosen.embedder is None or chosen.generation is None or not pairs:
        return [0.0] * len(pairs)
    spaced = chosen.generation.provider == _PACKAGED
    asked = {text: None for pair in pairs[:MAX_PAIRS] for text in pair if not (spaced and UNSPACED.search(text))}
    if not asked:
        return [0.0] * len(pairs)
    try:
        made = checked_vectors(chosen.embedder, list(asked), None, chosen.generation)
    except EmbedderUnavailable:
        return [0.0] * len(pairs)
    vectors = dict(zip(asked, made, strict=True))
    return [
        float(vectors[first] @ vectors[second]) if first in vectors and second in vectors else 0.0
        for first, second in pairs
    ]

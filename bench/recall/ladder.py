"""What is compared: each rung is a recipe, as a user would write it into the settings, and adds one idea."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from perdure.recall.recipe import BALANCED

WEIGHTS: Final = ("neighbour_weight", "session_weight", "named_weight", "asking_weight")
_NOTHING_AROUND: Final[Mapping[str, float]] = dict.fromkeys((*WEIGHTS, "time_weight"), 0.0)


class Rung(NamedTuple):
    """`table` is the recipe; without one it has its name from Perdure."""

    name: str
    about: str
    table: Mapping[str, object] | None


def _adding(*names: str) -> dict[str, object]:
    return {**_NOTHING_AROUND, **{name: getattr(BALANCED, name) for name in names}}


OURS: Final = Rung("balanced", "… + a time that the question names = `balanced`", None)
LADDER: Final = (
    Rung("words", "words alone (BM25)", {**_NOTHING_AROUND, "keyword_weight": 1.0, "vector_weight": 0.0}),
    Rung("meaning", "meaning alone (cosine)", {**_NOTHING_AROUND, "keyword_weight": 0.0, "vector_weight": 1.0}),
    Rung("facts", "reciprocal rank fusion, k = 60 (`facts`)", None),
    Rung("sum", "words + meaning, each brought to 0..1", _adding()),
    Rung("named", "… + who is named", _adding("named_weight")),
    Rung("neighbours", "… + what is said before and after", _adding("named_weight", "neighbour_weight")),
    Rung("asking", "… + a question is no answer", _adding("named_weight", "neighbour_weight", "asking_weight")),
    Rung("session", "… + the best of the session", _adding(*WEIGHTS)),
    OURS,
)

# For choosing by leave-one-conversation-out: each weight half as large, and half as large again.
STEPS: Final = (0.5, 1.5)
CHOICES: Final = (
    OURS,
    *(
        Rung(
            f"{weight[:-7]}-{which}",
            f"{weight} {getattr(BALANCED, weight) * step:g}",
            {weight: getattr(BALANCED, weight) * step},
        )
        for weight in WEIGHTS
        for which, step in zip(("less", "more"), STEPS, strict=True)
    ),
)


def recipes() -> dict[str, dict[str, object]]:
    """All of them, for the settings."""
    return {rung.name: dict(rung.table) for rung in (*LADDER, *CHOICES) if rung.table is not None}

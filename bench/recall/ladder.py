"""What is compared: each rung is a recipe, as a user would write it into the settings, and adds one idea."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from perdure.recall.recipe import BALANCED

# In the order in which the rungs add them.
WEIGHTS: Final = (
    "named_weight",
    "neighbour_weight",
    "asking_weight",
    "session_weight",
    "coverage_weight",
    "proper_name_weight",
    "when_weight",
)
_NOTHING_AROUND: Final[Mapping[str, float]] = dict.fromkeys((*WEIGHTS, "time_weight"), 0.0)


class Rung(NamedTuple):
    """`table` is the recipe; without one it has its name from Perdure."""

    name: str
    about: str
    table: Mapping[str, object] | None


def _adding(last: str | None = None) -> dict[str, object]:
    """The weights of `balanced` up to this one."""
    added = WEIGHTS[: WEIGHTS.index(last) + 1] if last else ()
    return {**_NOTHING_AROUND, **{name: getattr(BALANCED, name) for name in added}}


OURS: Final = Rung("balanced", "… + a time that the question names = `balanced`", None)
LADDER: Final = (
    Rung("words", "words alone (BM25)", {**_NOTHING_AROUND, "keyword_weight": 1.0, "vector_weight": 0.0}),
    Rung("meaning", "meaning alone (cosine)", {**_NOTHING_AROUND, "keyword_weight": 0.0, "vector_weight": 1.0}),
    Rung("facts", "reciprocal rank fusion, k = 60 (`facts`)", None),
    Rung("sum", "words + meaning, each brought to 0..1", _adding()),
    Rung("named", "… + who is named", _adding("named_weight")),
    Rung("neighbours", "… + what is said before and after", _adding("neighbour_weight")),
    Rung("asking", "… + a question is no answer", _adding("asking_weight")),
    Rung("session", "… + the best of the session", _adding("session_weight")),
    Rung("coverage", "… + the words that are said around it", _adding("coverage_weight")),
    Rung("proper-names", "… + the names that it holds", _adding("proper_name_weight")),
    Rung("when", "… + a time, where it is asked when", _adding("when_weight")),
    OURS,
)

# For choosing by leave-one-conversation-out: each weight half as large, and half as large again.
STEPS: Final = (0.5, 1.5)
CHOICES: Final = (
    OURS,
    *(
        Rung(
            f"{weight[:-7]}-{which}",
            f"{weight} {min(getattr(BALANCED, weight) * step, 1.0):g}",
            # The most that an asking weight may be is 1.
            {weight: min(getattr(BALANCED, weight) * step, 1.0)},
        )
        for weight in WEIGHTS
        for which, step in zip(("less", "more"), STEPS, strict=True)
    ),
)


def recipes() -> dict[str, dict[str, object]]:
    """All of them, for the settings."""
    return {rung.name: dict(rung.table) for rung in (*LADDER, *CHOICES) if rung.table is not None}

"""What is compared: the default recall, its single signals, and their plain sum, each a recipe of the settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from perdure.recall.recipe import FIELDS

_NOTHING: Final[Mapping[str, float]] = {name: 0.0 for name in FIELDS if name.endswith("_weight")}


class System(NamedTuple):
    """`table` is the recipe; without one it is the default. Without a floor the limit is filled whatever fits."""

    name: str
    about: str
    table: Mapping[str, object] | None = None
    has_floor: bool = False


DEFAULT: Final = System("default", "default", has_floor=True)
UNFLOORED: Final = System("no-floor", "default, no floor")
WORDS: Final = System("words-alone", "words alone", {**_NOTHING, "keyword_weight": 1.0})
MEANING: Final = System("meaning-alone", "meaning alone", {**_NOTHING, "vector_weight": 1.0})
SUM: Final = System("sum", "plain sum", {**_NOTHING, "keyword_weight": 0.5, "vector_weight": 0.5})
SYSTEMS: Final = (DEFAULT, UNFLOORED, WORDS, MEANING, SUM)
SINGLE: Final = (WORDS, MEANING)
# Not of Perdure: bench/recall/fts5.py.
FTS5: Final = System("fts5", "SQLite FTS5")


def recipes() -> dict[str, dict[str, object]]:
    """All of them, for the settings."""
    return {system.name: dict(system.table) for system in SYSTEMS if system.table is not None}

"""How likely something is still remembered, after so many days without use. A pure function of two numbers."""

from __future__ import annotations

from typing import Final

from perdure.model import Record

# The forgetting curve of FSRS: after as many days as its stability, 0.9 is left.
_FACTOR: Final = 19 / 81
_EXPONENT: Final = -0.5
_STABILITY: Final = 1.0
_LONGEST: Final = 1e9


def retrievability(stability: float, days: float) -> float:
    return (1.0 + _FACTOR * max(0.0, days) / stability) ** _EXPONENT


def stability_of(record: Record) -> float:
    """In days, from `metadata.stability`; what makes no sense there counts as not said."""
    given = record.metadata.get("stability")
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= _LONGEST:
        return _STABILITY
    return float(given)

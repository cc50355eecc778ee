"""Which entries of a bank are stale: ten or more features were begun since they were last observed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final, NamedTuple

from perdure.bank.entries import BankEntry

# An entry is stale when this many features are newer than the one it was last observed in.
STALE_AFTER: Final = 10
_FEATURE = re.compile(r"feature\s*#?\s*(\d{1,9})", re.IGNORECASE)
_FOLDER = re.compile(r"(\d{1,9})(?:-|$)")
_OBSERVED: Final = ("observed in", "source", "used in")


class StaleEntry(NamedTuple):
    name: str
    category: str
    last_observed: str
    later_features: int


def feature_numbers(project: Path) -> frozenset[int]:
    """The features of a project: its folders `docs/features/{id}-{slug}`."""
    try:
        names = [path.name for path in (project / "docs" / "features").iterdir() if path.is_dir()]
    except OSError:
        return frozenset()
    return frozenset(int(number[1]) for name in names if (number := _FOLDER.match(name)))


def last_feature(entry: BankEntry) -> int | None:
    """The feature that an entry was last observed in; where it does not say, the newest one that it names. A day tells
    of no feature.
    """
    named = " ".join(value for name, value in entry.fields if name.lower() in _OBSERVED)
    numbers = _FEATURE.findall(entry.last_observed or named)
    return max(map(int, numbers)) if numbers else None


def stale_entries(entries: Iterable[BankEntry], features: Collection[int]) -> list[StaleEntry]:
    """Pure. An entry that names no feature is never stale: nothing says how old it is."""
    stale: list[StaleEntry] = []
    for entry in entries:
        last = last_feature(entry)
        later = 0 if last is None else sum(number > last for number in features)
        if later >= STALE_AFTER:
            stale.append(StaleEntry(entry.name, entry.category, entry.last_observed or f"Feature #{last:03}", later))
    return stale

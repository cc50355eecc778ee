"""Which SQLite engines may write ahead. Below the floor, a reset of the log during a checkpoint can damage the file."""

from __future__ import annotations

from typing import Final

APPLICATION_ID: Final = 0x50657264  # "Perd"

_FLOOR: Final = 3_051_003
# Lines that got the repair ported back: from the first number on, below the second.
_REPAIRED: Final = ((3_050_007, 3_051_000), (3_044_006, 3_045_000))


def engine_is_safe(version_number: int) -> bool:
    """`version_number` as SQLite counts: 3.51.3 is 3051003."""
    return version_number >= _FLOOR or any(first <= version_number < end for first, end in _REPAIRED)


def version_number(version: str) -> int:
    """3.51.3 as 3051003."""
    major, minor, patch = (int(part) for part in version.split(".")[:3])
    return major * 1_000_000 + minor * 1_000 + patch

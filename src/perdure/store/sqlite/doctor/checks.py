"""The SQL of the checks, and how they name a memory by its slot."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from perdure.store.queries import load_queries
from perdure.store.rows import NUMBER_BITS, NUMBER_MASK

CHECKS: Final = load_queries(Path(__file__).with_name("checks.sql"))


def memory_label(names: dict[int, str], slot: int) -> str:
    return f"{slot & NUMBER_MASK} of {names.get(slot >> NUMBER_BITS, '?')!r}"

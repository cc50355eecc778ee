"""To forget something must be possible on a full disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from perdure.errors import StoreFull
from perdure.store.port import Store

Answer = TypeVar("Answer")


def with_reserve(store: Store, act: Callable[[], Answer]) -> Answer:
    """Once more, when there is space that was kept for this. `act` must have changed nothing when it fails."""
    try:
        return act()
    except StoreFull:
        if not store.release_reserve():
            raise
        return act()

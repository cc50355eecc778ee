"""Forgetting must be possible on a full disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from perdure.errors import StoreFull
from perdure.store.port import Store

Answer = TypeVar("Answer")


def retry_with_reserve(store: Store, write: Callable[[], Answer]) -> Answer:
    """Call `write` once more when the disk is full and the store had space in reserve. A `write` that fails must have
    changed nothing.
    """
    try:
        return write()
    except StoreFull:
        if not store.release_reserve():
            raise
        return write()

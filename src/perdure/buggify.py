"""Named places inside multi-step work where a test may let the process fail or die. Nothing happens unless armed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

_armed: Final[list[Callable[[str], None]]] = []


def point(label: str) -> None:
    if _armed:
        _armed[0](label)


def arm(action: Callable[[str], None]) -> None:
    """Let `action` see every label that is passed from now on. For tests alone."""
    _armed[:] = [action]


def disarm() -> None:
    _armed.clear()

"""How memories are found. A module of this package is loaded when a verb first needs it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perdure.recall import envelope, pack, past_index, query

__all__ = ["envelope", "pack", "past_index", "query"]


def __getattr__(name: str) -> object:
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

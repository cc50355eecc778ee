"""How memories change. A module of this package is loaded when a verb first needs it, so a process pays for what it
does: `lifecycle.erase.erase(…)` loads `lifecycle/erase.py`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perdure.lifecycle import (
        backup,
        capacity,
        checkpoint,
        constitution,
        correction,
        egress,
        erase,
        erase_again,
        feedback,
        forget,
        import_export,
        lookup,
        parked,
        provider_check,
        secret_sweep,
        selection,
        summary,
        undo,
        update,
        vectors,
        versions,
        write,
    )

__all__ = [
    "backup", "capacity", "checkpoint", "constitution", "correction", "egress", "erase", "erase_again", "feedback",
    "forget", "import_export", "lookup", "parked", "provider_check", "secret_sweep", "selection", "summary", "undo",
    "update", "vectors", "versions", "write",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Perdure: memory that outlives the session.

from perdure import Memory
with Memory("agent.db") as mem:
    mem.remember("Alice prefers dark mode", tags=["ui"], category="preference")
    for hit in mem.recall("which theme does she like?"):
        print(hit.relevance, hit.record.text)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perdure import errors
    from perdure.async_memory import AsyncMemory
    from perdure.episodes.conversation import Conversation
    from perdure.errors import PerdureError
    from perdure.learn.merge_results import MergeStep, Saved
    from perdure.learn.results import Decision, Proposal
    from perdure.memory import Memory
    from perdure.model import (
        Backup,
        BackupRestored,
        BudgetState,
        Capacity,
        Checkpoint,
        Constitution,
        Context,
        ContextItem,
        Contradiction,
        Detail,
        Diff,
        DiffPart,
        Egress,
        EgressDay,
        EvictionCandidate,
        Exported,
        Filter,
        Finding,
        Forgotten,
        Hit,
        Imported,
        MaintenanceResult,
        MarkdownCopy,
        NearMiss,
        Omitted,
        Outdated,
        Page,
        ParkedRetry,
        Recall,
        Record,
        Remembered,
        RevertResult,
        Revision,
        Signal,
        Skipped,
        SuggestedBy,
        Suggestions,
        Summary,
        Triggered,
        Version,
    )
    from perdure.semantic import SemanticMemoryStore

__version__ = "0.3.0"

__all__ = [
    "AsyncMemory",
    "Backup",
    "BackupRestored",
    "BudgetState",
    "Capacity",
    "Checkpoint",
    "Constitution",
    "Context",
    "ContextItem",
    "Contradiction",
    "Conversation",
    "Decision",
    "Detail",
    "Diff",
    "DiffPart",
    "Egress",
    "EgressDay",
    "EvictionCandidate",
    "Exported",
    "Filter",
    "Finding",
    "Forgotten",
    "Hit",
    "Imported",
    "MaintenanceResult",
    "MarkdownCopy",
    "Memory",
    "MergeStep",
    "NearMiss",
    "Omitted",
    "Outdated",
    "Page",
    "ParkedRetry",
    "PerdureError",
    "Proposal",
    "Recall",
    "Record",
    "Remembered",
    "RevertResult",
    "Revision",
    "Saved",
    "SemanticMemoryStore",
    "Signal",
    "Skipped",
    "SuggestedBy",
    "Suggestions",
    "Summary",
    "Triggered",
    "Version",
    "errors",
]


_ELSEWHERE = {
    "AsyncMemory": "perdure.async_memory",
    "Conversation": "perdure.episodes.conversation",
    "Decision": "perdure.learn.results",
    "Memory": "perdure.memory",
    "MergeStep": "perdure.learn.merge_results",
    "PerdureError": "perdure.errors",
    "Proposal": "perdure.learn.results",
    "Saved": "perdure.learn.merge_results",
    "SemanticMemoryStore": "perdure.semantic",
}


def __getattr__(name: str) -> object:
    """Importing is free: a name is loaded when it is first used."""
    if name == "errors":
        return import_module("perdure.errors")
    if name in __all__:
        return getattr(import_module(_ELSEWHERE.get(name, "perdure.model")), name)
    raise AttributeError(f"module 'perdure' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

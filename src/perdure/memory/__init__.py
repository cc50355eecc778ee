"""The façade: every verb of Perdure, one module for each group of them."""

from __future__ import annotations

from perdure.memory.context import Contextual
from perdure.memory.core import Progress, Reference
from perdure.memory.forgetting import Forgetting
from perdure.memory.past import Past
from perdure.memory.reading import MAX_LIMIT
from perdure.memory.standing import Standing
from perdure.memory.summing import Summing
from perdure.memory.undoing import Undoing
from perdure.memory.upkeep import Upkeep
from perdure.memory.writing import Writing

__all__ = ["MAX_LIMIT", "Memory", "Progress", "Reference"]


class Memory(Writing, Forgetting, Contextual, Past, Undoing, Standing, Summing, Upkeep):
    """One durable memory: a local file, or whatever else implements the store.

    Without arguments it opens the user's own memory. It is safe to share between threads, and any number of
    processes may open the same file. Use it as a context manager, or call `close`.
    """

"""The verbs about how much a memory counts, and how many there may be."""

from __future__ import annotations

from perdure.memory.core import Core


class Standing(Core):
    pass

"""The verbs that bring an earlier state back: undo and checkpoints."""

from __future__ import annotations

from perdure.memory.core import Core


class Undoing(Core):
    pass

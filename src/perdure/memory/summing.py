"""The verb that makes one text of many memories."""

from __future__ import annotations

from perdure.memory.core import Core


class Summing(Core):
    pass

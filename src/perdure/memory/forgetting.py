"""The verbs that take a memory away."""

from __future__ import annotations

from typing import Literal

from perdure.errors import UnknownChoice, shown
from perdure.memory.core import Core, Reference
from perdure.model import Record


class Forgetting(Core):
    def forget(self, ref: Reference, mode: Literal["soft"] = "soft") -> Record:
        """Forget a memory: it leaves every list and every search at once, and `restore` brings it back."""
        from perdure.lifecycle.change import forget

        if mode != "soft":
            raise UnknownChoice(f"There is no way to forget called {shown(mode)}.", remedy="Use mode='soft'.")
        return forget(self._parts.engine, self._find(ref))

"""The verbs that look back, and those that bring something back."""

from __future__ import annotations

from perdure.errors import StoreDamaged
from perdure.ids import parse_reference
from perdure.memory.core import Core, Reference
from perdure.model import Revision


class Past(Core):
    def history(self, ref: Reference) -> list[Revision]:
        """Everything that ever happened to a memory, oldest first, also when it is forgotten."""
        store, reference = self._parts.store, parse_reference(ref)
        try:
            number = self._find(ref).number
        except StoreDamaged:
            # The log may still hold what the record lost; by its number it can be read without the record.
            if reference.number is None:
                raise
            number = reference.number
        return store.revisions(self._namespace, number)

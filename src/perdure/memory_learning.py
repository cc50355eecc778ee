"""The verbs of learning: what `Memory` does with what it was told. Each loads what it needs when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perdure.open_memory import OpenMemory
from perdure.validation import Reference

if TYPE_CHECKING:
    from perdure.learn.proposals import Proposal
    from perdure.learn.review import Decision


class LearningMemory(OpenMemory):
    """A memory that merges, and asks a person about what it may not decide alone."""

    def review(self, kind: str | None = None, *, limit: int = 20) -> list[Proposal]:
        """List what waits for a person, newest first: pairs of memories that may say the same (`merge`), or cannot both
        be true (`conflict`).
        """
        from perdure.learn.proposals import review

        return review(self._services, self._namespace, kind, limit)

    def reject(self, proposal: Proposal | Reference) -> Decision:
        """Leave both memories of a proposal as they are. The pair is not proposed again, unless one of them changes.
        Only a person may do this.
        """
        from perdure.learn.review import reject

        return reject(self._services, self._namespace, proposal)

"""Who writes, from where, and by which clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from perdure.clock import Clock
from perdure.ids import new_id
from perdure.model import Change, Operation


@dataclass(frozen=True, slots=True)
class Author:
    actor: str
    surface: str
    session: str | None
    clock: Clock
    is_person: bool = True

    def batch(self) -> Batch:
        return Batch(self, new_id(), self.clock())


@dataclass(frozen=True, slots=True)
class Batch:
    """What one call does, at one moment; all its changes are undone together."""

    author: Author
    id: str
    at: datetime

    def change(self, operation: Operation, request: str | None = None) -> Change:
        author = self.author
        return Change(operation, self.at, self.id, author.actor, author.surface, author.session, request)

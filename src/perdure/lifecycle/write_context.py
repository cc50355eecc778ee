"""Who writes, from where, and by which clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from perdure.clock import Clock
from perdure.ids import new_id
from perdure.model import Change, Operation


@dataclass(frozen=True, slots=True)
class WriteContext:
    actor: str
    surface: str
    session: str | None
    clock: Clock
    is_person: bool = True

    def batch(self) -> WriteBatch:
        return WriteBatch(self, new_id(), self.clock())


@dataclass(frozen=True, slots=True)
class WriteBatch:
    """The changes of one call, made at one moment; all of them are undone together."""

    context: WriteContext
    id: str
    at: datetime

    def change(self, operation: Operation, request: str | None = None) -> Change:
        context = self.context
        return Change(operation, self.at, self.id, context.actor, context.surface, context.session, request)

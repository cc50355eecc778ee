"""Who writes, from where, and by which clock."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from perdure.clock import Clock
from perdure.errors import UnknownChoice, shown
from perdure.ids import new_id
from perdure.model import Change, Operation
from perdure.validation import check_single_line, optional


@dataclass(frozen=True, slots=True)
class WriteContext:
    actor: str
    surface: str
    session: str | None
    clock: Clock
    is_person: bool = True

    @classmethod
    def checked(cls, actor: str, surface: str, session: str | None, writer: str, clock: Clock) -> WriteContext:
        if writer not in {"person", "model"}:
            raise UnknownChoice(f"There is no writer {shown(writer)}.", remedy="Use 'person' or 'model'.")
        return cls(
            check_single_line(actor, "actor"),
            check_single_line(surface, "surface"),
            optional(check_single_line, session, "session"),
            clock,
            is_person=writer == "person",
        )

    def batch(self) -> WriteBatch:
        opened = _opened.get()
        return WriteBatch(self, opened.id if opened and opened.context is self else new_id(), self.clock())

    @contextmanager
    def one_batch(self) -> Generator[str]:
        """Every change of this thread until the end of the block belongs to one batch, whose id is given."""
        batch = self.batch()
        token = _opened.set(batch)
        try:
            yield batch.id
        finally:
            _opened.reset(token)


@dataclass(frozen=True, slots=True)
class WriteBatch:
    """The changes of one call, made at one moment; all of them are undone together."""

    context: WriteContext
    id: str
    at: datetime

    def change(self, operation: Operation, request: str | None = None) -> Change:
        context = self.context
        return Change(operation, self.at, self.id, context.actor, context.surface, context.session, request)


# The batch that the running thread or task has opened, if any.
_opened: Final[ContextVar[WriteBatch | None]] = ContextVar("opened", default=None)

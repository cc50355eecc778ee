"""Who writes, from where, and by which clock."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import partial
from typing import Final

from perdure.clock import Clock, aware, system_clock
from perdure.errors import InvalidInput, UnknownChoice, shown
from perdure.ids import is_id, new_id
from perdure.model import BY_MODEL, NOTHING, Change, Json, Operation
from perdure.validation import check_single_line, optional
from perdure.values import value_class
from perdure.vocabulary import WRITERS

# In the provenance of a line: who chose the keywords that came without the text.
CHOSEN_BY: Final = "keywords_chosen_by"
# And the numbers of the memories that what it says was compared with (learn/compare.py).
COMPARED_WITH: Final = "compared_with"


@value_class
class WriteContext:
    actor: str
    surface: str
    session: str | None
    clock: Clock
    is_person: bool = True

    @classmethod
    def checked(cls, actor: str, surface: str, session: str | None, writer: str, clock: Clock) -> WriteContext:
        if writer not in WRITERS:
            raise UnknownChoice(f"There is no writer {shown(writer)}.", remedy="Use 'person' or 'model'.")
        return cls(
            check_single_line(actor, "actor"),
            check_single_line(surface, "surface"),
            optional(check_single_line, session, "session"),
            clock if clock is system_clock else partial(aware, clock),
            is_person=writer == "person",
        )

    def batch(self, session: str | None = None) -> WriteBatch:
        """`session` is what the memory itself says, if this process was not told its session."""
        opened = _opened.get()
        id = opened.id if opened and opened.context is self else new_id()
        return WriteBatch(self, id, self.clock(), self.session or session)

    @property
    def is_in_batch(self) -> bool:
        """Whether what is written now belongs to a batch that was opened before: it may be one of many."""
        opened = _opened.get()
        return opened is not None and opened.context is self

    @contextmanager
    def one_batch(self, id: str | None = None) -> Generator[str]:
        """Every change of this thread until the end of the block belongs to one batch, whose id is given."""
        if id is not None and not is_id(id):
            raise InvalidInput(f"{shown(id)} is not the id of a batch.", remedy="Use the one that `batch()` gave.")
        batch = self.batch() if id is None else WriteBatch(self, id, self.clock(), self.session)
        token = _opened.set(batch)
        try:
            yield batch.id
        finally:
            _opened.reset(token)


@value_class
class WriteBatch:
    """The changes of one call, made at one moment; all of them are undone together."""

    context: WriteContext
    id: str
    at: datetime
    session: str | None = None

    def change(
        self, operation: Operation, request: str | None = None, provenance: Mapping[str, Json] = NOTHING
    ) -> Change:
        context = self.context
        surface = context.surface if context.is_person else f"{context.surface}{BY_MODEL}"
        who = (context.actor, surface, self.session)
        return Change(operation, self.at, self.id, *who, request, provenance)


def is_by_person(change: Change) -> bool:
    return not change.surface.endswith(BY_MODEL)


# The batch that the running thread or task has opened, if any.
_opened: Final[ContextVar[WriteBatch | None]] = ContextVar("opened", default=None)

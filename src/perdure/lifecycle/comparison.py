"""The port through which the write path compares memories (learn/compare.py implements it)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from perdure.lifecycle.write import Plan, PreparedWrite
    from perdure.lifecycle.write_context import WriteBatch
    from perdure.model import Contradiction, Record, Remembered
    from perdure.store.port import Writer


# A process that has not searched yet compares at a write only if the log has at most this many lines.
COLD_LINES: Final = 2_000


class Comparison(Protocol):
    """One memory beside those that are near it: looked at before the transaction, and written down inside it."""

    def observe(self, plan: Plan, prepared: PreparedWrite) -> Remembered | None:
        """Look at the memories near the planned one. Where one of them says the same, it is observed once more, and
        that is the answer.
        """
        ...

    def mark(self, writer: Writer, plan: Plan) -> Plan:
        """The plan, with a mark in its provenance if everything near it was looked at."""
        ...

    def propose(self, writer: Writer, batch: WriteBatch, record: Record) -> tuple[Contradiction, ...]:
        """Propose to a person what the stored memory contradicts."""
        ...

"""The verbs about how much a memory counts, and how many there may be."""

from __future__ import annotations

from typing import Final

from perdure.ids import MAX_NUMBER
from perdure.lifecycle.capacity import UNCHANGED, Limit
from perdure.memory.core import Core, Reference
from perdure.memory.reading import MAX_LIMIT
from perdure.model import Capacity, Constitution, Filter, Page, Remembered
from perdure.validation import check_bool, check_fields, check_int

_MOST: Final = 10**12


class Standing(Core):
    def validate(self, ref: Reference, useful: bool) -> Remembered:  # noqa: FBT001 - the one thing that is asked
        """Say whether a memory was useful: its confidence rises or falls. After five judgements and with a confidence
        of 0.9 or more it is offered the tier `critical`, which `promote` accepts.
        """
        from perdure.lifecycle.feedback import validate

        judged = check_bool(useful, "useful")
        return self._done(validate(self._services, self._find(ref), useful=judged), ())

    def promote(self, ref: Reference, tier: str | None = None) -> Remembered:
        """Give a memory the tier that is on offer for it, or the one named. Only a person may do this."""
        from perdure.lifecycle.constitution import over_budget
        from perdure.lifecycle.feedback import promote

        wanted = None if tier is None else check_fields({"tier": tier})["tier"]
        done = promote(self._services, self._find(ref), wanted)
        return self._done(done, over_budget(self._services, done.record))

    def offers(self, *, limit: int = 20, after: int | None = None) -> Page:
        """The memories that wait for somebody to `promote` them, newest first."""
        most = check_int(limit, "limit", 1, MAX_LIMIT)
        if after is not None:
            check_int(after, "after", 0, MAX_NUMBER)
        wanted = Filter(offered=True, unexpired_at=self._services.context.clock())
        records = self._services.store.page(self._namespace, wanted, after=after, limit=most + 1, newest=True)
        return Page(tuple(records[:most]), records[most - 1].number if len(records) > most else None)

    def constitution(self) -> Constitution:
        """The memories that are always surfaced, oldest first, as many as fit their budget of tokens."""
        from perdure.lifecycle.constitution import constitution

        return constitution(self._services, self._namespace)

    def capacity(self, *, max_items: Limit = UNCHANGED, max_tokens: Limit = UNCHANGED) -> Capacity:
        """How full this namespace is, and what would be evicted first. With a limit it sets one for this namespace
        alone; 0 or None removes it, so that the settings count again. A lower limit evicts nothing by itself: the next
        write makes room.
        """
        from perdure.lifecycle.capacity import capacity, set_limits

        items, tokens = _limit(max_items, "max_items"), _limit(max_tokens, "max_tokens")
        if (items, tokens) != (UNCHANGED, UNCHANGED):
            set_limits(self._services, self._namespace, items, tokens)
        return capacity(self._services, self._namespace)


def _limit(value: Limit, field: str) -> Limit:
    return value if value is None or value == UNCHANGED else check_int(value, field, 0, _MOST)

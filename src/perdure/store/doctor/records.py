"""A memory beside everything that is derived from it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from perdure.model import INDEXED_STATES, Record
from perdure.store.links import links_of
from perdure.store.rows import Row, entry_columns
from perdure.text.entry import entry_of
from perdure.text.tokens import MOST_PER_CHARACTER, estimate


@dataclass(frozen=True, slots=True)
class ExaminedRow:
    """A row of the memory table beside everything derived from it. `record` is None when the row is damaged.

    `entry` is what the keyword index holds of it: its terms, and behind them as many of the other columns of
    `entry_columns` as the store keeps, as bytes. `tags` are a JSON list, `links` one of `kind ID`, the id in capital
    hexadecimal digits.
    """

    slot: int
    record: Record | None = None
    matches_log: bool = False
    entry: Row = ()
    tokens: object = None
    tags: bytes | str = b""
    links: bytes | str = b""

    @property
    def has_entry(self) -> bool:
        return self.entry[0] is not None

    @property
    def entry_is_right(self) -> bool:
        """True for a memory that is not indexed: another check finds an entry that it should not have."""
        if self.record is None or self.record.state not in INDEXED_STATES:
            return True
        terms, *texts, _ = entry_columns(entry_of(self.record))
        columns = (terms, *(text.encode() for text in texts))
        return self.entry == columns[: len(self.entry)] and self._tokens_are_plausible(self.record)

    @property
    def tags_are_right(self) -> bool:
        try:
            return self.record is None or set(json.loads(self.tags)) == set(self.record.tags)
        except ValueError:
            return False

    @property
    def links_are_right(self) -> bool:
        if self.record is None:
            return True
        named = {f"{kind} {target.hex().upper()}" for kind, target in links_of(self.record)}
        try:
            return set(json.loads(self.links)) == named
        except ValueError:
            return False

    def rebuilt_entry(self, record: Record) -> Row:
        """The tokens were counted by whoever wrote the memory; they are estimated only when they cannot be right."""
        own = self.entry[0] == entry_of(record).terms and self._tokens_are_plausible(record)
        kept = self.tokens if own and isinstance(self.tokens, int) else estimate(record.text)
        return entry_columns(entry_of(record, lambda _: kept))

    def _tokens_are_plausible(self, record: Record) -> bool:
        return isinstance(self.tokens, int) and 0 <= self.tokens <= MOST_PER_CHARACTER * (len(record.text) + 1)

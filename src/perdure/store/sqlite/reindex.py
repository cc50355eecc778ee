"""The keyword index of a store that an earlier version made, brought to the words of this one."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import apsw

from perdure.store.rows import NUMBER_MASK, entry_columns, range_of
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.reader import SqliteReader
from perdure.store.sqlite.sql import SQL
from perdure.text.entry import entry_of, terms_length
from perdure.text.patterns import pattern
from perdure.text.words import FOLDED, HUMPED
from perdure.values import replace

_BATCH_SIZE: Final = 256
# Where a letter of ASCII stands beside another one, an identifier was split in the middle of a word.
_BESIDE: Final = pattern(r"[A-Za-z0-9](?![\x00-\x7f])\w|(?![\x00-\x7f])\w[A-Za-z0-9]")


def reindex(connection: Database) -> None:
    """Within the caller's transaction. Memories that cannot be read, and what cannot be read of the index, are left for
    `doctor`: a store with damage opens all the same.
    """
    with suppress(apsw.CorruptError):
        for namespace, name in connection.execute(SQL["namespace_names"]).fetchall():
            reader = SqliteReader(connection, namespace, name)
            entries = connection.execute(SQL["entries_to_look_at"], range_of(namespace))
            # The names in a key were not indexed.
            slots, words = [slot for slot, keyed, text in entries if keyed or words_changed(text)], 0
            for first in range(0, len(slots), _BATCH_SIZE):
                portion = slots[first : first + _BATCH_SIZE]
                for record in reader.fetch([slot & NUMBER_MASK for slot in portion]):
                    slot = range_of(namespace)[0] | record.number
                    (before,) = connection.execute(SQL["entry_before"], (slot,)).fetchall()
                    entry = entry_columns(replace(entry_of(record), tokens=before[-1]))
                    if entry != before:
                        connection.execute(SQL["change_entry"], (*entry, slot))
                        words += terms_length(entry[0]) - terms_length(before[0])
            connection.execute(SQL["add_words"], (words, namespace))


def words_changed(text: str) -> bool:
    """Whether the words of a text may be others now: the rules changed for letters beyond ASCII alone."""
    return bool(FOLDED.search(text) or (HUMPED.search(text) and _BESIDE.search(text)))

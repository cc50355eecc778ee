"""What the payloads of an erased memory tell, so that a store knows what else has to go; and the list of what was
erased, which is kept outside a store, as hashes of ids, so that no backup brings it back.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Final, NamedTuple, TypeAlias

from perdure.errors import StoreDamaged
from perdure.lineage import DROPPED
from perdure.store.rows import decode_payload
from perdure.text.entry import passage_hash
from perdure.text.patterns import pattern

# The operation of the log entry that an erasure leaves.
ERASE: Final = "erase"
# What a payload raises that is not as it was written.
_UNREADABLE_PAYLOAD: Final = (StoreDamaged, UnicodeError, AttributeError, TypeError)
_LINE: Final = pattern(rb"^([0-9a-f]{64}) ([0-9TZ:.+-]{0,40})$", re.MULTILINE)

# The fingerprint of each id, and when the memory was erased.
LedgerLines: TypeAlias = Mapping[str, str]


def fingerprint(memory: str) -> str:
    """An id is random enough that it cannot be guessed."""
    return sha256(memory.encode()).hexdigest()


def parse_ledger(content: bytes) -> LedgerLines:
    """Lines that are torn or foreign are skipped."""
    return {memory.decode(): at.decode() for memory, at in _LINE.findall(content)}


def append_lines(descriptor: int, lines: LedgerLines) -> None:
    """To the file of a ledger, open for appending. On disk when this returns."""
    text = "".join(f"{memory} {at}\n" for memory, at in lines.items())
    size = os.fstat(descriptor).st_size
    torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
    rest = memoryview((b"\n" if torn else b"") + text.encode())
    while rest:
        # The system may take a part at a time.
        rest = rest[os.write(descriptor, rest) :]
    os.fsync(descriptor)


class Passages(NamedTuple):
    """Hashes of passages. Not `complete`: a payload could not be read, so there may be others."""

    hashes: set[bytes]
    complete: bool


def passages_of(bodies: Iterable[str | bytes | None]) -> Passages:
    """The passages of payloads. The passage of a payload that is gone (None) is gone too."""
    hashes: set[bytes] = set()
    complete = True
    for body in bodies:
        try:
            if body is not None:
                hashes.add(passage_hash(decode_payload(body).record))
        except _UNREADABLE_PAYLOAD:
            complete = False
    return Passages(hashes, complete)


def dropped_by_name(bodies: Iterable[str | bytes | None]) -> set[int]:
    """The positions whose payloads were dropped one by one, as the payloads of the memory's later entries say."""
    named: set[int] = set()
    for body in bodies:
        with suppress(*_UNREADABLE_PAYLOAD):
            told = decode_payload(body).provenance.get(DROPPED) if body is not None else None
            named.update(seq for seq in (told if isinstance(told, list) else ()) if isinstance(seq, int))
    return named

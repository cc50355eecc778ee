"""What the payloads of an erased memory tell, so that a store knows what else has to go."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Final, NamedTuple

from perdure.errors import StoreDamaged
from perdure.lineage import DROPPED
from perdure.store.rows import decode_payload
from perdure.text.entry import passage_hash

# The operation of the log entry that an erasure leaves.
ERASE: Final = "erase"
# What a payload raises that is not as it was written.
_UNREADABLE_PAYLOAD: Final = (StoreDamaged, UnicodeError, AttributeError, TypeError)


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

"""Names of what belongs to a conversation: `message:support-42/00000007` is its seventh message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Final
from urllib.parse import quote

from perdure.errors import InvalidInput
from perdure.ids import EPISODE, MESSAGE
from perdure.store.port import Reader

# Positions have this many digits, so that keys sort as they were counted.
_DIGITS: Final = 8
_MAX_POSITION: Final = 10**_DIGITS - 1
# A name that is longer would leave no room in a key.
_LONGEST_NAME: Final = 200
_POSITION: Final = re.compile(rf"[0-9]{{{_DIGITS}}}")
_FEW: Final = 16
_FIRST: Final = "/"
# The character after it: what begins so comes after everything of the same conversation.
_BEYOND: Final = "0"


def conversation_name(conversation: str) -> str:
    """A conversation as it stands in keys. Whatever its id is, no two have the same name: what a key cannot hold is
    written as in a URL, and what is too long as a digest, which alone begins with a tilde.
    """
    name = quote(conversation, safe="@+=,").replace("~", "%7E")
    return name if len(name) <= _LONGEST_NAME else f"~{sha256(conversation.encode()).hexdigest()[:32]}"


def prefix_of(kind: str, conversation: str) -> str:
    return f"{kind}:{conversation_name(conversation)}{_FIRST}"


def key_of(kind: str, conversation: str, position: int) -> str:
    if position > _MAX_POSITION:
        raise InvalidInput(f"A conversation has at most {_MAX_POSITION:,} messages.", remedy="Begin another one.")
    return f"{prefix_of(kind, conversation)}{position:0{_DIGITS}}"


def position_of(key: str) -> int | None:
    """None for a key that somebody else gave."""
    position = key.rpartition(_FIRST)[2]
    return int(position) if _POSITION.fullmatch(position) else None


def numbers_by_position(reader: Reader, kind: str, conversation: str, after: int = 0) -> Iterator[tuple[int, int]]:
    """Position and number of everything of one kind behind a position, in whatever state."""
    prefix, last = prefix_of(kind, conversation), key_of(kind, conversation, after)
    while found := reader.keys(prefix, limit=1000, after=last):
        last = found[-1][0]
        yield from ((place, number) for key, number in found if (place := position_of(key)) is not None)


def last_position(reader: Reader, kind: str, conversation: str) -> int:
    """0 where there is none yet."""
    prefix = prefix_of(kind, conversation)
    # Somebody may have given a key that begins so and ends otherwise; of such keys there are few.
    limit = _FEW
    while found := reader.keys(prefix, limit=limit, newest=True):
        for key, _ in found:
            if (position := position_of(key)) is not None:
                return position
        if len(found) < limit:
            break
        limit *= _FEW
    return 0


def next_position(reader: Reader, conversation: str) -> int:
    """Of a message. The position of an erased one that is part of an episode is not given again."""
    return 1 + max(last_position(reader, kind, conversation) for kind in (MESSAGE, EPISODE))


def conversations_with(reader: Reader, kind: str) -> list[str]:
    """The ids of the conversations that have memories of this kind, in whatever state, by name."""
    found = list(conversations(reader, kind))
    first = {record.number: record for record in reader.fetch([number for _, number in found])}
    ids: list[str] = []
    for prefix, number in found:
        record, after = first.get(number), ""
        # Somebody may have given such a key to a memory that is in no conversation; others stand behind it.
        while record is None or not record.conversation_id or prefix_of(kind, record.conversation_id) != prefix:
            keys = reader.keys(prefix, limit=1, after=after)
            if not keys:
                break
            [(after, other)] = keys
            record = reader.by_number(other)
        else:
            ids.append(record.conversation_id)
    return ids


def conversations(reader: Reader, kind: str) -> Iterator[tuple[str, int]]:
    """The beginning of the keys of each conversation, and the number of its first memory. It costs one look at the
    index for each, however many messages there are.
    """
    after = ""
    while found := reader.keys(f"{kind}:", limit=1, after=after):
        [(key, number)] = found
        name, slash, _ = key.rpartition(_FIRST)
        if slash and position_of(key) is not None:
            yield f"{name}{slash}", number
            after = f"{name}{_BEYOND}"
        else:
            after = key

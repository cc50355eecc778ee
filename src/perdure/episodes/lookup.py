"""Reading episodes, and the messages that they are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from typing import Final

from perdure.episodes.keys import numbers_by_position, position_of, prefix_of
from perdure.episodes.metadata import CONSOLIDATED_AT, FIRST_MESSAGE
from perdure.ids import EPISODE, MESSAGE, parse_reference
from perdure.model import Record
from perdure.store.port import Reader

_READ_AT_ONCE: Final = 500
_LAST: Final = 16


def episodes_of(reader: Reader, conversation: str) -> Iterator[Record]:
    """Those that are there, oldest first."""
    return _active(reader, [number for _, number in numbers_by_position(reader, EPISODE, conversation)])


def unconsolidated(reader: Reader, conversation: str) -> list[Record]:
    """The episodes from which nothing was learned yet, oldest first."""
    return [record for record in episodes_of(reader, conversation) if CONSOLIDATED_AT not in record.metadata]


def messages_after(reader: Reader, conversation: str, position: int) -> Iterator[Record]:
    """Those that are there, in the order of their positions."""
    return _active(reader, [number for _, number in numbers_by_position(reader, MESSAGE, conversation, position)])


def last_message(reader: Reader, conversation: str) -> Record | None:
    """The newest one that is there; None where none is."""
    found = reader.keys(prefix_of(MESSAGE, conversation), limit=_LAST, newest=True)
    numbers = [number for key, number in found if position_of(key) is not None]
    return next((record for record in reader.fetch(numbers) if record.state == "active"), None)


def messages_of_episode(reader: Reader, episode: Record) -> list[Record]:
    """The messages that an episode is made of, as far as they are there, in the order of their positions."""
    last, first = position_of(episode.key or "") or 0, episode.metadata.get(FIRST_MESSAGE)
    begin = first - 1 if isinstance(first, int) else 0
    numbers = numbers_by_position(reader, MESSAGE, episode.conversation_id or "", begin)
    chosen = [number for _, number in takewhile(lambda each: each[0] <= last, numbers)]
    made_of = set(episode.evidence)
    return [message for message in _active(reader, chosen) if message.id in made_of]


def conversation_count(reader: Reader, fact: Record) -> int:
    """How many conversations a fact is known from, by the episodes that say so. One whose episode is gone is still the
    one in which it was first said.
    """
    found = {episode.conversation_id for id in fact.evidence for episode in reader.find(parse_reference(id))}
    return len(found) or (1 if fact.evidence else 0)


def _active(reader: Reader, numbers: Sequence[int]) -> Iterator[Record]:
    rest = iter(numbers)
    while group := list(islice(rest, _READ_AT_ONCE)):
        yield from (record for record in reader.fetch(group) if record.state == "active")

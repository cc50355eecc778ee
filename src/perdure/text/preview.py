"""A memory at a glance: one line of about 20 tokens, or a few sentences."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from perdure.clock import local_day
from perdure.model import Level, Record
from perdure.text.unsafe_characters import UNSAFE_CHARACTERS

_LINE_CHARACTERS: Final = 80
_MAX_CHARACTERS: Final = 240
_CHARACTERS_READ: Final = 4096
_MORE: Final = "…"
# From here on a character of a script is about a token of its own.
_DENSE: Final = "\u1100"
_DENSE_COST: Final = 3


def when(record: Record) -> datetime:
    """The time of a memory: when it became true, else when it was created."""
    return record.valid_at or record.created_at


def one_line_preview(record: Record) -> str:
    """`#12 2026-03-14 [preference] Alice prefers dark mode`."""
    category = f"[{one_line(record.category)}] " if record.category else ""
    head = f"#{record.number} {local_day(when(record))} {category}"
    title = f"{record.title}: " if record.title else ""
    text = title + (record.abstract or _first(record.text, _LINE_CHARACTERS))
    return head + clip(one_line(text), _LINE_CHARACTERS - len(head))


def abstract(record: Record) -> str:
    """What somebody wrote as its abstract or summary, else as many of its first sentences as make a few lines."""
    return record.abstract or record.summary or _first(record.text, _MAX_CHARACTERS)


def at_level(record: Record, level: Level) -> str:
    """A memory as one line, as a few sentences, or in full."""
    if level == "index":
        return one_line_preview(record)
    return abstract(record) if level == "abstract" else record.text


def one_line(text: str) -> str:
    return " ".join(UNSAFE_CHARACTERS.sub(" ", text).split())


def clip(text: str, room: int) -> str:
    """The text, or the words of it that fit into so many characters of a script like this one."""
    if _cost(text) <= room:
        return text
    end, used = 0, 1
    for character in text:
        used += _cost(character)
        if used > room:
            break
        end += 1
    head = text[:end]
    words = head.rpartition(" ")[0] if text[end : end + 1] != " " else head
    return (words or head).rstrip() + _MORE


def _cost(text: str) -> int:
    return len(text) if text.isascii() else sum(_DENSE_COST if each >= _DENSE else 1 for each in text)


def _first(text: str, room: int) -> str:
    """As many sentences from the beginning as fit, at least a part of the first."""
    beginning = text[:_CHARACTERS_READ]
    head = ""
    from perdure.text.sentences import sentences

    for sentence in sentences(beginning):
        longer = f"{head} {sentence}" if head else sentence
        if head and _cost(longer) > room:
            break
        head = longer
    return clip(head or one_line(beginning), room)

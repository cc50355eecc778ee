"""What the keyword index keeps of one memory: its searchable columns, and its terms counted for the index in memory."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final
from zlib import crc32

from perdure.model import Record
from perdure.text.passage import passage_hash, setting
from perdure.text.tokens import estimate
from perdure.text.words import searchable, terms

# One term is five bytes: a 32-bit hash, then how often it occurs (255 at most). Two words of one hash count as one,
# which at a million different words concerns one in four thousand of them.
TERM_BYTES: Final = 5
_TERM: Final = struct.Struct("<IB")


@dataclass(frozen=True, slots=True)
class Entry:
    title: str
    text: str
    keywords: str
    reasoning: str
    tags: str
    anchor: str
    folder: str
    terms: bytes
    passage_hash: bytes
    tokens: int


def entry_of(record: Record, count: Callable[[str], int] = estimate) -> Entry:
    """`count` says how many tokens the text has; it is kept beside the words, for the limits of a namespace."""
    columns = columns_of(record)
    packed = pack_terms(terms("\n".join(columns)))
    return Entry(*columns, terms=packed, passage_hash=passage_hash(record), tokens=count(record.text))


def columns_of(record: Record) -> tuple[str, str, str, str, str, str, str]:
    """What is searched of a memory: title, text, keywords, reasoning, tags, anchor, folder."""
    return (
        searchable(record.title or ""),
        searchable(setting(record) + record.text),
        searchable(" ".join((*record.keywords, *record.trigger_phrases))),
        searchable(record.reasoning or ""),
        searchable(" ".join((record.category or "", *record.tags))),
        searchable(record.anchor_id or ""),
        searchable(record.spec_folder or ""),
    )


def term_hash(term: str) -> int:
    return crc32(term.encode("utf-8"))


def pack_terms(found: Iterable[str]) -> bytes:
    counts = Counter(map(term_hash, found))
    return b"".join(_TERM.pack(term, min(count, 255)) for term, count in sorted(counts.items()))


def unpack_terms(packed: bytes) -> dict[int, int]:
    return dict(_TERM.iter_unpack(packed))


def terms_length(packed: bytes) -> int:
    """The number of words, as far as the packed form counts them."""
    return sum(packed[4::TERM_BYTES])

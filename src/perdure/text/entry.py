"""What is indexed of one memory: the columns of the full-text index, its terms counted for the index in memory, and the
passage, which is the text that a model embeds.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Final, NamedTuple
from zlib import crc32

from perdure.ids import EPISODE, LEARNED, MESSAGE, PROPOSAL
from perdure.model import LEARNING_CATEGORIES, Record
from perdure.text.patterns import pattern
from perdure.text.tokens import estimate
from perdure.text.words import searchable, terms
from perdure.values import value_class

# One term is five bytes: a 32-bit hash, then how often it occurs (255 at most). Two words of one hash count as one,
# which at a million different words concerns one in four thousand of them.
TERM_BYTES: Final = 5
_TERM: Final = struct.Struct("<IB")
# In the metadata of a learning: the lines of its entry in a knowledge bank that are no fields of a memory.
BANK_LINES: Final = "bank_lines"
ADVICE: Final = ("instead:", "example:")
_COUNTED_KEYS: Final = (MESSAGE, EPISODE, PROPOSAL)
_NAME: Final = pattern(r"[^\W\d_]+-?[0-9]{3,}(?![^\W_])|[^\W\d_]{2,}")


@value_class
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
    """`count` counts the tokens of the text; the figure is kept in the entry, for the limits of a namespace."""
    columns = columns_of(record)
    packed = pack_terms(terms("\n".join(columns)))
    return Entry(*columns, terms=packed, passage_hash=passage_hash(record), tokens=count(record.text))


def columns_of(record: Record) -> tuple[str, str, str, str, str, str, str]:
    """The columns of the full-text index: title, text, keywords, reasoning, tags, anchor, folder."""
    title, text, keywords, reasoning, tags, anchor, folder = map(searchable, fields_of(record))
    return title, text, keywords, reasoning, tags, anchor, folder


def fields_of(record: Record) -> tuple[str, str, str, str, str, str, str]:
    """What these columns are made of, as it is written."""
    return (
        record.title or "",
        speaker_and_date(record) + record.text,
        " ".join((*(names_in_key(record.key) if record.key else ()), *record.keywords, *record.trigger_phrases)),
        "\n".join((record.reasoning or "", *(bank_lines(record) if BANK_LINES in record.metadata else ()))),
        " ".join((record.category or "", *record.tags)),
        record.anchor_id or "",
        record.spec_folder or "",
    )


def bank_lines(record: Record) -> tuple[str, ...]:
    """What the bank says of a learning beside its description, such as `Instead: ask for the encoding`."""
    lines = record.metadata.get(BANK_LINES) if record.category in LEARNING_CATEGORIES else None
    return tuple(line for line in lines if isinstance(line, str)) if isinstance(lines, list | tuple) else ()


def advice_first(record: Record) -> list[str]:
    """The same lines; what to do comes before what it cost."""
    return sorted(bank_lines(record), key=lambda line: not line.casefold().startswith(ADVICE))


def names_in_key(key: str) -> list[str]:
    """Whom or what a memory is about, if its key says so: `alice` of `person:alice`. Digits are mostly no names, but
    `PX-4711` and `E1042` are. The key of a message says which conversation it is of, not what it is about.
    """
    kind, _, name = key.partition(":")
    return [] if kind in _COUNTED_KEYS else _NAME.findall(name)


def speaker_and_date(record: Record) -> str:
    """When and who, as a person would write it before the sentence: `[8 May 2023] Caroline: `. A fact that was learned
    stands by itself (S2): whoever said it, and when it became true, it is about whom it names.
    """
    if record.source == LEARNED:
        return ""
    when = record.valid_at
    date = f"[{when.day} {when:%B %Y}] " if when else ""
    speaker = record.metadata.get("speaker")
    return f"{date}{speaker}: " if isinstance(speaker, str) and speaker else date


class Passage(NamedTuple):
    """What a model embeds of a memory, one part behind the other: `head` is its date, speaker, title and category;
    behind the keywords stand the lines that a bank has of a learning.
    """

    head: str
    text: str
    keywords: str


def passage(record: Record) -> Passage:
    title = f"{record.title}. " if record.title else ""
    category = f"{record.category}: " if record.category else ""
    words = (*record.keywords, *(bank_lines(record) if BANK_LINES in record.metadata else ()))
    keywords = f" {' '.join(words)}" if words else ""
    return Passage(f"{speaker_and_date(record)}{title}{category}", record.text, keywords)


def passage_hash(record: Record) -> bytes:
    """A vector is stored under this hash, so that no change of the passage can leave a stale vector behind."""
    return sha256("".join(passage(record)).encode("utf-8")).digest()[:16]


def term_hash(term: str) -> int:
    return crc32(term.encode("utf-8"))


def pack_terms(terms: Iterable[str]) -> bytes:
    counts = Counter(map(term_hash, terms))
    return b"".join(_TERM.pack(term, min(count, 255)) for term, count in sorted(counts.items()))


def unpack_terms(packed: bytes) -> dict[int, int]:
    return dict(_TERM.iter_unpack(packed))


def terms_length(packed: bytes) -> int:
    """The number of words; a word that occurs more than 255 times counts as 255."""
    return sum(packed[4::TERM_BYTES])

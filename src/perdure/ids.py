"""Names of a memory: number, id, content hash, key; and how a reference is told apart."""

from __future__ import annotations

import os
import threading
import time
import unicodedata
from contextlib import suppress
from hashlib import sha256
from typing import Final, NewType, TypeGuard

from perdure.errors import InvalidInput, InvalidReference, shown
from perdure.text.patterns import pattern
from perdure.values import value_class

MemoryId = NewType("MemoryId", str)
ContentHash = NewType("ContentHash", str)

# The types of keys that Perdure itself gives, one after the other, to what was said in a conversation, and to what it
# proposes.
MESSAGE: Final = "message"
EPISODE: Final = "episode"
PROPOSAL: Final = "proposal"
# Of these, what says again what other memories say: it is shown only where it is asked for.
ON_REQUEST: Final = (EPISODE, PROPOSAL)
KINDS: Final = (MESSAGE, *ON_REQUEST)
# What was said, as it was and in episodes: facts are learned from it.
_SAID: Final = (f"{MESSAGE}:", f"{EPISODE}:")
# The source of what a person wrote, and of what a model wrote in a session, in the words of S1.
BY_HAND: Final = "manual"
CAPTURED: Final = "session-capture"
# The source of the facts that were learned from conversations.
LEARNED: Final = "consolidation"
# Their session: they belong to a conversation, and to none of its sittings.
LEARNED_SESSION: Final = "facts"

_MAX_TYPE: Final = 64
_MAX_IDENTIFIER: Final = 256
_KEY = pattern(r"[A-Za-z][A-Za-z0-9_.-]{0,63}:[^\s:\x00-\x1f][^\x00-\x1f]{0,255}")
_HASH = pattern(r"[0-9a-f]{16}")
UUID = pattern(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
# Two words, or one of a script without spaces.
_WORDS = pattern(r"\S\s+\S|[\u3041-\u30ff\u3400-\u9fff]")
_NUMBER = pattern(r"#?([0-9]{1,10})")
MAX_NUMBER: Final = 2**32 - 1

_last = [0]
_lock = threading.Lock()


def new_id() -> MemoryId:
    """A UUIDv7 that never goes backwards within a process, even when the clock does."""
    with _lock:
        # The version's 12 spare bits hold the sub-millisecond part, so ids of one millisecond still sort.
        ticks = max((time.time_ns() * 4096) // 1_000_000, _last[0] + 1)
        _last[0] = ticks
    milliseconds, fraction = ticks >> 12, ticks & 0xFFF
    random = int.from_bytes(os.urandom(8)) & ((1 << 62) - 1)
    value = (milliseconds & ((1 << 48) - 1)) << 80 | 0x7 << 76 | fraction << 64 | 0b10 << 62 | random
    text = f"{value:032x}"
    return MemoryId(f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}")


def content_hash(text: str) -> ContentHash:
    """S1's identity of a text: case and white space do not count."""
    normal = " ".join(text.lower().split())
    return ContentHash(sha256(normal.encode("utf-8")).hexdigest()[:16])


def is_id(name: object) -> TypeGuard[MemoryId]:
    return isinstance(name, str) and UUID.fullmatch(name) is not None


def check_key(key: str) -> str:
    """The key in the one form that it is stored in, however its letters were put together."""
    key = unicodedata.normalize("NFC", key)
    if not _KEY.fullmatch(key):
        kind, colon, name = key.partition(":")
        wrong = "its type may have letters from a to z, digits, '_', '.' and '-', and begins with a letter"
        if not colon:
            wrong = "it has no colon"
        elif len(kind) > _MAX_TYPE or len(name) > _MAX_IDENTIFIER:
            wrong = f"its type may have {_MAX_TYPE} characters and its identifier {_MAX_IDENTIFIER}"
        elif _KEY.fullmatch(f"{kind}:x"):
            wrong = "its identifier is empty, begins with a space or a colon, or holds a control character"
        raise InvalidInput(
            f"{shown(key)} is not a key: {wrong}.",
            remedy="Write it as type:identifier, for example person:alice or location:new_york.",
        )
    return key


@value_class
class Reference:
    """What a caller's reference may mean; more than one field is set when it could be read in several ways."""

    text: str
    number: int | None = None
    id: MemoryId | None = None
    hash: ContentHash | None = None
    key: str | None = None


def is_said(key: str | None) -> bool:
    """Whether this is the key of a message or of an episode."""
    return key is not None and key.startswith(_SAID)


def is_sentence(ref: object) -> TypeGuard[str]:
    """Whether it says in words which memory is meant, and is no reference."""
    if not isinstance(ref, str) or not _WORDS.search(ref.strip()):
        return False
    with suppress(InvalidReference):
        parse_reference(ref)
        return False
    return True


def parse_reference(ref: int | str) -> Reference:
    if isinstance(ref, bool) or not isinstance(ref, int | str) or (isinstance(ref, int) and not 0 < ref < 2**63):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidReference(f"{shown(ref)} does not name a memory.")
    text = str(ref).strip()
    lowered = text.lower()
    if UUID.fullmatch(lowered):
        return Reference(text, id=MemoryId(lowered))
    number = _NUMBER.fullmatch(text)
    value = int(number[1]) if number else None
    reference = Reference(
        text,
        number=value if value is not None and 0 < value <= MAX_NUMBER else None,
        hash=ContentHash(lowered) if _HASH.fullmatch(lowered) else None,
        key=unicodedata.normalize("NFC", text) if _KEY.fullmatch(text) else None,
    )
    if reference.number is None and reference.hash is None and reference.key is None:
        raise InvalidReference(f"{shown(text)} does not name a memory.")
    return reference

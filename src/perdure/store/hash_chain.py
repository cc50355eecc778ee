"""The hash chain of a namespace's log, and the digests of its tombstones: pure functions, so that anyone can prove them
again.
"""

from __future__ import annotations

import hmac
import json
from hashlib import sha256
from typing import Final, NamedTuple

from perdure.errors import StoreDamaged
from perdure.model import Identity

SALT_BYTES: Final = 16

_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Line(NamedTuple):
    """The fields of a revision that the chain proves, in the order in which they are hashed."""

    seq: int
    number: int
    memory: str
    version: int
    operation: str
    actor: str
    surface: str
    session: str | None
    request: str | None
    at: int
    batch: str
    digest: bytes


class LogEnd(NamedTuple):
    """The position and the hash of the last line of a log."""

    seq: int
    head: bytes


def genesis(namespace: str) -> bytes:
    """The head of a namespace before its first revision."""
    return sha256(b"perdure\x00" + namespace.encode()).digest()


def digest_of(salt: bytes, body: bytes) -> bytes:
    """Salted, so that guessing cannot prove what an erased payload said."""
    return sha256(salt + body).digest()


def link(head: bytes, line: Line) -> bytes:
    """The hash of a revision, which is the head for the next one."""
    fields = (*line[:-1], line.digest.hex())
    return sha256(head + _encode(fields).encode()).digest()


class TombstoneDigests(NamedTuple):
    """What a store keeps of a text that must not come back: it cannot be guessed without the store's secret.

    `own` is of the text under its key, or without one in its scope; `in_scope` of the text in its scope without its
    key: evidence without a key cannot bring back either what was forgotten under one. `of_text` is what SQLite's
    schemas before the fourth kept, of the text alone: it counts under every key and in every scope, because nobody
    knows any more where the text was said.
    """

    own: bytes
    in_scope: bytes
    of_text: bytes


def tombstone_digests(secret: object, namespace: str, identity: Identity) -> TombstoneDigests:
    """Raises StoreDamaged if the secret is missing or damaged."""
    if not isinstance(secret, bytes):
        raise StoreDamaged("The store has lost its secret, so it cannot tell what was forgotten.")
    text, key, *scope = identity
    of_text = hmac.digest(secret, namespace.encode() + b"\x00" + text.encode(), "sha256")
    # No name holds a NUL. A hash over an unguessable secret cannot be guessed either.
    in_scope = sha256(b"\x00".join((of_text, b"scope", *((value or "").encode() for value in scope)))).digest()
    if key is None:
        return TombstoneDigests(in_scope, in_scope, of_text)
    return TombstoneDigests(sha256(b"\x00".join((of_text, b"key", key.encode()))).digest(), in_scope, of_text)

"""The hash chain of a namespace's log: pure functions, so that anyone can prove it again."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Final, NamedTuple

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


def genesis(namespace: str) -> bytes:
    """The head of a namespace before its first revision."""
    return sha256(b"perdure\x00" + namespace.encode()).digest()


def digest_of(salt: bytes, body: bytes) -> bytes:
    """Salted, so that nobody can prove by guessing what an erased payload said."""
    return sha256(salt + body).digest()


def link(head: bytes, line: Line) -> bytes:
    """The hash of a revision, which is the head for the next one."""
    fields = (*line[:-1], line.digest.hex())
    return sha256(head + _encode(fields).encode()).digest()

"""Who may see the page: links that count once, and the cookies that they are exchanged for.

Both are kept as hashes in a file that belongs to the store, `<store>-page`, which its owner alone may read. So a
command can hand out a link to a server that runs, and end its visits; and all processes of a server know them.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal

from perdure.clock import Clock, format_time, parse_time
from perdure.errors import StoreUnsafe
from perdure.files import private_folder

# Who started the server, and needs no token.
OWNER: Final = "owner"
LINK_LIFE: Final = timedelta(minutes=10)
VISIT_LIFE: Final = timedelta(days=1)
_SECRET_BYTES: Final = 32
# More than anybody has open; the oldest give way.
_MOST: Final = 200


@dataclass(frozen=True, slots=True)
class Admission:
    """A link, or the visit that one was exchanged for: until when, on which port, and for whom (the id of a token, or
    the owner). `since` is when they were here before.
    """

    kind: Literal["link", "visit"]
    port: int
    digest: str
    token: str
    until: str
    since: str | None = None


class Admissions:
    """The links and visits of the servers of one store. It may be used by any number of threads and processes."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path, self._clock = path, clock
        self._seen: tuple[tuple[int, ...], list[Admission]] | None = None

    def new_link(self, port: int, token: str = OWNER) -> str:
        """What a link has to hold. It counts once, for ten minutes."""
        return self._add("link", port, token, LINK_LIFE)

    def exchange(self, port: int, secret: str) -> str | None:
        """What the cookie of a visit has to hold, for a link that was not used before; else None."""
        with self._changing() as (kept, visited):
            link = self._among(kept, "link", port, secret)
            if link is None:
                return None
            kept.remove(link)
            return self._begin(kept, visited, port, link.token)

    def begin_visit(self, port: int, token: str) -> str:
        """What the cookie of a visit has to hold, for somebody who showed a token."""
        with self._changing() as (kept, visited):
            return self._begin(kept, visited, port, token)

    def find(self, port: int, secret: str) -> Admission | None:
        return self._among(self._read(), "visit", port, secret)

    def serves(self, port: int) -> bool:
        """Whether a server with a page runs there, as far as the file knows."""
        return any(one.port == port for one in self._read())

    def end(self, port: int | None = None, digest: str | None = None) -> int:
        """End one visit; or all visits and links of a port; or all. How many visits that were."""
        with self._changing() as (kept, _):
            gone = [one for one in kept if port in {None, one.port} and digest in {None, one.digest}]
            kept[:] = [one for one in kept if one not in gone]
            return len([one for one in gone if one.kind == "visit"])

    def _begin(self, kept: list[Admission], visited: dict[str, str], port: int, token: str) -> str:
        secret, now = secrets.token_urlsafe(_SECRET_BYTES), self._clock()
        since, visited[token] = visited.get(token), format_time(now)
        kept.append(Admission("visit", port, _digest(secret), token, format_time(now + VISIT_LIFE), since))
        return secret

    def _add(self, kind: Literal["link", "visit"], port: int, token: str, life: timedelta) -> str:
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        with self._changing() as (kept, _):
            kept.append(Admission(kind, port, _digest(secret), token, format_time(self._clock() + life)))
        return secret

    def _among(self, kept: list[Admission], kind: str, port: int, secret: str) -> Admission | None:
        digest, now = _digest(secret), self._clock()
        found = (one for one in kept if one.digest == digest and (one.kind, one.port) == (kind, port))
        return next((one for one in found if _moment(one.until) > now), None)

    def _read(self) -> list[Admission]:
        """Read again when the file changed: one look at it when it did not."""
        try:
            found = os.lstat(self._path)
        except OSError:
            return []
        state = (found.st_ino, found.st_size, found.st_mtime_ns)
        if self._seen is None or self._seen[0] != state:
            with self._changing(writes=False) as (kept, _):
                self._seen = (state, kept)
        return self._seen[1]

    @contextmanager
    def _changing(self, *, writes: bool = True) -> Generator[tuple[list[Admission], dict[str, str]]]:
        """What is kept, under a lock; what is changed inside is kept."""
        private_folder(self._path.parent)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "r+b", buffering=0) as file:
            status = os.fstat(descriptor)
            if status.st_mode & 0o077 or status.st_uid not in (os.geteuid(), 0):
                raise StoreUnsafe(f"Others may use {self._path}.", remedy="Remove it; the next visit makes it anew.")
            fcntl.flock(descriptor, fcntl.LOCK_EX if writes else fcntl.LOCK_SH)
            kept, visited = _parse(file.read())
            yield kept, visited
            if writes:
                now = self._clock()
                alive = [asdict(one) for one in kept if _moment(one.until) > now][-_MOST:]
                file.seek(0)
                file.truncate()
                file.write(json.dumps({"admissions": alive, "visited": visited}).encode())


def _parse(content: bytes) -> tuple[list[Admission], dict[str, str]]:
    """Half of a file, of a process that died, is none: whoever was in opens the page again."""
    try:
        values: dict[str, Any] = json.loads(content or b"{}")
        return [Admission(**each) for each in values.get("admissions", ())], dict(values.get("visited", {}))
    except (ValueError, TypeError, AttributeError):
        return [], {}


def _moment(text: str) -> datetime:
    return parse_time(text, "until")


def _digest(secret: str) -> str:
    """The secret is 256 random bits, so that one round of a hash is enough, and how long it takes to compare tells
    nothing that helps.
    """
    return sha256(secret.encode("utf-8", "replace")).hexdigest()

"""Where tokens are kept: a file that belongs to the store, such as `<store>-tokens`, which its owner alone may read.

Each line is a token that was made, with the hash of its secret, or one that was revoked. Lines are only ever appended,
under a lock. So any number of servers and commands share the file, whatever is new makes it longer, and a server that
looks at its length before each request sees a revocation at once. The file is no part of a backup: a backup that is
restored must not bring back a token that was revoked.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import secrets
import stat
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from typing import Any, Final, cast

from perdure.auth.authorise import SCOPES, AccessToken, Scope
from perdure.clock import Clock, format_time, parse_iso_time, system_clock
from perdure.errors import (
    Conflict,
    InvalidInput,
    NotFound,
    StoreFull,
    StoreRemote,
    StoreUnreadable,
    StoreUnsafe,
    Unauthenticated,
    shown,
)
from perdure.files import private_folder
from perdure.location import StoreLocation, StrPath, locate
from perdure.remedies import Remedy, Run
from perdure.validation import check_choice, check_namespaces, check_single_line
from perdure.vocabulary import WRITERS, Writer

# A token is `perdure_<id>_<secret>`: the id is no secret, and says which line of the file to compare with.
PREFIX: Final = "perdure_"
_ID_BYTES: Final = 5
_SECRET_BYTES: Final = 32
_MOST_BYTES: Final = 16 << 20
_LONGEST: Final = 200
_UNKNOWN: Final = sha256(b"no token has this secret").hexdigest()


@dataclass(frozen=True, slots=True)
class _Kept:
    """A token as the file has it."""

    token: AccessToken
    digest: str


class TokenFile:
    """The tokens of one store. It may be used by any number of threads."""

    def __init__(self, store: StrPath | StoreLocation, clock: Clock = system_clock) -> None:
        location = locate(store)
        if location.kind == "server":
            raise StoreRemote(f"The store is {location.shown}, which keeps its tokens itself.")
        self._path = location.beside("tokens")
        self._local = location.beside("local-token")
        self._clock = clock
        self._lock = threading.Lock()
        self._state: tuple[int, ...] | None = None
        self._kept: dict[str, _Kept] = {}

    def create(
        self,
        name: str,
        *,
        scopes: tuple[str, ...] = ("read", "write"),
        namespaces: tuple[str, ...] | None,
        writer: str = "model",
        expires_at: datetime | None = None,
    ) -> tuple[AccessToken, str]:
        """Make a token. The second value is what its holder has to show: it is kept nowhere, and shown once."""
        if not scopes:
            raise InvalidInput("A token without a scope is good for nothing.", remedy=f"Choose of {', '.join(SCOPES)}.")
        for scope in scopes:
            check_choice(SCOPES, scope, "scope")
        check_choice(WRITERS, writer, "writer")
        now = self._clock()
        if expires_at is not None and expires_at <= now:
            raise InvalidInput("The token would have expired already.", remedy="Name a time that is still to come.")
        token = AccessToken(
            secrets.token_hex(_ID_BYTES),
            check_single_line(name, "name"),
            cast("tuple[Scope, ...]", tuple(scope for scope in SCOPES if scope in scopes)),
            None if namespaces is None else tuple(check_namespaces(namespaces)),
            cast("Writer", writer),
            now,
            expires_at,
        )
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        line = {
            "id": token.id,
            "name": token.name,
            "scopes": token.scopes,
            "namespaces": token.namespaces,
            "writer": token.writer,
            "created_at": format_time(token.created_at),
            "expires_at": None if expires_at is None else format_time(expires_at),
            "sha256": _digest(secret),
        }
        with self._writing(self._path) as descriptor:
            if any(each.name == token.name and each.revoked_at is None for each in self.list()):
                raise Conflict(
                    f"There is a token {shown(token.name)} already.",
                    remedy="Choose another name, or revoke that one first.",
                )
            _append(descriptor, line)
        return token, f"{PREFIX}{token.id}_{secret}"

    def revoke(self, name: str) -> AccessToken:
        """Revoke the token of this name or id. Servers refuse it from their next request on."""
        valid = [each for each in self.list() if each.revoked_at is None]
        named = next((each for each in valid if name in (each.id, each.name)), None)
        if named is None:
            raise NotFound(f"No valid token is called {shown(name)}.", remedy=Remedy("See them: ", Run("token list")))
        now = self._clock()
        with self._writing(self._path) as descriptor:
            _append(descriptor, {"revoke": named.id, "at": format_time(now)})
        return replace(named, revoked_at=now)

    def list(self) -> list[AccessToken]:
        """All tokens that were ever made here, oldest first."""
        return [kept.token for kept in self._read().values()]

    def find(self, presented: str) -> AccessToken:
        """The token that somebody shows, whether it still counts or not: that is for `authorise` to say."""
        id, _, secret = presented[:_LONGEST].removeprefix(PREFIX).partition("_")
        kept = self._read().get(id)
        digest = _digest(secret)
        # Compared in any case, and in constant time: how long it takes tells nothing.
        if not compare_digest(digest, kept.digest if kept else _UNKNOWN) or kept is None:
            raise Unauthenticated("That is no token of this store.")
        return kept.token

    def by_id(self, id: str) -> AccessToken | None:
        """A token that was shown before, as it is now."""
        kept = self._read().get(id)
        return kept.token if kept else None

    def local_token(self) -> str | None:
        """The token that `serve` keeps for programs of the same user on this machine."""
        try:
            with _opened(self._local, os.O_RDONLY) as descriptor:
                return os.read(descriptor, _LONGEST).decode("ascii", "replace").strip() or None
        except FileNotFoundError:
            return None

    def keep_local(self, presented: str) -> Path:
        """Keep a token for programs of the same user on this machine, in a file of its own."""
        with self._writing(self._local) as descriptor:
            os.ftruncate(descriptor, 0)
            _write(descriptor, f"{presented}\n".encode())
        return self._local

    def _read(self) -> dict[str, _Kept]:
        """The file's tokens by id, read again when it changed: one look at its length when it did not."""
        try:
            found = os.lstat(self._path)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        state = (found.st_ino, found.st_size, found.st_mtime_ns)
        with self._lock:
            if state != self._state:
                with _opened(self._path, os.O_RDONLY) as descriptor:
                    status = os.fstat(descriptor)
                    content = b""
                    while part := os.read(descriptor, _MOST_BYTES):
                        content += part
                self._kept = _parse(content)
                self._state = (status.st_ino, len(content), status.st_mtime_ns)
            return self._kept

    @contextmanager
    def _writing(self, path: Path) -> Generator[int]:
        private_folder(self._path.parent)
        with _opened(path, os.O_RDWR | os.O_CREAT | os.O_APPEND) as descriptor:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor


@contextmanager
def _opened(path: Path, flags: int) -> Generator[int]:
    """A descriptor of a file that is ours alone: a link, a foreign file and one that others may use are refused."""
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise StoreUnsafe(f"{path} is a symbolic link.", remedy="Remove it; tokens are kept in a file.") from error
        raise _explained(error, path) from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            raise StoreUnsafe(f"{path} is not a file of its own.", remedy="Remove it; tokens are kept in a plain file.")
        if status.st_uid not in (os.geteuid(), 0):
            raise StoreUnsafe(f"{path} belongs to another user.", remedy="Remove it, and make the tokens anew.")
        if status.st_mode & 0o077:
            raise StoreUnsafe(f"Others may use {path}.", remedy=f"Make it yours alone: chmod 600 {path}")
        yield descriptor
    except OSError as error:
        raise _explained(error, path) from error
    finally:
        os.close(descriptor)


def _explained(error: OSError, path: Path) -> StoreFull | StoreUnreadable:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(f"The disk is full, so {path} cannot be written.")
    return StoreUnreadable(f"{path} cannot be used: {os.strerror(error.errno or 0)}.")


def _append(descriptor: int, line: dict[str, Any]) -> None:
    """A line is one write; what a process that died left of one is ended first."""
    size = os.fstat(descriptor).st_size
    torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
    _write(descriptor, (b"\n" if torn else b"") + json.dumps(line).encode() + b"\n")


def _write(descriptor: int, content: bytes) -> None:
    """On disk when this returns."""
    rest = memoryview(content)
    while rest:
        # The system may take a part at a time.
        rest = rest[os.write(descriptor, rest) :]
    os.fsync(descriptor)


def _digest(secret: str) -> str:
    """The secret is 256 random bits, so that one round of a hash is enough: nobody finds it by guessing."""
    return sha256(secret.encode("utf-8", "replace")).hexdigest()


def _parse(content: bytes) -> dict[str, _Kept]:
    """A line that is torn or foreign is skipped: whoever wrote it did not get an answer."""
    kept: dict[str, _Kept] = {}
    for line in content.splitlines():
        try:
            entry: dict[str, Any] = json.loads(line)
            if "revoke" in entry:
                if revoked := kept.get(entry["revoke"]):
                    at = parse_iso_time(entry["at"], until=False)
                    token = replace(revoked.token, revoked_at=at or revoked.token.created_at)
                    kept[token.id] = replace(revoked, token=token)
                continue
            created, expires = (
                None if entry[name] is None else parse_iso_time(entry[name], until=False)
                for name in ("created_at", "expires_at")
            )
            namespaces = entry["namespaces"]
            if created is None or (entry["expires_at"] is not None and expires is None):
                continue
            token = AccessToken(
                str(entry["id"]),
                str(entry["name"]),
                cast("tuple[Scope, ...]", tuple(scope for scope in SCOPES if scope in entry["scopes"])),
                None if namespaces is None else tuple(map(str, namespaces)),
                "person" if entry["writer"] == "person" else "model",
                created,
                expires,
            )
            kept[token.id] = _Kept(token, str(entry["sha256"]))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return kept

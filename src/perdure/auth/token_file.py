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
import stat
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast

from perdure.auth.authorise import SCOPES, AccessToken, Scope
from perdure.auth.tokens import MAX_TOKEN_CHARACTERS, KeptToken, Tokens, name_taken
from perdure.clock import Clock, format_time, parse_iso_time, system_clock
from perdure.errors import StoreFull, StoreRemote, StoreUnreadable, StoreUnsafe
from perdure.files import private_folder
from perdure.location import StoreLocation, StrPath, locate

_MOST_BYTES: Final = 16 << 20


class TokenFile(Tokens):
    """The tokens of one store. It may be used by any number of threads."""

    def __init__(self, store: StrPath | StoreLocation, clock: Clock = system_clock) -> None:
        location = locate(store)
        if location.kind == "server":
            raise StoreRemote(f"The store is {location.shown}, which keeps its tokens itself.")
        self._path = location.beside("tokens")
        self._local = location.beside("local-token")
        super().__init__(clock)
        self._lock = threading.Lock()
        self._state: tuple[int, ...] | None = None
        self._kept: dict[str, KeptToken] = {}

    def _add(self, kept: KeptToken) -> None:
        token, expires_at = kept.token, kept.token.expires_at
        line = {
            "id": token.id,
            "name": token.name,
            "scopes": token.scopes,
            "namespaces": token.namespaces,
            "writer": token.writer,
            "created_at": format_time(token.created_at),
            "expires_at": None if expires_at is None else format_time(expires_at),
            "sha256": kept.digest,
        }
        with self._writing(self._path) as descriptor:
            if any(each.name == token.name and each.revoked_at is None for each in self.list()):
                raise name_taken(token.name)
            _append(descriptor, line)

    def _revoke(self, id: str, at: datetime) -> None:
        with self._writing(self._path) as descriptor:
            _append(descriptor, {"revoke": id, "at": format_time(at)})

    def local_token(self) -> str | None:
        """The token that `serve` keeps for programs of the same user on this machine."""
        try:
            with _opened(self._local, os.O_RDONLY) as descriptor:
                return os.read(descriptor, MAX_TOKEN_CHARACTERS).decode("ascii", "replace").strip() or None
        except FileNotFoundError:
            return None

    def keep_local(self, presented: str) -> Path:
        """Keep a token for programs of the same user on this machine, in a file of its own."""
        with self._writing(self._local) as descriptor:
            os.ftruncate(descriptor, 0)
            _write(descriptor, f"{presented}\n".encode())
        return self._local

    def _read(self) -> dict[str, KeptToken]:
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


def _parse(content: bytes) -> dict[str, KeptToken]:
    """A line that is torn or foreign is skipped: its writer did not get an answer."""
    kept: dict[str, KeptToken] = {}
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
            kept[token.id] = KeptToken(token, str(entry["sha256"]))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return kept

"""Vectors of questions from another process of the same user that has the local model loaded: a hook, which lives for a
moment, need not load it. What crosses is the question and its vector, by a socket that nobody else may open.

A server listens, one for all of a user's stores; the next one takes its place when it ends. Whoever asks and gets no
answer at once, or one that is no vector of a text, loads the model, as if there were none.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Final

from perdure.files import directory, private_folder

if TYPE_CHECKING:
    from perdure.embed.port import Generation, Vectors

# Raised when what is said changes: who speaks otherwise is not answered.
_GREETING: Final = b"perdure 2\n"
_SIZES: Final = struct.Struct("<II")
_MOST: Final = 1 << 20
# Between texts, none of which holds it: a tokenizer drops it.
_BETWEEN: Final = "\0"
# Seconds: to be let in, and to be answered. A question is embedded in two milliseconds, a model loaded in 150.
_CONNECT: Final = 0.005
_ANSWER: Final = 0.1
_EACH_MORE: Final = 0.01
_PATIENCE: Final = 1.0
_LEAST: Final = 1e-4
_FLOAT_BYTES: Final = 4
# A vector of a text has the length 1, as exactly as its numbers tell.
_INEXACT: Final = 1e-3
# Process, user and group.
_CREDENTIALS: Final = struct.Struct("3i")


def _path() -> Path:
    return directory("cache", os.environ) / "model" / "socket"


def ask(generation: Generation, texts: Sequence[str]) -> Vectors | None:
    """The vectors of a few short texts, such as a question, one row each; None where nobody answers."""
    joined = _BETWEEN.join(text.replace(_BETWEEN, "") for text in texts)
    content, name = joined.encode("utf-8", "surrogatepass"), generation.name.encode()
    size = len(texts) * generation.dimensions * _FLOAT_BYTES
    with suppress(OSError), _connected() as connection:
        patience = _ANSWER + _EACH_MORE * (len(texts) - 1)
        connection.settimeout(patience)
        connection.sendall(_GREETING + _SIZES.pack(len(name), len(content)) + name + content)
        answer = _read(connection, size, patience)
        if len(answer) == size:
            import numpy as np

            vectors = np.frombuffer(answer, "<f4").astype(np.float32).reshape(len(texts), -1)
            with np.errstate(over="ignore", invalid="ignore"):
                return vectors if (np.abs(np.vecdot(vectors, vectors) - 1) < _INEXACT).all() else None
    return None


def is_served() -> bool:
    """Whether somebody listens."""
    with suppress(OSError), _connected():
        return True
    return False


def _connected() -> socket.socket:
    path = _path()
    if hasattr(os, "geteuid") and path.lstat().st_uid != os.geteuid():
        raise PermissionError("it belongs to another user")
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(_CONNECT)
        connection.connect(str(path))
        _check_user(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_user(connection: socket.socket) -> None:
    """Whoever is at the other end, whatever the rights of the folder are; an OSError for another user."""
    if sys.platform == "linux":
        told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        if _CREDENTIALS.unpack(told)[1] != os.geteuid():
            raise PermissionError("another user is at the other end")


def serve(generation: Generation, embed: Callable[[Sequence[str]], Vectors]) -> None:
    """Answer others from now on, in a thread of its own, as soon as no other process does."""
    Thread(target=_serve, args=(generation, embed), name="perdure-questions", daemon=True).start()


def _serve(generation: Generation, embed: Callable[[Sequence[str]], Vectors]) -> None:
    path = _path()
    with suppress(OSError):
        from fcntl import LOCK_EX, flock

        private_folder(path.parent)
        lock = os.open(path.with_name("lock"), os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        # It ends with the process that has it.
        flock(lock, LOCK_EX)
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
            path.chmod(0o600)
            listening.listen()
            while True:
                connection, _ = listening.accept()
                # Whatever is wrong with one who asks, the next one is answered.
                with connection, suppress(Exception):
                    connection.settimeout(_PATIENCE)
                    _check_user(connection)
                    _answer(connection, generation, embed)


def _answer(connection: socket.socket, generation: Generation, embed: Callable[[Sequence[str]], Vectors]) -> None:
    head = _read(connection, len(_GREETING) + _SIZES.size, _PATIENCE)
    if not head.startswith(_GREETING) or len(head) < len(_GREETING) + _SIZES.size:
        return
    named, asked = _SIZES.unpack(head[len(_GREETING) :])
    if named + asked > _MOST:
        return
    content = _read(connection, named + asked, _PATIENCE)
    if content[:named] == generation.name.encode() and len(content) == named + asked:
        texts = content[named:].decode("utf-8", "surrogatepass").split(_BETWEEN)
        connection.sendall(embed(texts).astype("<f4").tobytes())


def _read(connection: socket.socket, size: int, seconds: float) -> bytes:
    """All of it within this time; less where there is no more."""
    content, until = b"", monotonic() + seconds
    while len(content) < size:
        # Of no time left a socket would wait for ever.
        connection.settimeout(max(until - monotonic(), _LEAST))
        piece = connection.recv(size - len(content))
        if not piece or until < monotonic():
            break
        content += piece
    return content

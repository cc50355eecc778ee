"""The hook as a process. It never fails and never keeps a host waiting: it always exits with 0, after a fixed time at
the latest, and says nothing but an answer in the form of the host: what is known by then.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NoReturn

# Seconds: hosts wait for three at least, but for the end of a session.
BUDGET: Final = 2.0
_TO_SAY: Final = 0.1
_MOST_INPUT: Final = 32 << 20
_READ: Final = 1 << 20


def main(arguments: Sequence[str]) -> NoReturn:
    """Answer one event, and end the process. Whatever is printed by accident goes nowhere."""
    try:
        seconds = min(max(float(_option(arguments, "--seconds") or BUDGET), 0.1), 600.0)
    except ValueError:
        seconds = BUDGET
    # This process ends before collecting pays off. And the threads of a numeric library cost more than its import, if
    # it is not told to have none: they spin while they wait for work that never comes.
    gc.disable()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    known: list[Callable[[], str]] = []
    # Whoever has it says the last word.
    last_word, target = threading.Lock(), -1

    def give_up(*_: object) -> None:
        """Say what is known so far, and end."""
        if last_word.acquire(blocking=False):
            with suppress(BaseException):
                write(target, known[0]() if known else "")
            os._exit(0)

    watchdogs = [threading.Timer(seconds, give_up), threading.Timer(seconds + _TO_SAY, os._exit, (0,))]
    for watchdog in watchdogs:
        watchdog.daemon = True
        watchdog.start()
    if hasattr(signal, "setitimer"):
        # A regular expression that takes for ever lets no other thread run, but looks after signals.
        signal.signal(signal.SIGALRM, give_up)
        signal.setitimer(signal.ITIMER_REAL, seconds)
    deadline = time.monotonic() + seconds
    try:
        target = os.dup(1)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (1, 2):
            os.dup2(nothing, descriptor)
        text = respond(read_input(), arguments, deadline, known)
        if last_word.acquire(blocking=False):
            for watchdog in watchdogs:
                watchdog.cancel()
            if hasattr(signal, "setitimer"):
                signal.setitimer(signal.ITIMER_REAL, 0)
            write(target, text)
        else:
            time.sleep(_TO_SAY)
    except BaseException:  # noqa: BLE001, S110 - a hook that fails is a hook that says nothing
        pass
    os._exit(0)


def write(target: int, text: str) -> None:
    rest = memoryview(text.encode())
    while rest:
        rest = rest[os.write(target, rest) :]


def respond(
    content: bytes, arguments: Sequence[str], deadline: float, known: list[Callable[[], str]] | None = None
) -> str:
    """What a host gets for what it wrote. `known` takes in what tells as much of it as is known so far."""
    from perdure.hook.event import answer, read_event

    event = read_event(content, os.environ, _option(arguments, "--host"), _option(arguments, "--event"))
    if event is None or event.kind is None:
        return ""
    from perdure.hook.handlers import Handler, open_memory

    handler = Handler(event, deadline, open_memory, os.environ)
    if known is not None:
        known.append(lambda: answer(event, handler.so_far()))
    return answer(event, handler.context())


def _option(arguments: Sequence[str], name: str) -> str | None:
    """`--host copilot` or `--host=copilot`. Options that are not known are left alone: a hook does not refuse."""
    for place, word in enumerate(arguments):
        if word == name:
            return arguments[place + 1] if place + 1 < len(arguments) else None
        if word.startswith(f"{name}="):
            return word[len(name) + 1 :]
    return None


def read_input() -> bytes:
    if sys.stdin is None or sys.stdin.isatty():
        return b""
    content = bytearray()
    while len(content) < _MOST_INPUT and (part := os.read(0, _READ)):
        content += part
    return bytes(content)

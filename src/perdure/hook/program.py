"""The hook as a process. It never fails and never keeps a host waiting: it always exits with 0, after a fixed time at
the latest, and says nothing but an answer in the form of the host.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from perdure.hook.event import HookEvent

# Seconds: hosts wait for three at least, but for the end of a session.
BUDGET: Final = 2.0
_MOST_INPUT: Final = 32 << 20
_READ: Final = 1 << 20


def main(arguments: Sequence[str]) -> NoReturn:
    """Answer one event, and end the process. Whatever is printed by accident goes nowhere."""
    seconds = _seconds(_option(arguments, "--seconds"))
    watchdog = threading.Timer(seconds, os._exit, (0,))
    watchdog.daemon = True
    watchdog.start()
    deadline = time.monotonic() + seconds
    try:
        target = os.dup(1)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (1, 2):
            os.dup2(nothing, descriptor)
        text = respond(_read_input(), arguments, deadline)
        watchdog.cancel()
        rest = memoryview(text.encode())
        while rest:
            rest = rest[os.write(target, rest) :]
    except BaseException:  # noqa: BLE001, S110 - a hook that fails is a hook that says nothing
        pass
    os._exit(0)


def respond(content: bytes, arguments: Sequence[str], deadline: float) -> str:
    """What a host gets for what it wrote."""
    from perdure.hook.event import answer, read_event

    event = read_event(content, os.environ, _option(arguments, "--host"), _option(arguments, "--event"))
    return "" if event is None else answer(event, _context(event, deadline))


def _context(event: HookEvent, deadline: float) -> str:  # noqa: ARG001
    """Do what the event asks for; what the model should be told."""
    return ""


def _option(arguments: Sequence[str], name: str) -> str | None:
    """`--host copilot` or `--host=copilot`. Options that are not known are left alone: a hook does not refuse."""
    for place, word in enumerate(arguments):
        if word == name:
            return arguments[place + 1] if place + 1 < len(arguments) else None
        if word.startswith(f"{name}="):
            return word[len(name) + 1 :]
    return None


def _seconds(given: str | None) -> float:
    try:
        return min(max(float(given or BUDGET), 0.1), 600.0)
    except ValueError:
        return BUDGET


def _read_input() -> bytes:
    if sys.stdin is None or sys.stdin.isatty():
        return b""
    content = bytearray()
    while len(content) < _MOST_INPUT and (part := os.read(0, _READ)):
        content += part
    return bytes(content)

"""What is known about a running session: which memories it was shown, which events were answered, how much was said.

Each session has a small file of its own. Hooks of one session may run at the same time, so it is changed under a lock.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from perdure.files import private_folder
from perdure.marks import mark_name
from perdure.session.places import CONTINUED, session_folder
from perdure.values import field, field_values, value_class

_FOLDER: Final = "running"
_MOST_SHOWN: Final = 2000
_MOST_EVENTS: Final = 50
# Two hooks for the same event run within so many seconds of each other.
_TOGETHER: Final = 5.0
_FORGOTTEN_AFTER: Final = 30 * 86400


@value_class(frozen=False)
class SessionState:
    """`shown` are ids of memories, `events` the times at which events were answered, `prompts` how many there were.
    `pending_start` is how the session started, if it was not told yet what a start tells; `tools` is what was kept of
    its tools, as `tool_use` reads it.
    """

    shown: list[str] = field(default_factory=list[str])
    events: dict[str, float] = field(default_factory=dict[str, float])
    prompts: int = 0
    pending_start: str = ""
    tools: dict[str, Any] = field(default_factory=dict[str, Any])

    def is_first(self, event: str, *, unique: bool) -> bool:
        """Whether nobody has answered this event yet; from now on somebody has. An event that is not `unique` may
        come again, after a while.
        """
        now = time.time()
        answered = self.events.get(event)
        if answered is not None and (unique or abs(now - answered) < _TOGETHER):
            return False
        self.events.pop(event, None)
        self.events[event] = now
        for oldest in list(self.events)[:-_MOST_EVENTS]:
            del self.events[oldest]
        return True

    def show(self, ids: list[str]) -> None:
        self.shown = [*self.shown, *ids][-_MOST_SHOWN:]


@contextmanager
def session_state(session: str) -> Generator[SessionState]:
    """What is known about a session; what is changed inside is kept. Where it cannot be kept, it is empty: a session
    without a memory of what it was shown is better than none.
    """
    try:
        folder = session_folder() / _FOLDER
        private_folder(folder)
        descriptor = os.open(
            folder / f"{mark_name(session)}.json", os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600
        )
    except OSError:
        yield SessionState()
        return
    # Without a buffer: what could not be written is not tried again when the file is closed.
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        # Held until the file is closed. Without it, two hooks at once may show the same memory twice.
        with suppress(ImportError):
            from fcntl import LOCK_EX, flock

            flock(file, LOCK_EX)
        state = read_state(file.read())
        before = json.dumps(field_values(state))
        yield state
        after = json.dumps(field_values(state))
        if after != before:
            # On a full disk the session goes on without it.
            with suppress(OSError):
                file.seek(0)
                file.write(after.encode())
                file.truncate()


def read_session(session: str) -> SessionState:
    """What is known about a session, to look at."""
    try:
        return read_state((session_folder() / _FOLDER / f"{mark_name(session)}.json").read_bytes())
    except OSError:
        return SessionState()


def forget_old_sessions() -> None:
    """Remove the files of sessions that nobody has used for a month."""
    oldest = time.time() - _FORGOTTEN_AFTER
    for name in (_FOLDER, CONTINUED):
        with suppress(OSError):
            for file in os.scandir(session_folder() / name):
                if file.stat().st_mtime < oldest:
                    Path(file).unlink(missing_ok=True)


def read_state(content: bytes) -> SessionState:
    """Half of a file, of a hook that was killed, is none."""
    try:
        values: Any = json.loads(content or b"{}")
        shown, events = list(values.get("shown", ())), dict(values.get("events", {}))
        prompts, pending = int(values.get("prompts", 0)), str(values.get("pending_start", ""))
        return SessionState(shown, events, prompts, pending, dict(values.get("tools", {})))
    except (ValueError, TypeError, AttributeError):
        return SessionState()

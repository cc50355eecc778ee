"""What hooks note about sessions, in the user's data directory: one small file of notes for what holds between sessions
(which is the latest of a project, which one goes on with one that was cleared, what was taken in), and one file for
each session (which memories it was shown, which events were answered, how much was said).

Hooks run at the same time, so each file is changed under a lock. What a person marked (`privacy.py`) stands apart: no
hook ever writes such a file anew, so that none can lose what it says.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from perdure.files import directory, private_folder, write_private
from perdure.marks import mark_name
from perdure.values import field, field_values, value_class

Kind: TypeAlias = Literal["latest", "cleared", "continued", "taken-in"]
# By kind and by the hash of what it is about: the text, and when it was noted.
Notes: TypeAlias = dict[str, dict[str, tuple[str, float]]]

_KINDS: Final[tuple[Kind, ...]] = ("latest", "cleared", "continued", "taken-in")
_NOTES: Final = "notes.json"
_MOST_NOTES: Final = 200
_LOCK_SECONDS: Final = 0.2
_PAUSE: Final = 0.005
_FOLDER: Final = "running"
_MOST_SHOWN: Final = 2000
_MOST_EVENTS: Final = 50
# Two hooks for the same event run within so many seconds of each other.
_TOGETHER: Final = 5.0
_FORGOTTEN_AFTER: Final = 30 * 86400


def session_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Where what is known about sessions is kept: `sessions` in the user's data directory."""
    return directory("data", os.environ if environ is None else environ) / "sessions"


def put_note(kind: Kind, about: str, text: str, environ: Mapping[str, str] | None = None) -> None:
    """Note a text about something, in the place of what was noted before. Where it cannot be noted, it is not."""
    with suppress(OSError), _changing_notes(session_folder(environ)) as notes:
        some = notes.setdefault(kind, {})
        some.pop(mark_name(about), None)
        some[mark_name(about)] = (text, time.time())
        for oldest in list(some)[:-_MOST_NOTES]:
            del some[oldest]


def noted(kind: Kind, about: str, environ: Mapping[str, str] | None = None) -> str | None:
    """What is noted; None where nothing is, or nobody can read it."""
    found = _read_notes(session_folder(environ)).get(kind, {}).get(mark_name(about))
    return None if found is None else found[0]


def take_note(kind: Kind, about: str, seconds: float, environ: Mapping[str, str] | None = None) -> str | None:
    """What was noted in these last seconds; nothing is noted from now on."""
    text, at = _read_notes(session_folder(environ)).get(kind, {}).get(mark_name(about), (None, 0.0))
    if text is not None:
        with suppress(OSError), _changing_notes(session_folder(environ)) as notes:
            notes.get(kind, {}).pop(mark_name(about), None)
    return text if at > time.time() - seconds else None


@contextmanager
def _changing_notes(folder: Path) -> Generator[Notes]:
    """What is changed inside is kept. The folder itself is the lock, so that the file can be replaced as a whole."""
    private_folder(folder)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(ImportError):
            _lock(descriptor)
        notes = _read_notes(folder)
        before = json.dumps(notes)
        yield notes
        after = json.dumps(notes)
        if after != before:
            write_private(folder / _NOTES, after.encode("utf-8", "surrogatepass"))
            _forget_earlier_notes(folder)
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    """Whoever was stopped while they hold it keeps nobody from noting something: a note of theirs may then be lost."""
    from fcntl import LOCK_EX, LOCK_NB, flock

    end = time.monotonic() + _LOCK_SECONDS
    while time.monotonic() < end:
        with suppress(BlockingIOError):
            return flock(descriptor, LOCK_EX | LOCK_NB)
        time.sleep(_PAUSE)
    return None


def _read_notes(folder: Path) -> Notes:
    try:
        read: Any = json.loads((folder / _NOTES).read_bytes().decode("utf-8", "surrogatepass"))
        return {
            kind: {name: (str(text), float(at)) for name, (text, at) in read.get(kind, {}).items()} for kind in _KINDS
        }
    except FileNotFoundError:
        return _earlier_notes(folder)
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _earlier_notes(folder: Path) -> Notes:
    """Until version 0.3 each note was a file of its own, in a folder for its kind."""
    notes: Notes = {}
    for kind in _KINDS:
        with suppress(OSError):
            for path in sorted((folder / kind).iterdir(), key=lambda path: path.stat().st_mtime):
                text = path.read_bytes().decode("utf-8", "surrogatepass")
                notes.setdefault(kind, {})[path.name] = (text, path.stat().st_mtime)
    return notes


def _forget_earlier_notes(folder: Path) -> None:
    for kind in _KINDS:
        with suppress(OSError):
            for path in (folder / kind).iterdir():
                path.unlink()
            (folder / kind).rmdir()


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
    with suppress(OSError):
        for file in os.scandir(session_folder() / _FOLDER):
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

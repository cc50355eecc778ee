"""What Copilot's model said last: its hooks are told only in which file that stands, a line for each event."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

_SAID: Final = "assistant.message"
_DONE: Final = "assistant.turn_end"
_EVENTS: Final = ("user.message", "assistant.turn_start", _SAID, _DONE)
_END: Final = 1 << 20
_PAUSE: Final = 0.02
# So many pauses where the file does not tell of hooks.
_PATIENCE: Final = 10


def last_message(transcript: Path, moment: str, has_time: Callable[[], bool]) -> str:
    """The model's last words since the user's. The file is written behind the events, so that a turn may not be in it
    yet, or not all of it: it is all there once the file tells of the hook of this `moment`.
    """
    waited = 0
    while True:
        events, told = last_events(transcript, moment)
        is_whole = bool(events) and events[-1][0] == _DONE
        if told or (is_whole and waited >= _PATIENCE) or not has_time():
            break
        time.sleep(_PAUSE)
        waited += 1
    said = ""
    for kind, text in events:
        said = "" if kind == "user.message" else text if kind == _SAID and text.strip() else said
    return said


def last_events(transcript: Path, moment: str) -> tuple[list[tuple[str, str]], bool]:
    """Kind and text of the events that tell who said what, in their order; and whether the hook of a moment is told."""
    try:
        with transcript.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _END))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except (OSError, ValueError):
        return [], False
    found: list[tuple[str, str]] = []
    for line in lines:
        if not any(f'"{kind}"' in line for kind in _EVENTS):
            continue
        try:
            event: Any = json.loads(line)
            kind, text = event["type"], event["data"].get("content", "")
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        if kind in _EVENTS:
            found.append((kind, text if isinstance(text, str) else ""))
    return found, any('"hook.start"' in line and moment in line for line in lines) if moment else False

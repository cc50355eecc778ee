"""What Perdure and the hosts put into a session is not what somebody said in it: it is taken out before anything is
kept, or memories would be learned again from their own echo.
"""

from __future__ import annotations

import re
from typing import Final

# None of these may take longer than one look at the text, whatever it holds: a thread that matches lets no other run.
# A context of ours; the blocks of the knowledge bank; what hosts wrap around the answers of hooks and commands.
_ENVELOPE: Final = r"(?:^Between the two marks are memories:[^\n]*\n)?<memories ([0-9a-f]{16})>.*?(?:</memories \1>|\Z)"
_BANK: Final = r"^## Engineering Memory \(from knowledge bank\)\s*$.*?(?:^---[ \t]*$|\Z)"
_DIAGNOSTICS: Final = r"^\*Memory: [0-9,]+ entries (?=[^\n]*\| semantic: )[^\n]*\*$"
_WRAPPED: Final = (
    r"<(system-reminder|system_reminder|hook_context|local-command-stdout|local-command-stderr|command-name"
    r"|command-message|command-args|task-notification)\b[^>]{0,500}>.*?(?:</\2>|\Z)"
)
_INTRODUCED: Final = r"^[A-Za-z]+ hook additional context:(?:[^\n]+\n?)*"
_OWN: Final = re.compile(f"{_ENVELOPE}|{_BANK}|{_DIAGNOSTICS}|{_WRAPPED}|{_INTRODUCED}", re.DOTALL | re.MULTILINE)
_BLANK_LINES: Final = re.compile(r"\n{3,}")
# Without one of these nothing of the above is there, and most texts have none.
_SIGNS: Final = ("<", "Engineering Memory", "*Memory:", "hook additional context:")


def without_own_text(text: str) -> str:
    """What is left of a text when everything that was put into the session is gone."""
    if not any(sign in text for sign in _SIGNS):
        return text.strip()
    left = _OWN.sub("", text)
    return (text if left == text else _BLANK_LINES.sub("\n\n", left)).strip()

"""A command that failed in a session and the one that worked instead, as a message of the session's conversation.

The hook writes such a message when the session ends, in lines that are read again when the session is learned from.
Nothing of the engine is loaded here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final, NamedTuple

# Who says it, in the metadata of the message; `learned_by` of what is learned from it.
TOOL_ROLE: Final = "tool"
TOOL_SPEAKER: Final = "tool use"
_FAILED: Final = "Failed: "
_ERROR: Final = "Error: "
_WORKED: Final = "Worked: "


class CommandFix(NamedTuple):
    """Each is one line; `error` is the last one that the failed command wrote, and may be empty."""

    failed: str
    error: str
    worked: str


def text_of_fixes(fixes: Iterable[CommandFix]) -> str:
    return "\n".join(f"{_FAILED}{fix.failed}\n{_ERROR}{fix.error}\n{_WORKED}{fix.worked}" for fix in fixes)


def fixes_in(text: str) -> Iterator[CommandFix]:
    """The fixes that a message tells; whatever else stands in it is left alone."""
    lines = text.splitlines()
    for (failed, error), (_, worked) in pairwise(pairwise(lines)):
        heads = zip((failed, error, worked), (_FAILED, _ERROR.rstrip(), _WORKED), strict=True)
        if all(line.startswith(head) for line, head in heads):
            yield CommandFix(
                failed.removeprefix(_FAILED), error.removeprefix(_ERROR.rstrip()).strip(), worked.removeprefix(_WORKED)
            )

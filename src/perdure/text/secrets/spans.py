"""What a finder of secrets points at, and the regular expressions that all of them share."""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

# A value is judged on at most this much of it; the rest of an accepted run goes with it.
JUDGED: Final = 256
MARK: Final = "[REDACTED:"
PLACEHOLDER: Final = r"\[REDACTED:([a-z][a-z0-9_]{0,31})\]"


class SecretSpan(NamedTuple):
    """Where a secret stands in a text, and of which kind it is."""

    start: int
    end: int
    kind: str


@cache
def regex(pattern: str) -> re.Pattern[str]:
    """Compiled when it is first needed: most texts need none."""
    return re.compile(pattern)


def end_of_run(pattern: str, text: str, start: int, end: int) -> int:
    """Go on to the end of a run that was cut off to be judged."""
    rest = regex(pattern).match(text, end) if end - start == JUDGED else None
    return rest.end() if rest else end

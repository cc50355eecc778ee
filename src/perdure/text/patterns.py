"""Regular expressions that are compiled when they are first used: most of those that a process imports, it never needs,
and one with the ranges of a few scripts takes milliseconds.
"""

from __future__ import annotations

import re
from typing import Any, cast, overload


@overload
def pattern(source: str, flags: int = 0) -> re.Pattern[str]: ...
@overload
def pattern(source: bytes, flags: int = 0) -> re.Pattern[bytes]: ...
def pattern(source: str | bytes, flags: int = 0) -> Any:
    """What `re.compile` gives, later."""
    return _Pattern(source, flags)


class _Pattern:
    def __init__(self, source: str | bytes, flags: int) -> None:
        self._given = (source, flags)

    def __getattr__(self, name: str) -> Any:
        """What is asked for stays here, so that it is found at once the next time."""
        compiled: re.Pattern[str] = re.compile(*cast("tuple[str, int]", self._given))
        found = self.__dict__[name] = getattr(compiled, name)
        return found

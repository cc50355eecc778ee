"""The user's own patterns (`redact_patterns`): checked when the settings are read, and bounded in what they cost.

Python's regular expressions try every way in which a pattern can match before they give up. So a pattern is refused
when it has too many ways from one place in a text, and it is tried on windows of a text, not on the whole: what it
costs grows with the text, not with its square.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Final

from perdure.errors import SettingsInvalid, shown
from perdure.text.secrets.spans import PLACEHOLDER, SecretSpan, regex

# A secret of up to `_STEP` characters is always within one window.
_STEP: Final = 1_000
_WINDOW: Final = 2 * _STEP
_MOST_WAYS: Final = 10 * _WINDOW
_KIND: Final = r"[a-z][a-z0-9_]{0,31}"


def find_own(patterns: Mapping[str, str], text: str) -> Iterator[SecretSpan]:
    """What the patterns match between the placeholders. A group `(?P<secret>…)` says which part is the secret."""
    for kind, pattern in patterns.items():
        start = done = 0
        for placeholder in (*regex(PLACEHOLDER).finditer(text), None):
            end = placeholder.start() if placeholder else len(text)
            for at in range(start, max(start + 1, end - _STEP), _STEP):
                edge = min(at + _WINDOW, end)
                for found in regex(pattern).finditer(text, max(at, done), edge):
                    # A run that the window cut off goes on behind it.
                    match = (regex(pattern).match(text, found.start(), end) if found.end() == edge else None) or found
                    done = match.end()
                    part = match.span("secret") if "secret" in match.re.groupindex else match.span()
                    yield SecretSpan(*(part if part[0] < part[1] else match.span()), kind)
            start = done = placeholder.end() if placeholder else len(text)


def check_patterns(patterns: Mapping[object, object]) -> dict[str, str]:
    """Patterns by kind as a setting gives them; SettingsInvalid when one of them is no good."""
    for kind, pattern in patterns.items():
        if not isinstance(kind, str) or not re.fullmatch(_KIND, kind):
            raise SettingsInvalid(
                f"redact_patterns names a kind {shown(kind)}.",
                remedy="A kind is a plain word: small letters, digits and _, such as `badge_number`.",
            )
        if not isinstance(pattern, str):
            raise SettingsInvalid(f"redact_patterns: the pattern of {kind} is {shown(pattern)}, not a text.")
        try:
            re.compile(pattern)
            parsed = _READER.parse(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            raise SettingsInvalid(
                f"redact_patterns: the pattern of {kind} is not a regular expression: {error}.",
                remedy="Python's `re` says what may be in one; in TOML it is best written in single quotes.",
            ) from None
        if parsed.getwidth()[0] == 0:
            raise SettingsInvalid(
                f"redact_patterns: the pattern of {kind} can match an empty text, so it would match everywhere.",
                remedy="Let at least one character be required, such as `+` instead of `*`.",
            )
        if _ways(parsed) > _MOST_WAYS:
            raise SettingsInvalid(
                f"redact_patterns: the pattern of {kind} can match in too many ways: some texts would take hours.",
                remedy="Say how often something repeats at most, such as {1,40} instead of + or *. Only one part may "
                "repeat without a limit, and not inside another that repeats.",
            )
    return {str(kind): str(pattern) for kind, pattern in patterns.items()}


# The interpreter's own reader of regular expressions, which has no public name.
_READER: Final[Any] = import_module("re._parser")


def _ways(parsed: Any) -> int:
    """At most how many ways there are to match a pattern from one place, before it is given up."""
    ways = 1
    for operator, argument in parsed:
        name = str(operator)
        if name == "BRANCH":
            ways *= sum(_ways(branch) for branch in argument[1])
        elif name in {"MAX_REPEAT", "MIN_REPEAT"}:
            least, most, inner = argument
            repeats = min(int(most), _WINDOW) - least + 1
            # Each turn multiplies what the turns before it left to try.
            ways *= repeats if _ways(inner) == 1 else min(_ways(inner) ** min(int(most), 64), _MOST_WAYS + 1) * repeats
        elif name == "SUBPATTERN":
            ways *= _ways(argument[-1])
        elif name in {"ASSERT", "ASSERT_NOT"}:
            ways *= _ways(argument[1])
        elif name in {"GROUPREF", "GROUPREF_EXISTS"}:
            ways *= _WINDOW
        if ways > _MOST_WAYS:
            break
    return ways

"""Characters that a stored text may hold and that must not reach a terminal or a prompt as they are."""

from __future__ import annotations

from typing import Final

from perdure.text.patterns import pattern

# What could steer a terminal, begin a line or hide a message: control characters but tab and newline, line and
# paragraph separators, characters that turn the direction of text, tags, selectors, fillers and joiners that nobody
# sees, and halves of surrogate pairs. U+200D and U+FE0F stay, which emoji are made of, and U+200C, which Persian needs.
_UNSAFE: Final = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufe00-\ufe0e\ufeff\ufff9-\ufffb\U000e0000-\U000e01ef"
)
UNSAFE_CHARACTERS: Final = pattern(f"[{_UNSAFE}]")

# Stands before the number of a character that is written out.
ESCAPE: Final = "␛"
_HIDDEN: Final = pattern(f"[{_UNSAFE}{ESCAPE}]")


def written_out(text: str) -> str:
    """The text with every character that nobody would see written out: ESC as `␛1b;`. Tabs and line breaks stay."""
    return _HIDDEN.sub(lambda match: f"{ESCAPE}{ord(match[0]):x};", text)

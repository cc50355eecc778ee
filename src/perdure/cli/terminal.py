"""What may reach the user's terminal. Results go to stdout; everything said around them goes to stderr."""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import dataclass
from io import TextIOWrapper
from typing import IO, Any, Final, TextIO, cast

import click

from perdure.errors import SettingsInvalid
from perdure.text.unsafe_characters import UNSAFE_CHARACTERS

_FIELD: Final = str.maketrans({"\\": "\\\\", "\n": "\\n", "\t": "\\t"})


@dataclass(frozen=True, slots=True)
class Glyphs:
    full: str
    rest: str
    dot: str
    more: str
    arrow: str
    ok: str
    warning: str
    problem: str


_UNICODE: Final = Glyphs(full="█", rest="░", dot="·", more="…", arrow="→", ok="✓", warning="!", problem="✗")
_ASCII: Final = Glyphs(full="#", rest=".", dot="-", more="...", arrow="->", ok="ok", warning="!", problem="x")


def safe(text: str) -> str:
    r"""The text with everything that could steer a terminal made visible: ESC becomes the four characters \x1b."""
    return UNSAFE_CHARACTERS.sub(_visible, text.replace("\r\n", "\n"))


def tsv_field(value: object) -> str:
    """One field of a plain line: backslash, tab and newline are escaped, so that a line is always one item."""
    if value is None:
        return ""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return UNSAFE_CHARACTERS.sub(_visible, text.translate(_FIELD))


def _visible(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def is_terminal_layout() -> bool:
    """Whether results are laid out for a person. `PERDURE_LAYOUT` decides; else a terminal does."""
    chosen = os.environ.get("PERDURE_LAYOUT") or "auto"
    if chosen not in {"auto", "terminal", "plain"}:
        raise SettingsInvalid(f"PERDURE_LAYOUT cannot be {chosen!r:.40}.", remedy="Set it to auto, terminal or plain.")
    return chosen == "terminal" or (chosen == "auto" and is_terminal(sys.stdout))


def is_terminal(stream: IO[Any] | None) -> bool:
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def is_utf8() -> bool:
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    return encoding.startswith("utf")


def glyphs() -> Glyphs:
    return _UNICODE if is_utf8() else _ASCII


def width() -> int:
    return max(40, shutil.get_terminal_size((100, 24)).columns)


def out(line: str = "") -> None:
    """A result, on stdout. Stored text in it must have passed through `safe` or `tsv_field`."""
    # The stream is named, because click would replace one that it thinks misconfigured.
    click.echo(line, file=sys.stdout, color=_colour())


def err(line: str) -> None:
    """Something about the result, on stderr."""
    click.echo(line, file=sys.stderr, color=_colour())


def _colour() -> bool | None:
    """None leaves it to the stream: colours on a terminal, none elsewhere."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return True if os.environ.get("FORCE_COLOR") else None


def dim(text: str) -> str:
    return click.style(text, dim=True)


def note(sentence: str) -> str:
    """What an answer says about itself."""
    return f"{click.style('note:', fg='yellow')} {safe(sentence)}"


def number_label(number: int) -> str:
    return click.style(f"#{number}", fg="cyan", bold=True)


def count_memories(count: int) -> str:
    return "1 memory" if count == 1 else f"{count:,} memories"


def harden() -> None:
    """A terminal that cannot show a character shows a question mark; it never ends the program."""
    for stream, errors in ((sys.stdout, "replace"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=errors)


def as_text(word: str) -> str:
    """A word of the command line as UTF-8, also where the locale is of another encoding."""
    try:
        return os.fsencode(word).decode("utf-8")
    except UnicodeError:
        return word


def utf8_output() -> TextIO:
    """Standard output for a file format, which is UTF-8 whatever the terminal speaks."""
    stream: TextIO = sys.stdout
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors="strict")
    return cast("TextIO", stream)

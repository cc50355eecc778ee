"""What reaches the user's screen. Results go to stdout; everything said around them goes to stderr.

There are two layouts: for a terminal, and plain for a pipe (one line per item, tabs between fields).
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from io import TextIOWrapper
from typing import IO, Any, Final, TextIO, cast

import click

from perdure.errors import SettingsInvalid

# Control characters (C0 without tab and newline, DEL, C1), characters that turn the direction of text or break lines,
# and halves of surrogate pairs: none of them may reach a terminal.
_UNSAFE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
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


_FANCY: Final = Glyphs(full="█", rest="░", dot="·", more="…", arrow="→", ok="✓", warning="!", problem="✗")
_ASCII: Final = Glyphs(full="#", rest=".", dot="-", more="...", arrow="->", ok="ok", warning="!", problem="x")


def safe(text: str) -> str:
    r"""The text with everything that could steer a terminal made visible: ESC becomes the four characters \x1b."""
    return _UNSAFE.sub(_visible, text.replace("\r\n", "\n"))


def field(value: object) -> str:
    """One field of a plain line: backslash, tab and newline are escaped, so that a line is always one item."""
    return _UNSAFE.sub(_visible, str(value).translate(_FIELD))


def _visible(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def fancy() -> bool:
    """Whether to lay results out for a person. `PERDURE_LAYOUT` decides; else a terminal does."""
    chosen = os.environ.get("PERDURE_LAYOUT") or "auto"
    if chosen not in {"auto", "terminal", "plain"}:
        raise SettingsInvalid(f"PERDURE_LAYOUT cannot be {chosen!r:.40}.", remedy="Set it to auto, terminal or plain.")
    return chosen == "terminal" or (chosen == "auto" and is_terminal(sys.stdout))


def is_terminal(stream: IO[Any] | None) -> bool:
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def colour() -> bool | None:
    """None leaves it to the stream: colours on a terminal, none elsewhere."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return True if os.environ.get("FORCE_COLOR") else None


def glyphs() -> Glyphs:
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    return _FANCY if encoding.startswith("utf") else _ASCII


def width() -> int:
    import shutil

    return max(40, shutil.get_terminal_size((100, 24)).columns)


def say(line: str = "") -> None:
    """A result, on stdout. Whoever puts stored text into it has passed that through `safe` or `field`."""
    # Named, because click would replace a stream that it thinks misconfigured.
    click.echo(line, file=sys.stdout, color=colour())


def tell(line: str) -> None:
    """Something about the result, on stderr."""
    click.echo(line, file=sys.stderr, color=colour())


def notes(lines: tuple[str, ...]) -> None:
    for line in lines:
        tell(f"{click.style('note:', fg='yellow')} {safe(line)}")


def row(*values: object) -> None:
    """One plain line."""
    say("\t".join("" if value is None else field(value) for value in values))


def dim(text: str) -> str:
    return click.style(text, dim=True)


def harden() -> None:
    """A terminal that cannot show a character shows a question mark; it never ends the program."""
    for stream, errors in ((sys.stdout, "replace"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=errors)


def utf8_output() -> TextIO:
    """Standard output for a file format, which is UTF-8 whatever the terminal speaks."""
    stream: TextIO = sys.stdout
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors="strict")
    return cast("TextIO", stream)

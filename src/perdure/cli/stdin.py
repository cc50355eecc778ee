"""Text from a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from typing import BinaryIO, TextIO

import click

from perdure.errors import InvalidInput, TextTooLong
from perdure.validation import MAX_TEXT_BYTES


def words_or_stdin(words: Sequence[str], what: str) -> str:
    """The words given, as one text; `-`, or nothing while something is piped in, means standard input."""
    if words and tuple(words) != ("-",):
        return _decoded(" ".join(words).encode("utf-8", "surrogatepass"), what)
    piped: TextIO | None = sys.stdin
    if not words and (piped is None or piped.isatty()):
        raise click.UsageError(f"{what} is missing. Write it after the command, or pipe it in.")
    return read_text()


def read_text() -> str:
    raw = _stream().read(MAX_TEXT_BYTES + 2)
    if len(raw) > MAX_TEXT_BYTES + 1:
        raise TextTooLong(f"Standard input holds more than {MAX_TEXT_BYTES:,} bytes, the most one memory may have.")
    return _decoded(raw).removesuffix("\n").removesuffix("\r")


def read_lines() -> Iterator[tuple[int, str]]:
    """Each line that is not blank, with its number, as soon as it arrives."""
    stream = _stream()
    for number, raw in enumerate(iter(lambda: stream.readline(MAX_TEXT_BYTES + 2), b""), start=1):
        line = _decoded(raw, f"Line {number} of standard input").strip()
        if line:
            yield number, line


def utf8_input() -> TextIO:
    """Standard input as UTF-8, whatever the terminal speaks."""
    return TextIOWrapper(_stream(), encoding="utf-8")


def _stream() -> BinaryIO:
    stream: TextIO | None = sys.stdin
    if stream is None:
        raise click.UsageError("There is no standard input to read.")
    return stream.buffer


def _decoded(raw: bytes, what: str = "Standard input") -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{what} is not UTF-8 text: byte {error.start} is wrong.",
            remedy="Convert it first, for example with `iconv -t utf-8`; nothing was changed.",
        ) from error

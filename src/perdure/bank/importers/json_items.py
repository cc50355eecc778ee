"""The objects of a large JSON document, one at a time: an array, or arrays that are members of one object. Only the
object at hand is in memory.
"""

from __future__ import annotations

import codecs
import json
import re
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, BinaryIO, Final, NamedTuple, cast

from perdure.errors import ImportFailed

# A string, or what opens and closes; `"` alone begins a string whose end was not read yet. Nothing in a string is tried
# twice, so that a long one costs neither time nor memory.
_TOKEN: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}"]', re.DOTALL)
_CHUNK: Final = 1 << 20
# In characters: an object is in memory three times while it is read, as part of the text, cut out of it, and parsed.
_MAX_ITEM: Final = 32 << 20
# How many objects, and how much of a document, tell what it is.
_FIRST_ITEMS: Final = 20
_BEGINNING: Final = 64 << 20
# What stands beside objects in an array: a string, a number, true, false or null.
_LOOSE: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^\s,\[\]{}"]++', re.DOTALL)
_NO_OBJECT: Final = "It is not an object."
_IN_A_MEMBER: Final = 2


class JsonItem(NamedTuple):
    """An object of a document. `member` is the array that it stands in, empty for a document that is one; `position`
    counts from 1 in it. `reason` says why there is no `value`; so anything else than an object is named as well.
    """

    member: str
    position: int
    value: dict[str, Any] | None
    reason: str = ""


def json_items(
    stream: BinaryIO, name: str, members: Collection[str] = (), *, most: int = sys.maxsize
) -> Iterator[JsonItem]:
    """The objects of an array, or of those arrays of an object that are called `members`. ImportFailed if the document
    ends in the middle, which it does after `most` bytes, or is not UTF-8.
    """
    scanner = _Scanner(members)
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        while most > 0 and (chunk := stream.read(_CHUNK)):
            most -= len(chunk)
            yield from scanner.feed(decoder.decode(chunk))
        yield from scanner.feed(decoder.decode(b"", final=True))
    except UnicodeDecodeError as error:
        raise ImportFailed(f"{name} is not UTF-8.", remedy="Save it as UTF-8, or get it again.") from error
    if scanner.depth or not scanner.began:
        raise ImportFailed(
            f"{name} {'ends in the middle' if scanner.began else 'is not JSON'}.", remedy="Get it again."
        )


def first_items(stream: BinaryIO, name: str, members: Collection[str] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
    """The first objects of a document, each with the array that it stands in, as far as its beginning tells."""
    with suppress(ImportFailed):
        for item in islice(json_items(stream, name, members, most=_BEGINNING), _FIRST_ITEMS):
            if item.value:
                yield item.member, item.value


class _Scanner:
    def __init__(self, members: Collection[str]) -> None:
        self._members = members
        self._text = ""
        self._at = 0
        self._start: int | None = None
        # Where what stands between two objects begins.
        self._between = 0
        self._too_long = False
        self._key = ""
        self._member: str | None = None
        self._items_depth = 0
        self._position = 0
        self.depth = 0
        self.began = False

    def feed(self, text: str) -> Iterator[JsonItem]:
        self._text += text
        while token := _TOKEN.search(self._text, self._at):
            if token[0] == '"':
                self._at = token.start()
                break
            self._at = token.end()
            if token[0] in "[{":
                yield from self._open(token)
            elif token[0] in "]}":
                yield from self._close(token)
            elif self.depth == 1:
                self._key = str(token[0])[1:-1]
        else:
            self._at = len(self._text)
        yield from self._forget()

    def _open(self, token: re.Match[str]) -> Iterator[JsonItem]:
        self.began = True
        self.depth += 1
        if token[0] == "[" and self._member is None:
            if self.depth == 1:
                self._member, self._items_depth, self._between = "", 1, token.end()
            elif self.depth == _IN_A_MEMBER and self._key in self._members:
                self._member, self._items_depth, self._position = self._key, _IN_A_MEMBER, 0
                self._between = token.end()
        elif self._member is not None and self.depth == self._items_depth + 1:
            yield from self._loose(token.start())
            self._start = token.start()

    def _close(self, token: re.Match[str]) -> Iterator[JsonItem]:
        self.depth = max(0, self.depth - 1)
        if self._start is not None and self.depth == self._items_depth:
            self._position += 1
            member = self._member or ""
            if self._too_long:
                yield JsonItem(member, self._position, None, f"It is larger than {_MAX_ITEM >> 20} MiB.")
            else:
                yield self._item(member, self._text[self._start : token.end()])
            self._start, self._too_long, self._between = None, False, token.end()
        elif self._member is not None and self.depth < self._items_depth:
            yield from self._loose(token.start())
            self._member = None

    def _loose(self, end: int) -> Iterator[JsonItem]:
        """What stands before this place and is no object."""
        for _ in _LOOSE.finditer(self._text, self._between, end):
            self._position += 1
            yield JsonItem(self._member or "", self._position, None, _NO_OBJECT)
        self._between = end

    def _item(self, member: str, text: str) -> JsonItem:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return JsonItem(member, self._position, None, "It is not valid JSON.")
        if not isinstance(value, dict):
            return JsonItem(member, self._position, None, _NO_OBJECT)
        return JsonItem(member, self._position, cast("dict[str, Any]", value))

    def _forget(self) -> Iterator[JsonItem]:
        """Only what belongs to the object at hand is kept, and nothing of one that is too long; or what stands between
        two objects.
        """
        if self._start is not None and self._at - self._start > _MAX_ITEM:
            self._start, self._too_long = self._at, True
        if self._start is None and self._member is not None and self._at - self._between > _CHUNK:
            yield from self._loose(self._at)
        keep = self._at
        if self._start is not None and not self._too_long:
            keep = self._start
        elif self._start is None and self._member is not None:
            keep = self._between
        if self._start is not None:
            self._start = 0
        self._text, self._at, self._between = self._text[keep:], self._at - keep, 0

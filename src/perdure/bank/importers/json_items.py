"""The objects of a large JSON document, one at a time: an array, or arrays that are members of one object. Only the
object at hand is in memory.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Collection, Iterator
from io import BytesIO
from typing import Any, BinaryIO, Final, NamedTuple, cast

from perdure.errors import ImportFailed

# A string, or what opens and closes; `"` alone begins a string whose end was not read yet.
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}"]', re.DOTALL)
_CHUNK: Final = 1 << 20
_MAX_ITEM: Final = 64 << 20
_IN_A_MEMBER: Final = 2


class JsonItem(NamedTuple):
    """An object of a document. `member` is the array that it stands in, empty for a document that is one; `position`
    counts from 1 in it. `reason` says why there is no `value`.
    """

    member: str
    position: int
    value: dict[str, Any] | None
    reason: str = ""


def json_items(stream: BinaryIO, name: str, members: Collection[str] = ()) -> Iterator[JsonItem]:
    """The objects of an array, or of those arrays of an object that are called `members`. ImportFailed if the document
    ends in the middle, or is not UTF-8.
    """
    scanner = _Scanner(members)
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        while chunk := stream.read(_CHUNK):
            yield from scanner.feed(decoder.decode(chunk))
        yield from scanner.feed(decoder.decode(b"", final=True))
    except UnicodeDecodeError as error:
        raise ImportFailed(f"{name} is not UTF-8.") from error
    if scanner.depth or not scanner.began:
        raise ImportFailed(
            f"{name} {'ends in the middle' if scanner.began else 'is not JSON'}.", remedy="Get it again."
        )


def first_item(stream: BinaryIO, name: str, members: Collection[str] = ()) -> tuple[str, dict[str, Any]]:
    """The array and the value of the first object of a document, as far as its beginning tells; else nothing."""
    try:
        first = next(json_items(BytesIO(stream.read(_MAX_ITEM)), name, members), None)
    except ImportFailed:
        return "", {}
    return (first.member, first.value or {}) if first else ("", {})


class _Scanner:
    def __init__(self, members: Collection[str]) -> None:
        self._members = members
        self._text = ""
        self._at = 0
        self._start: int | None = None
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
                self._open(token)
            elif token[0] in "]}":
                yield from self._close(token)
            elif self.depth == 1:
                self._key = str(token[0])[1:-1]
        else:
            self._at = len(self._text)
        self._forget()

    def _open(self, token: re.Match[str]) -> None:
        self.began = True
        self.depth += 1
        if token[0] == "[" and self._member is None:
            if self.depth == 1:
                self._member, self._items_depth = "", 1
            elif self.depth == _IN_A_MEMBER and self._key in self._members:
                self._member, self._items_depth, self._position = self._key, _IN_A_MEMBER, 0
        elif self._member is not None and self.depth == self._items_depth + 1 and token[0] == "{":
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
            self._start, self._too_long = None, False
        elif self._member is not None and self.depth < self._items_depth:
            self._member = None

    def _item(self, member: str, text: str) -> JsonItem:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return JsonItem(member, self._position, None, "It is not valid JSON.")
        return JsonItem(member, self._position, cast("dict[str, Any]", value))

    def _forget(self) -> None:
        """Only what belongs to the object at hand is kept, and nothing of one that is too long."""
        if self._start is not None and self._at - self._start > _MAX_ITEM:
            self._start, self._too_long = self._at, True
        keep = self._at if self._start is None or self._too_long else self._start
        if self._start is not None:
            self._start = 0
        self._text, self._at = self._text[keep:], self._at - keep

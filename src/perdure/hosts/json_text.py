"""Changes of a JSON text that leave everything else as it stands: comments, spacing, and how a value is written."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, cast

from perdure.text.jsonc import without_comments

_BLANK: Final = re.compile(r"[ \t\r\n]*")
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_SCALAR: Final = re.compile(r"[^\s,\]}]+")
_INDENT: Final = re.compile(r'^([ \t]+)"', re.MULTILINE)
_COMMENT_BEHIND: Final = re.compile(r"[ \t]*(?://[^\n]*|/\*[^\n]*?\*/)")
_WHITE: Final = " \t\r\n"


class Edit(NamedTuple):
    """These characters are replaced."""

    start: int
    end: int
    text: str


@dataclass(slots=True)
class JsonNode:
    """A value and where it stands; `parts` are what an object or a list holds."""

    start: int
    end: int = 0
    parts: list[JsonPart] = field(default_factory=list["JsonPart"])


@dataclass(slots=True)
class JsonPart:
    """A member of an object, or an element of a list, which has no name. `comma` is where the one behind it stands."""

    name: str | None
    start: int
    node: JsonNode
    comma: int | None = None

    @property
    def end(self) -> int:
        return self.node.end if self.comma is None else self.comma + 1


def changed_json(text: str, before: Any, after: Any) -> str:
    """The text of a value, where it is another value; both are as the text is read, without its comments."""
    writer = _Writer(text)
    writer.change(_scan(without_comments(text), 0), before, after)
    return _edited(text, writer.edits)


def _edited(text: str, edits: Sequence[Edit]) -> str:
    # From the last to the first, so that those before stay where they are.
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def _scan(text: str, start: int) -> JsonNode:
    """The value that begins there, of a text that is known to be right."""
    start = _skip(text, start)
    if text[start] not in "{[":
        return JsonNode(start, start + len(_first(_STRING if text[start] == '"' else _SCALAR, text, start)))
    node = JsonNode(start)
    place = _skip(text, start + 1)
    while text[place] not in "}]":
        name, begin = None, place
        if text[start] == "{":
            written = _first(_STRING, text, place)
            name, place = json.loads(written), _skip(text, place + len(written)) + 1
        part = JsonPart(name, begin, _scan(text, place))
        place = _skip(text, part.node.end)
        if text[place] == ",":
            part.comma = place
            place = _skip(text, place + 1)
        node.parts.append(part)
    node.end = place + 1
    return node


def _first(pattern: re.Pattern[str], text: str, place: int) -> str:
    found = pattern.match(text, place)
    return found[0] if found else ""


def _skip(text: str, place: int) -> int:
    return place + len(_first(_BLANK, text, place))


class _Writer:
    """Collects what has to be replaced."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.edits: list[Edit] = []
        indent = _INDENT.search(text)
        self.unit = indent[1] if indent else "  "

    def change(self, node: JsonNode, before: Any, after: Any) -> None:
        if before == after:
            return
        if isinstance(before, dict) and isinstance(after, dict):
            self._change_object(node, cast("dict[str, Any]", before), cast("dict[str, Any]", after))
        elif isinstance(before, list) and isinstance(after, list):
            self._change_list(node, cast("list[Any]", before), cast("list[Any]", after))
        else:
            self._replace(node, after)

    def _change_object(self, node: JsonNode, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        kept = [part for part in node.parts if part.name in after]
        # Of several members of one name the last one counts.
        for name, part in {part.name: part for part in kept if part.name is not None}.items():
            self.change(part.node, before[name], after[name])
        added = [f"{json.dumps(name, ensure_ascii=False)}: " for name in after if name not in before]
        values = [value for name, value in after.items() if name not in before]
        self._keep(node, kept, list(zip(added, values, strict=True)))

    def _change_list(self, node: JsonNode, before: Sequence[Any], after: Sequence[Any]) -> None:
        """Elements that are the same stay, in their order; what is new behind them is added."""
        if len(before) == len(after):
            for part, old, new in zip(node.parts, before, after, strict=True):
                self.change(part.node, old, new)
            return
        kept: list[JsonPart] = []
        for part, old in zip(node.parts, before, strict=True):
            if len(kept) < len(after) and old == after[len(kept)]:
                kept.append(part)
        if len(kept) < min(len(before), len(after)):
            self._replace(node, list(after))
        else:
            self._keep(node, kept, [("", value) for value in after[len(kept) :]])

    def _replace(self, node: JsonNode, value: Any) -> None:
        self.edits.append(Edit(node.start, node.end, self._dumped(value, self._indent_of_line(node.start))))

    def _keep(self, node: JsonNode, kept: Sequence[JsonPart], added: Sequence[tuple[str, Any]]) -> None:
        """Take out all parts but these, and add others behind them."""
        gone = [part for part in node.parts if all(part is not one for one in kept)]
        for part in gone:
            self._delete(self._behind_text(part.start), part.end)
        last = kept[-1] if kept else None
        ends_with_comma = bool(node.parts) and node.parts[-1].comma is not None
        if gone and last is not None and not added and not ends_with_comma and last.comma is not None:
            self._delete(last.comma, last.comma + 1)
        if added:
            self._add(node, last, added, comma_behind=ends_with_comma)
        elif not kept and not self._rest(node, gone).strip():
            self.edits = [edit for edit in self.edits if not node.start < edit.start < node.end]
            self._delete(node.start + 1, node.end - 1)

    def _add(
        self, node: JsonNode, last: JsonPart | None, added: Sequence[tuple[str, Any]], *, comma_behind: bool
    ) -> None:
        outer = self._indent_of_line(node.start)
        first = node.parts[0].start if node.parts else None
        is_one_line = first is not None and "\n" not in self.text[node.start : first]
        indent = outer + self.unit if first is None else self._indent_of_line(first)
        comma = "" if last is None or last.comma is not None else ","
        place = self._behind_text(node.end - 1) if last is None else last.end
        if last is not None and (behind := _COMMENT_BEHIND.match(self.text, place)):
            # The comment stays behind what it is about.
            self.edits += [Edit(place, place, comma)] if comma else []
            place, comma = behind.end(), ""
            is_one_line = is_one_line and "//" not in behind[0]
        lines = [name + self._dumped(value, indent, one_line=is_one_line) for name, value in added]
        joint = " " if is_one_line else f"\n{indent}"
        told = comma + joint + f",{joint}".join(lines) + ("," if comma_behind else "")
        if last is None and "\n" not in self.text[place : node.end]:
            told = told.lstrip(" ") if is_one_line else f"{told}\n{outer}"
        self.edits.append(Edit(place, place, told))

    def _delete(self, start: int, end: int) -> None:
        self.edits.append(Edit(start, end, ""))

    def _behind_text(self, place: int) -> int:
        """Where what stands before a place ends."""
        return len(self.text[:place].rstrip(_WHITE))

    def _rest(self, node: JsonNode, gone: Sequence[JsonPart]) -> str:
        """What stands in an object or a list beside its parts."""
        inside, place = "", node.start + 1
        for part in gone:
            inside += self.text[place : part.start]
            place = part.end
        return inside + self.text[place : node.end - 1]

    def _indent_of_line(self, place: int) -> str:
        line = self.text[self.text.rfind("\n", 0, place) + 1 :]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _dumped(self, value: Any, indent: str, *, one_line: bool = False) -> str:
        if one_line:
            return json.dumps(value, ensure_ascii=False)
        return json.dumps(value, ensure_ascii=False, indent=self.unit).replace("\n", f"\n{indent}")

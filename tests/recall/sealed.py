"""Reads a sealed context back, to prove that nothing that a memory says can break out of its item."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from perdure.model import Format
from perdure.recall.envelope import GOES_ON, RULE
from perdure.text.unsafe_characters import ESCAPE

WRITTEN_OUT = re.compile(f"{ESCAPE}([0-9a-f]+);")
LINE = re.compile(
    r"- (?:\[(?P<category>[^\]]*)\] )?(?P<date>[\d-]+) #(?P<number>\d+)(?: \((?P<origin>[^()]*)\))?: (?P<said>.*)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Opened:
    """An item as it is read back."""

    number: int
    date: str
    category: str | None
    origin: str | None
    text: str


def opened(text: str, format: Format = "text") -> list[Opened]:
    """The items of a sealed text. ValueError when it is none."""
    rule, _, rest = text.partition("\n")
    first, _, rest = rest.partition("\n")
    body, _, last = rest.rpartition("\n")
    if rule != RULE or not re.fullmatch(r"<memories [0-9a-f]+>", first) or last != f"</{first[1:]}":
        raise ValueError(text[:80])
    if format == "records":
        return [_from_json(line) for line in body.split("\n")]
    return [_from_text(item) for item in re.split(r"\n(?=- )", body)]


def unescape(text: str) -> str:
    return WRITTEN_OUT.sub(lambda found: chr(int(found[1], 16)), text)


def _from_text(text: str) -> Opened:
    found = LINE.fullmatch(text)
    lines = found["said"].split("\n") if found else []
    if not found or not all(line.startswith(GOES_ON[1:]) for line in lines[1:]):
        raise ValueError(text[:80])
    said = unescape("\n".join([lines[0], *(line[len(GOES_ON) - 1 :] for line in lines[1:])]))
    return Opened(int(found["number"]), found["date"], found["category"], found["origin"], said)


def _from_json(line: str) -> Opened:
    value = json.loads(line)
    return Opened(value["number"], value["date"], value.get("category"), value.get("origin"), value["text"])

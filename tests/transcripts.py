"""What a page shows, as a reader would type it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_DIFFERS: Final = {
    r"^new store: .*/": "new store: ",
    # The id of a batch, in full or short; the token of a preview, a content hash, the mark of an envelope.
    r"\b[0-9a-f]{16}\b": "ID",
    r"\b[0-9a-f]{8}((-[0-9a-f]{4}){3}-[0-9a-f]{12})?\b": "ID",
    r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?\b": "TIME",
    r"\b\d{8}T\d{6}Z": "TIME",
    r"\b\d{4}-\d\d-\d\d\b": "DATE",
    r"\b(just now|\d+ \w+ ago)\b": "AGO",
    # Also the figures of evidence, which may be above 1 or speak against a memory.
    r"-?\b\d\.\d{2,3}\b": "0.00",
    r"[█░]+": "BAR",
    r"\b\d+\.\d MiB": "MiB",
    # A mark is counted as well, and it is another one each time.
    r"\b\d+ of (?=\d+ tokens)": "",
    # A column is as wide as what stands in it.
    r"(?<=\S) {2,}": "  ",
}


@dataclass(frozen=True)
class Fence:
    """A block of a page between three backticks."""

    language: str
    text: str
    line: int
    above: str  # the paragraph above it

    @property
    def file(self) -> str | None:
        """The file that the paragraph above says it is: the last path in it, when a colon ends it."""
        named = re.findall(r"`([^`\s]*\.[a-z]+)`", self.above)
        return named[-1] if named and self.above.endswith(":") else None


def fences(page: str) -> list[Fence]:
    return [
        Fence(
            found["language"],
            found["text"],
            line=page.count("\n", 0, found.start("text")) + 1,
            above=page[: found.start()].rstrip().rpartition("\n\n")[2].replace("\n", " "),
        )
        for found in re.finditer(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", page, re.MULTILINE | re.DOTALL)
    ]


def blocks(page: str, language: str) -> list[str]:
    return [fence.text for fence in fences(page) if fence.language == language]


def steps(transcript: str) -> list[tuple[str, str]]:
    """Each command line of a transcript, and what is shown below it."""
    parts = re.split(r"^\$ ", transcript, flags=re.MULTILINE)[1:]
    return [(line, shown) for line, _, shown in (part.partition("\n") for part in parts)]


def without_figures(text: str) -> str:
    """Without what differs each time: times, ids, the last digits of a relevance, the store's folder."""
    for differs, name in _DIFFERS.items():
        text = re.sub(differs, name, text, flags=re.MULTILINE)
    return "\n".join(line.rstrip() for line in text.splitlines()).rstrip()

"""What a page shows, as a reader would type it."""

from __future__ import annotations

import re


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def steps(transcript: str) -> list[tuple[str, str]]:
    """Each command line of a transcript, and what is shown below it."""
    parts = re.split(r"^\$ ", transcript, flags=re.MULTILINE)[1:]
    return [(line, shown) for line, _, shown in (part.partition("\n") for part in parts)]


def without_figures(text: str) -> str:
    """Without what differs each time: the store's folder, a batch's id, the last digits of a relevance."""
    text = re.sub(r"^new store: .*/", "new store: ", text, flags=re.MULTILINE)
    text = re.sub(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "ID", text)
    return re.sub(r"\b[01]\.\d\d\b", "0.00", text).rstrip()

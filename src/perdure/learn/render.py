"""Facts as a person or a model reads them: with their category, and with how much speaks for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from perdure.model import Record
from perdure.text.preview import one_line

HEADING: Final = "## Semantic Memory"


def fact_line(record: Record) -> str:
    """`[preference] User prefers dark mode (sources: 3 conversations)`. A source is an episode that says so."""
    sources = len(record.evidence)
    counted = "1 conversation" if sources == 1 else f"{sources} conversations"
    return f"[{record.category}] {one_line(record.text)} (sources: {counted})"


def facts_markdown(records: Iterable[Record]) -> str:
    """A list under one heading; empty when there are none."""
    lines = [f"- {fact_line(record)}" for record in records]
    return "\n".join((HEADING, *lines)) if lines else ""

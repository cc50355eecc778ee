"""Facts as a person or a model reads them: with their category, and with how much speaks for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from perdure.model import Record
from perdure.text.preview import one_line

HEADING: Final = "## Semantic Memory"


def fact_line(record: Record, conversations: int) -> str:
    """`[preference] User prefers dark mode (sources: 3 conversations)`; where none says so, `(remembered)`."""
    counted = "1 conversation" if conversations == 1 else f"{conversations} conversations"
    return f"[{record.category}] {one_line(record.text)} ({f'sources: {counted}' if conversations else 'remembered'})"


def facts_markdown(records: Iterable[Record]) -> str:
    """A list under one heading; empty when there are none. As in S2, each episode that says so counts as one source."""
    lines = [f"- {fact_line(record, len(record.evidence))}" for record in records]
    return "\n".join((HEADING, *lines)) if lines else ""

"""The measure of what a script can do: SQLite's own full-text search over the same texts."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from bench.recall.data import Collection
from bench.recall.runs import Answered
from perdure.text.stopwords import STOPWORDS


def fts5(collection: Collection, limit: int = 10) -> list[Answered]:
    """Any of the question's words but stopwords, with Porter's stems, by `bm25()`."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE docs USING fts5(name UNINDEXED, text, tokenize='porter unicode61')")
        rows = ((memory["metadata"]["name"], _text(memory)) for memory in collection.memories)
        connection.executemany("INSERT INTO docs VALUES (?, ?)", rows)
        return [Answered(_search(connection, question.text, limit)) for question in collection.questions]
    finally:
        connection.close()


def _search(connection: sqlite3.Connection, question: str, limit: int) -> list[str]:
    words = [word for word in re.findall(r"\w+", question.lower()) if word not in STOPWORDS]
    if not words:
        return []
    query = " OR ".join(f'"{word}"' for word in words)
    found = connection.execute(
        "SELECT name FROM docs WHERE docs MATCH ? ORDER BY bm25(docs), rowid LIMIT ?", (query, limit)
    )
    return [name for (name,) in found]


def _text(memory: Mapping[str, Any]) -> str:
    """Date and speaker stand before the text, as a person would write them."""
    when = f"[{datetime.fromisoformat(memory['valid_at']):%-d %B %Y}]" if "valid_at" in memory else ""
    speaker = f"{memory['metadata']['speaker']}:" if "speaker" in memory["metadata"] else ""
    return " ".join(filter(None, (when, speaker, memory.get("title", ""), memory["text"])))

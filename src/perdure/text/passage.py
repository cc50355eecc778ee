"""The text that stands for a memory in the vector space: what it says, and who, when, and under which heading."""

from __future__ import annotations

from hashlib import sha256

from perdure.model import Record


def setting(record: Record) -> str:
    """When and who, as a person would write it before the sentence: `[8 May 2023] Caroline: `."""
    when = record.valid_at
    date = f"[{when.day} {when:%B %Y}] " if when else ""
    speaker = record.metadata.get("speaker")
    return f"{date}{speaker}: " if isinstance(speaker, str) and speaker else date


def passage(record: Record) -> str:
    title = f"{record.title}. " if record.title else ""
    category = f"{record.category}: " if record.category else ""
    keywords = f" {' '.join(record.keywords)}" if record.keywords else ""
    return f"{setting(record)}{title}{category}{record.text}{keywords}"


def passage_hash(record: Record) -> bytes:
    """A vector is found by this, so that no change of the passage can leave a stale one behind."""
    return sha256(passage(record).encode("utf-8")).digest()[:16]

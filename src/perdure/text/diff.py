"""What changed from one version of a memory to another, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from difflib import SequenceMatcher
from typing import Final

from perdure.model import USE_FIELDS, DiffPart, FieldChange, Record

_IGNORED: Final = frozenset({*USE_FIELDS, "text", "seq", "version", "updated_at", "content_hash"})
_MOST_WORDS: Final = 2_000


def word_diff(before: str, after: str) -> list[DiffPart]:
    """Pieces that, read without the removed ones, are the new text; without the added ones, the old."""
    if before == after:
        return [DiffPart("same", before)]
    old, new = re.findall(r"\s+|[^\s]+", before), re.findall(r"\s+|[^\s]+", after)
    if len(old) + len(new) > _MOST_WORDS:
        return [DiffPart("removed", before), DiffPart("added", after)]
    pieces: list[DiffPart] = []
    for kind, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            pieces.append(DiffPart("same", "".join(old[i:j])))
            continue
        if i < j:
            pieces.append(DiffPart("removed", "".join(old[i:j])))
        if k < m:
            pieces.append(DiffPart("added", "".join(new[k:m])))
    return pieces


def changed_fields(before: Record, after: Record) -> Iterator[FieldChange]:
    """Every field besides the text that a reader would call changed."""
    for field in fields(Record):
        old, new = getattr(before, field.name), getattr(after, field.name)
        if field.name not in _IGNORED and old != new:
            yield FieldChange(field.name, old, new)

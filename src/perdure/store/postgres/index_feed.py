"""How a recall index is filled, and how it learns what changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, cast

from perdure.store.port import IndexRow
from perdure.store.postgres.connection import Row
from perdure.text.introductions import find_introduction
from perdure.text.names_and_times import holds_name
from perdure.text.question_share import question_share
from perdure.visibility import TOLD_IN, kind_of

_new_row: Final[Callable[[type[IndexRow], tuple[Any, ...]], IndexRow]] = cast("Any", tuple).__new__
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_NO_METADATA: Final[Mapping[str, Any]] = {}


def index_row(row: Row) -> IndexRow:
    """From the number, the terms and the vector, and then `index_columns`."""
    (
        number, terms, vector, active, tier, key, valid_from, valid_until, expires_at, dated, updated_at, category,
        observations, confidence, importance, anchor, conversation, session, said, metadata, phrases, passage,
        has_low_trust, has_places, project,
    ) = row  # fmt: skip
    asking, introduction = 0.0, None
    if said is not None:
        asking, introduction = question_share(said), find_introduction(said, holds_names=holds_name(said))
    facts = _decoded(metadata) if metadata else _NO_METADATA
    told_in = None
    if has_places:
        ids = facts.get(TOLD_IN)
        if isinstance(ids, list):
            told_in = _encode(ids)
        elif project is not None:
            told_in = _encode([f"/{project}"])
    stability = facts.get("stability")
    # Much quicker than calling the class by its many arguments, or `_make`, which counts them.
    return _new_row(IndexRow, (
        number, terms, vector, active, tier, kind_of(key) if key else None, valid_from, valid_until, expires_at,
        dated, updated_at, category, observations, confidence, importance, anchor, conversation, session,
        _text(facts.get("speaker")),
        asking,
        stability if isinstance(stability, int | float) and not isinstance(stability, bool) else None,
        tuple(map(str, json.loads(phrases))) if phrases else (),
        passage,
        introduction,
        has_low_trust,
        told_in,
    ))  # fmt: skip


def _decoded(metadata: str) -> Mapping[str, Any]:
    """Metadata that is damaged is none."""
    with suppress(ValueError):
        facts: object = json.loads(metadata)
        if isinstance(facts, dict):
            return cast("dict[str, Any]", facts)
    return _NO_METADATA


def _text(value: object) -> str | None:
    """A speaker that is no text is shown as JSON."""
    return value if value is None or isinstance(value, str) else _encode(value)

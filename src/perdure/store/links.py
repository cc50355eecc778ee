"""The links of a memory: what its fields name other memories by, as a store indexes it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TypeAlias

from perdure.model import Record
from perdure.store.port import LINK_KINDS, Link, LinkKind
from perdure.store.rows import NUMBER_MASK, Row, pack_name, unpack_id

# The kind of a link, and the id of the memory that is named.
Target: TypeAlias = tuple[LinkKind, bytes]


def links_of(record: Record) -> set[Target]:
    return _targets((record.evidence, record.supersedes, record.merged_from))


def encoded_links(columns: Row) -> set[Target]:
    """From the same three fields as they are stored."""
    return _targets(json.loads(column) if column else () for column in columns)


def _targets(fields: Iterable[Iterable[str]]) -> set[Target]:
    targets: set[Target] = set()
    for kind, names in zip(LINK_KINDS, fields, strict=False):
        targets.update((kind, target) for target in map(pack_name, names) if isinstance(target, bytes))
    return targets


def decode_links(rows: Iterable[Row]) -> list[Link]:
    return [Link(slot & NUMBER_MASK, unpack_id(source), kind, unpack_id(target)) for slot, source, kind, target in rows]

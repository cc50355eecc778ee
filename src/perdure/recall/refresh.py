"""When a cache of a namespace is stale, and what it reads to catch up: one rule for the recall index and triggers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from perdure.embed.port import Generation
from perdure.store.capabilities import VectorScan
from perdure.store.port import IndexChanges, IndexRow, Position, Store

_PAGE: Final = 1024
_VECTORS_PER_PAGE: Final = 8192
# Up to here the changes are read one by one, however small the cache is.
_FEW_CHANGES: Final = 1000


def read_rows(
    store: Store,
    namespace: str,
    generation: Generation | None,
    *,
    with_triggers: bool = False,
    categories: Sequence[str] = (),
    vectors: bool = True,
) -> Iterator[Sequence[IndexRow]]:
    """Every row of a namespace, in pages. Read the position before: what is written meanwhile then comes again."""
    after = 0
    read = partial(store.index_rows, namespace, generation, limit=_PAGE, with_triggers=with_triggers)
    read = partial(read, categories=categories, vectors=vectors) if categories else read
    while rows := read(after=after):
        yield rows
        after = rows[-1].number


def read_vectors(scan: VectorScan, namespace: str, generation: Generation) -> dict[bytes, bytes]:
    """Every vector of a namespace, by the hash of its passage."""
    vectors: dict[bytes, bytes] = {}
    after = 0
    while (page := scan.index_vectors(namespace, generation, after, _VECTORS_PER_PAGE)).vectors:
        vectors |= page.vectors
        after = page.last
    return vectors


def read_changes(
    store: Store, namespace: str, generation: Generation | None, since: Position, until: Position, size: int
) -> IndexChanges | None:
    """What changed since a cache of `size` rows was read. None when everything has to be read again: after a repair the
    log does not tell what changed, the log may be another one, and of very many changes reading everything is quicker.
    """
    behind = until.seq - since.seq
    is_other_log = behind == 0 and until.head != since.head
    if until.repairs != since.repairs or is_other_log or not 0 <= behind <= max(_FEW_CHANGES, size):
        return None
    changes = store.index_changes(namespace, generation, since)
    return None if changes.anew else changes

"""CrewAI: `PerdureStorage` is a storage of its `Memory`. CrewAI asks a storage by a vector alone; so the storage brings
an embedder of its own, which remembers what text a vector stands for, and finds by the words and the meaning of that.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

from crewai.memory.types import MemoryRecord, ScopeInfo

from perdure.adapters.documents import Documents, Moment, name_of, text_of
from perdure.bank.framework_documents import fits_metadata
from perdure.errors import InvalidInput
from perdure.memory import Memory
from perdure.model import Record

KIND: Final = "crewai"
# The entry of metadata that holds the rest of a record.
_RECORD: Final = "record"
_ROOT: Final = "/"
# How many texts are known by their vectors: CrewAI searches with a vector right after it asked for it.
_REMEMBERED: Final = 10_000
_HALF: Final = 127.5


class TextVectors:
    """An embedder for CrewAI that asks no model: a vector stands for one text, and the same text has the same one.
    Different texts are far from each other, so of what is saved at once CrewAI drops nothing but the same text twice.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: OrderedDict[tuple[float, ...], str] = OrderedDict()

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        vectors = [tuple(byte / _HALF - 1 for byte in sha256(text.encode()).digest()) for text in texts]
        with self._lock:
            for vector, text in zip(vectors, texts, strict=True):
                self._texts[vector] = text
                self._texts.move_to_end(vector)
            while len(self._texts) > _REMEMBERED:
                self._texts.popitem(last=False)
        return [list(vector) for vector in vectors]

    def text_of(self, vector: Sequence[float]) -> str:
        """InvalidInput if the vector is of another embedder; CrewAI would swallow a RuntimeError."""
        with self._lock:
            if (text := self._texts.get(tuple(vector))) is None:
                raise InvalidInput(
                    "This vector is not of the storage's own embedder.",
                    remedy="Give CrewAI both: Memory(storage=storage, embedder=storage.embedder).",
                )
        return text


class PerdureStorage:
    """A storage of CrewAI in a `Memory`, which is the attribute `perdure`: `storage.perdure.undo(session=…)`. Give
    CrewAI its `embedder` as well. With `known_at` it is what it was at that time, for reading alone.
    """

    def __init__(self, memory: Memory, *, known_at: Moment = None) -> None:
        self.perdure = memory
        self.embedder = TextVectors()
        self._documents = Documents(memory, KIND, KIND, known_at)

    def save(self, records: list[MemoryRecord]) -> None:
        """Store records, each under its id, all in one batch."""
        with self.perdure.batch():
            for record in records:
                kept = record.model_dump(mode="json", exclude={"content", "embedding"})
                if not fits_metadata(kept):
                    raise InvalidInput(
                        f"The metadata of the record {record.id} is too large.", remedy="Put it into the content."
                    )
                self._documents.put(record.id, record.content, _folders(record.scope), {_RECORD: kept})

    def update(self, record: MemoryRecord) -> None:
        self.save([record])

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """The records that fit the text of the vector, by meaning and by words, each with how well it fits."""
        query, asked = self.embedder.text_of(query_embedding), limit
        if not query.strip():
            return []
        while True:
            answer = self._documents.search(query, _folder(scope_prefix), asked, min_score)
            hits = ((_record(hit.record), hit.relevance) for hit in answer)
            found = [hit for hit in hits if _passes(hit[0], categories, metadata_filter)]
            if len(found) >= limit or len(answer) < asked:
                return found[:limit]
            asked *= 4

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Forget records, softly and in one batch, and answer how many."""
        if record_ids is None:
            documents: Iterable[Record | None] = self._documents.under(_folder(scope_prefix))
        else:
            documents = map(self._documents.get, record_ids)
        gone = [
            document
            for document in documents
            if document is not None
            and _is_older(record := _record(document), older_than)
            and _passes(record, categories, metadata_filter)
        ]
        self._documents.remove(*gone)
        return len(gone)

    def get_record(self, record_id: str) -> MemoryRecord | None:
        document = self._documents.get(record_id)
        return None if document is None else _record(document)

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        newest_first = sorted(self._records(scope_prefix), key=lambda record: _utc(record.created_at), reverse=True)
        return newest_first[offset : offset + limit]

    def get_scope_info(self, scope: str) -> ScopeInfo:
        records = list(self._records(scope))
        times = sorted((record.created_at for record in records), key=_utc)
        return ScopeInfo(
            path=scope,
            record_count=len(records),
            categories=sorted({category for record in records for category in record.categories}),
            oldest_record=times[0] if times else None,
            newest_record=times[-1] if times else None,
            child_scopes=self.list_scopes(scope),
        )

    def list_scopes(self, parent: str = _ROOT) -> list[str]:
        depth = len(_folders(parent))
        scopes = (_folders(record.scope) for record in self._records(parent))
        return sorted({folders[depth] for folders in scopes if len(folders) > depth})

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        counts: dict[str, int] = {}
        for record in self._records(scope_prefix):
            for category in record.categories:
                counts[category] = counts.get(category, 0) + 1
        return counts

    def count(self, scope_prefix: str | None = None) -> int:
        return sum(1 for _ in self._documents.under(_folder(scope_prefix)))

    def reset(self, scope_prefix: str | None = None) -> None:
        """Forget all records of a scope; softly, so that undo brings them back."""
        self.delete(scope_prefix)

    async def asave(self, records: list[MemoryRecord]) -> None:
        await asyncio.to_thread(self.save, records)

    async def asearch(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        return await asyncio.to_thread(
            self.search, query_embedding, scope_prefix, categories, metadata_filter, limit, min_score
        )

    async def adelete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        return await asyncio.to_thread(self.delete, scope_prefix, categories, record_ids, older_than, metadata_filter)

    def _records(self, scope: str | None) -> Iterator[MemoryRecord]:
        return map(_record, self._documents.under(_folder(scope)))


def _folders(scope: str) -> list[str]:
    """`/a/b` lies in `/a` and in `/a/b`; the root has no folder."""
    labels = [label for label in scope.split(_ROOT) if label]
    return ["/" + "/".join(labels[: depth + 1]) for depth in range(len(labels))]


def _folder(scope: str | None) -> str | None:
    return next(reversed(_folders(scope or _ROOT)), None)


def _record(document: Record) -> MemoryRecord:
    kept = document.metadata[_RECORD]
    rest = dict(kept) if isinstance(kept, Mapping) else {}
    return MemoryRecord.model_validate({**rest, "id": name_of(document), "content": text_of(document)})


def _passes(record: MemoryRecord, categories: list[str] | None, metadata: dict[str, Any] | None) -> bool:
    if categories and not set(categories) & set(record.categories):
        return False
    return all(record.metadata.get(name) == wanted for name, wanted in (metadata or {}).items())


def _utc(moment: datetime) -> datetime:
    """CrewAI writes times in UTC without saying so."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _is_older(record: MemoryRecord, than: datetime | None) -> bool:
    return than is None or _utc(record.created_at) < _utc(than)

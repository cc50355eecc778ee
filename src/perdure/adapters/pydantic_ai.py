"""Pydantic AI: `PerdureMemoryStore` is a store for `pydantic_ai_harness.memory.Memory`, with compare-and-set,
operations that are done once, metadata of a write, and search by meaning and by words.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic_ai_harness.memory import (
    MemoryConflictError,
    MemoryFile,
    MemoryMutation,
    MemoryOperation,
    MemoryOperationConflictError,
    MemorySearchMatch,
    MemorySearchResult,
)

from perdure.adapters.documents import Documents, Moment, name_of, require_present, text_of
from perdure.errors import VersionConflict
from perdure.memory import Memory
from perdure.model import Hit, Record
from perdure.text.patterns import pattern

KIND: Final = "pydantic-ai"
RECEIPTS: Final = "pydantic-ai-operation"
# Entries of metadata.
_PARENT: Final = "parent"
_OPERATION: Final = "operation"
_FINGERPRINT: Final = "fingerprint"
_EXISTED: Final = "existed"
_VERSION: Final = "version"
_GONE: Final = "gone"
_WRITTEN_WITH: Final = "written_with"
_SEGMENT: Final = pattern(r"[A-Za-z0-9_.-]{1,200}")
_MAX_METADATA_CHARS: Final = 4096
# How long an operation is known by its receipt.
_RECEIPTS_KEPT: Final = "in 90 days"
_ELLIPSIS: Final = "..."


class PerdureMemoryStore:
    """Files of an agent's memory in a `Memory`, which is the attribute `perdure`: `store.perdure.undo(session=…)`. With
    `known_at` the files are what they were at that time, for reading alone.
    """

    def __init__(self, memory: Memory, *, known_at: Moment = None) -> None:
        self.perdure = memory
        self._known_at = known_at
        self._files = Documents(memory, KIND, "pydantic-ai", known_at)
        self._receipts = Documents(memory, RECEIPTS, "pydantic-ai")

    async def read(self, path: str, *, max_chars: int) -> MemoryFile | None:
        _check_path(path)
        if max_chars <= 0:
            raise ValueError("max_chars must be positive")
        record = await asyncio.to_thread(self._current, path)
        return None if record is None else _file(record, max_chars)

    async def get_operation(self, operation: MemoryOperation) -> MemoryMutation | None:
        return await asyncio.to_thread(self._receipt, operation)

    async def write(
        self, path: str, content: str, *, expected_version: str | None, operation: MemoryOperation | None = None
    ) -> MemoryMutation:
        return await self.write_with_metadata(
            path, content, expected_version=expected_version, metadata=None, operation=operation
        )

    async def write_with_metadata(
        self,
        path: str,
        content: str,
        *,
        expected_version: str | None,
        metadata: Mapping[str, str] | None,
        operation: MemoryOperation | None = None,
    ) -> MemoryMutation:
        _check_path(path)
        written_with = _checked_metadata(metadata)
        return await asyncio.to_thread(self._write, path, content, expected_version, operation, written_with)

    async def delete(
        self, path: str, *, expected_version: str | None, operation: MemoryOperation | None = None
    ) -> MemoryMutation:
        _check_path(path)
        return await asyncio.to_thread(self._write, path, None, expected_version, operation, None)

    async def list_paths(self, prefix: str = "", *, limit: int) -> list[str]:
        _check_prefix(prefix)
        if limit <= 0:
            raise ValueError("limit must be positive")
        return await asyncio.to_thread(lambda: sorted(map(name_of, self._below(prefix)))[:limit])

    async def search(
        self, prefix: str, query: str, *, limit: int, max_files: int, max_chars: int, max_file_chars: int
    ) -> MemorySearchResult:
        """The files directly below the prefix that fit the query, the best first, within the bounds."""
        _check_prefix(prefix)
        if not query.split() or min(limit, max_files, max_chars, max_file_chars) <= 0:
            return MemorySearchResult(matches=[], scanned=0, truncated=False)
        return await asyncio.to_thread(self._search, prefix, query, limit, max_files, max_chars, max_file_chars)

    def _current(self, path: str) -> Record | None:
        record = self._files.get(path)
        return None if record is None or _GONE in record.metadata else record

    def _below(self, prefix: str) -> Iterator[Record]:
        folder = prefix[: prefix.rfind("/") + 1]
        for record in self._files.under(folder or None):
            if name_of(record).startswith(prefix) and _GONE not in record.metadata:
                yield record

    def _receipt(self, operation: MemoryOperation) -> MemoryMutation | None:
        record = self._receipts.get(operation.id)
        if record is None:
            # A process may have ended between a write and its receipt: the file knows who wrote it last.
            found = self.perdure.list(
                limit=1, key_type=KIND, where={_OPERATION: operation.id}, states=("active", "deleted")
            )
            record = next(iter(found.records), None)
        if record is None:
            return None
        if record.metadata[_FINGERPRINT] != operation.fingerprint:
            raise MemoryOperationConflictError(f"operation id {operation.id!r} was reused with different arguments")
        is_receipt = _VERSION in record.metadata
        version = record.metadata[_VERSION] if is_receipt else None if _GONE in record.metadata else record.version
        known = None if version is None else str(version)
        return MemoryMutation(version=known, replayed=True, existed=bool(record.metadata[_EXISTED]))

    def _write(
        self,
        path: str,
        content: str | None,
        expected: str | None,
        operation: MemoryOperation | None,
        written_with: dict[str, str] | None,
    ) -> MemoryMutation:
        """Write a version, or without content one that says that the file is gone, which is then forgotten: comparing
        and setting is one step, also for a deletion.
        """
        if operation and (receipt := self._receipt(operation)):
            return receipt
        require_present(self._known_at)
        record = self._files.get(path)
        current = None if record is None or _GONE in record.metadata else record
        if (None if current is None else str(current.version)) != expected:
            raise MemoryConflictError(f"memory path {path!r} has another version than {expected}")
        existed = current is not None
        if content is None and not existed:
            return self._kept(operation, MemoryMutation(version=None, replayed=False, existed=False))
        parts = path.split("/")
        folders = ["/".join((*parts[:depth], "")) for depth in range(1, len(parts))]
        entries: dict[str, Any] = {_PARENT: folders[-1] if folders else "", _EXISTED: existed}
        entries |= {_OPERATION: operation.id, _FINGERPRINT: operation.fingerprint} if operation else {}
        entries |= {_WRITTEN_WITH: written_with} if written_with else {}
        entries |= {_GONE: True} if content is None else {}
        text = text_of(current) if content is None and current else content or ""
        with self.perdure.batch():
            try:
                written = self._files.put(
                    path, text, folders, entries, expected_version=record.version if record else 0
                ).record
            except VersionConflict as error:
                raise MemoryConflictError(f"memory path {path!r} was changed by another writer") from error
            if content is None:
                self._files.remove(written)
            version = None if content is None else str(written.version)
            return self._kept(operation, MemoryMutation(version=version, replayed=False, existed=existed))

    def _kept(self, operation: MemoryOperation | None, mutation: MemoryMutation) -> MemoryMutation:
        """A receipt is a memory that is shown only to those who ask for it."""
        if operation:
            version = None if mutation.version is None else int(mutation.version)
            entries = {_FINGERPRINT: operation.fingerprint, _EXISTED: mutation.existed, _VERSION: version}
            self._receipts.put(
                operation.id, f"Operation {operation.id} was done.", [], entries, tier="deprecated",
                expires_at=_RECEIPTS_KEPT,
            )  # fmt: skip
        return mutation

    def _search(
        self, prefix: str, query: str, limit: int, max_files: int, max_chars: int, max_file_chars: int
    ) -> MemorySearchResult:
        parent = prefix[: prefix.rfind("/") + 1]
        answer = self._files.search(query, parent or None, max_files + 1, parent=parent)
        hits = [hit for hit in answer if name_of(hit.record).startswith(prefix) and _GONE not in hit.record.metadata]
        truncated = len(hits) > min(limit, max_files)
        hits = hits[:max_files]
        truncated |= any(len(text_of(hit.record)) > max_file_chars for hit in hits)
        matches: list[MemorySearchMatch] = []
        left = max_chars
        for hit in hits[:limit]:
            path = name_of(hit.record)
            room = left - len(path.removeprefix(prefix))
            if room <= 0:
                truncated = True
                break
            snippet = _snippet(text_of(hit.record)[:max_file_chars], hit, query, room)
            matches.append(MemorySearchMatch(path=path, snippet=snippet, score=hit.relevance))
            left = room - len(snippet)
        return MemorySearchResult(matches=matches, scanned=len(hits), truncated=truncated)


def _file(record: Record, max_chars: int) -> MemoryFile:
    content, metadata = text_of(record), record.metadata
    operation, written_with = metadata.get(_OPERATION), metadata.get(_WRITTEN_WITH)
    more: dict[str, Any] = {"metadata": dict(written_with)} if isinstance(written_with, Mapping) else {}
    return MemoryFile(
        content=content[:max_chars],
        version=str(record.version),
        operation_id=operation if isinstance(operation, str) else None,
        truncated=len(content) > max_chars,
        **more,
    )


def _snippet(content: str, hit: Hit, query: str, room: int) -> str:
    """The part of a file that fits the query: the passage by its meaning, or the first of its words."""
    lowered = content.lower()
    places = [at for term in query.lower().split() if (at := lowered.find(term)) >= 0]
    middle = min(places) if places else hit.passage[0] if hit.passage else 0
    start = max(0, min(middle - room // 3, len(content) - room))
    snippet = content[start : start + room]
    if start and len(snippet) > len(_ELLIPSIS):
        snippet = _ELLIPSIS + snippet[len(_ELLIPSIS) :]
    if start + room < len(content) and len(snippet) > len(_ELLIPSIS):
        snippet = snippet[: -len(_ELLIPSIS)] + _ELLIPSIS
    return snippet


def _check_path(path: str) -> None:
    for segment in path.split("/"):
        if not _SEGMENT.fullmatch(segment) or ".." in segment or segment == ".":
            raise ValueError(f"invalid memory path: {path!r}")


def _check_prefix(prefix: str) -> None:
    if prefix:
        _check_path(prefix.removesuffix("/"))


def _checked_metadata(metadata: Mapping[str, str] | None) -> dict[str, str] | None:
    given = dict(metadata or {})
    if not all(isinstance(each, str) for pair in given.items() for each in pair):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError("memory metadata keys and values must be strings")
    if any("\x00" in each for pair in given.items() for each in pair):
        raise ValueError("memory metadata keys and values must not contain NUL characters")
    if sum(len(each) for pair in given.items() for each in pair) > _MAX_METADATA_CHARS:
        raise ValueError(f"memory metadata has more than {_MAX_METADATA_CHARS} characters")
    return given or None

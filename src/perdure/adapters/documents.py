"""Documents: what frameworks keep under names, each a memory under a key.

A document is written as a new version of its memory and deleted softly, so history, undo and recall of the past hold
for it as for everything else. It is listed by the folders that it lies in, which stand in its metadata.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

from perdure.bank.framework_documents import BLANK, FOLDERS, NAME, document_key
from perdure.errors import InvalidInput, NotFound, PerdureError
from perdure.ids import MESSAGE
from perdure.memory import Memory
from perdure.model import Json, Recall, Record, Remembered

_PAGE: Final = 500
_EMPTY: Final = "(an empty document)"
Moment = datetime | str | None


class Documents:
    """The documents of one kind in a memory, as they are, or as they were known at a time."""

    def __init__(self, memory: Memory, kind: str, source: str, known_at: Moment = None) -> None:
        self.memory = memory
        self.kind = kind
        self._source = source
        self._known_at = known_at

    @property
    def is_past(self) -> bool:
        return self._known_at is not None

    def get(self, name: str) -> Record | None:
        with suppress(NotFound):
            return self.memory.get(document_key(self.kind, name), known_at=self._known_at)
        return None

    def put(
        self,
        name: str,
        text: str,
        folders: Sequence[str],
        entries: Mapping[str, Json],
        *,
        expected_version: int | None = None,
        **fields: Any,
    ) -> Remembered:
        """Write a version of a document. With `expected_version` it must be this one now; 0: there must be none."""
        require_present(self._known_at)
        metadata: dict[str, Json] = {FOLDERS: list(folders), NAME: name, **entries}
        if not text.strip():
            metadata[BLANK], text = text, _EMPTY
        return self.memory.upsert(
            document_key(self.kind, name),
            text,
            metadata=metadata,
            source=self._source,
            expected_version=expected_version,
            **fields,
        )

    def remove(self, *records: Record) -> None:
        """Forget documents, softly and in one batch."""
        require_present(self._known_at)
        if records:
            self.memory.forget([record.number for record in records], confirm=True)

    def under(self, folder: str | None, **where: Json) -> Iterator[Record]:
        """All documents that lie in a folder, in the order in which they were first made. A memory that somebody gave
        such a key by hand is none.
        """
        after = None
        while True:
            page = self.memory.list(
                limit=_PAGE, after=after, newest=False, known_at=self._known_at, **self._filters(folder, where)
            )
            yield from (record for record in page if NAME in record.metadata)
            after = page.next
            if after is None:
                return

    def search(
        self,
        query: str,
        folder: str | None,
        limit: int,
        min_relevance: float | None = None,
        recipe: str | None = None,
        **where: Json,
    ) -> Recall:
        """The documents in a folder that fit a query, by meaning and by words."""
        return self.memory.recall(
            query,
            limit=limit,
            min_relevance=min_relevance,
            recipe=recipe,
            include_constitutional=False,
            known_at=self._known_at,
            **self._filters(folder, where),
        )

    def _filters(self, folder: str | None, where: Mapping[str, Json]) -> dict[str, Any]:
        wanted = {**where} if folder is None else {**where, FOLDERS: folder}
        return {"key_type": self.kind, "where": wanted}


def require_present(known_at: Moment) -> None:
    """What an adapter shows of the past is for reading alone."""
    if known_at is not None:
        raise InvalidInput("The past cannot be changed.", remedy="Write to the store as it is now.")


def messages_at(memory: Memory, conversation_id: str, known_at: Moment, limit: int | None = None) -> list[Record]:
    """The messages of a conversation in their order, as they are or as they were known at a time; with a limit, the
    last ones.
    """
    if known_at is None:
        return memory.conversation(conversation_id).messages(limit=limit)
    newest_first: list[Record] = []
    after = None
    while limit is None or len(newest_first) < limit:
        page = memory.list(
            conversation_id=conversation_id, key_type=MESSAGE, known_at=known_at, limit=_PAGE, after=after
        )
        newest_first += page.records
        after = page.next
        if after is None:
            break
    return newest_first[:limit][::-1]


def text_of(record: Record) -> str:
    """The text of a document to the letter."""
    blank = record.metadata.get(BLANK)
    return blank if isinstance(blank, str) else record.text


def name_of(record: Record) -> str:
    return str(record.metadata[NAME])


def sentence_of(error: PerdureError) -> str:
    """What went wrong and what to do about it, for a model."""
    return f"{error.sentence} {error.remedy_for('mcp')}"

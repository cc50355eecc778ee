"""One conversation of a memory that a server keeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

from perdure.episodes.conversation import Conversation
from perdure.ids import MAX_NUMBER, MESSAGE, new_id
from perdure.model import Imported, Page, Record, Remembered
from perdure.remote.namespace import RemoteNamespace
from perdure.validation import check_int, check_single_line

_PAGE: Final = 100


class RemoteConversation(Conversation):
    def __init__(self, remote: RemoteNamespace, id: str) -> None:
        self.id = check_single_line(id, "conversation_id")
        self._remote = remote
        self._path = f"/v1/conversations/{quote(self.id, safe='')}"

    def add_message(
        self,
        role: str,
        content: str,
        *,
        at: datetime | str | None = None,
        speaker: str | None = None,
        session_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Remembered:
        said = {"role": role, "content": content, "at": at, "speaker": speaker, "session_id": session_id}
        body = {name: value for name, value in said.items() if value is not None}
        headers = {"idempotency-key": idempotency_key or new_id()}
        return self._remote.ask(Remembered, "POST", f"{self._path}/messages", body, headers=headers, repeats=True)

    def add_messages(self, messages: Iterable[Mapping[str, Any]]) -> Imported:
        return self._remote.ask(Imported, "POST", f"{self._path}/batch", {"messages": list(messages)}, slow=True)

    def end(self) -> bool:
        return self._remote.ask(dict[str, bool], "POST", f"{self._path}/end", {})["ended"]

    def messages(self, *, limit: int | None = None, episode: Record | None = None) -> list[Record]:
        most = None if limit is None else check_int(limit, "limit", 1, MAX_NUMBER)
        if episode is not None and episode.conversation_id != self.id:
            return []
        if episode is None and (most is None or most > _PAGE):
            return self._all()[-(most or MAX_NUMBER) :]
        query = {"limit": most, "episode": None if episode is None else episode.id}
        page = self._remote.ask(Page, "GET", f"{self._path}/messages", query=query)
        return list(page.records)

    def _all(self) -> list[Record]:
        """Page by page. Messages have keys that sort as they were said."""
        found, after = list[Record](), None
        while True:
            body = {"conversation_id": self.id, "key_type": MESSAGE, "newest": False, "limit": _PAGE, "after": after}
            page = self._remote.ask(Page, "POST", "/v1/list", body, repeats=True)
            found += page.records
            after = page.next
            if after is None:
                return sorted(found, key=lambda record: record.key or "")

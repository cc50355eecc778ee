"""Routes of conversations: their messages, and the episodes that are made of them."""

from __future__ import annotations

from io import StringIO
from typing import Annotated, Any, Final

from fastapi import Query
from starlette.responses import Response

from perdure.errors import NotFound, shown
from perdure.http.bodies import MAX_LIMIT, Message, MessagesImport, NewMessages
from perdure.http.memories import Key, Page
from perdure.http.routing import Asking, Routes, header_text, json_response, version_tag
from perdure.jsonable import list_document
from perdure.model import Imported, Recall, Remembered
from perdure.model import Page as PageOfMemories

CONVERSATIONS: Final = Routes("conversations")


@CONVERSATIONS.add(
    "GET", "/v1/conversations", "read", summary="List the ids of the conversations", answer={"conversations": list[str]}
)
def conversations(caller: Asking) -> Response:
    return json_response(list_document("conversations", caller.memory.conversations()))


@CONVERSATIONS.add(
    "GET", "/v1/conversations/{id:path}/messages", "read", summary="List the last messages", answer=PageOfMemories
)
def messages(
    caller: Asking,
    id: str,
    limit: Page = MAX_LIMIT,
    episode: Annotated[str | None, Query(description="Of this episode alone.")] = None,
) -> Response:
    """In the order in which they were said."""
    # Its last line in the log: to look at it so is no use of it.
    record = None if episode is None else caller.memory.history(episode)[-1].record
    if episode is not None and record is None:
        raise NotFound(f"The episode {shown(episode)} was erased.")
    found = caller.memory.conversation(id).messages(limit=limit, episode=record)
    return json_response({"records": found, "next": None})


@CONVERSATIONS.add(
    "POST", "/v1/conversations/{id:path}/batch", "write", summary="Store several messages, all or none",
    answer=Imported,
)  # fmt: skip
def add_messages(caller: Asking, id: str, body: NewMessages) -> Response:
    messages = map(caller.own_session, body.messages)
    return json_response(caller.memory.conversation(id).add_messages(messages))


@CONVERSATIONS.add(
    "POST", "/v1/conversations/{id:path}/end", "write", summary="Say that nothing follows for now",
    answer={"ended": bool},
)  # fmt: skip
def end(caller: Asking, id: str) -> Response:
    """The next work learns from what was said, without waiting for silence. False where that was known."""
    return json_response({"ended": caller.memory.conversation(id).end()})


@CONVERSATIONS.add(
    "POST", "/v1/messages", "write", summary="Take over conversations that were written down elsewhere",
    answer=Imported,
)  # fmt: skip
def import_messages(caller: Asking, body: MessagesImport) -> Response:
    """What is stored already is not stored again."""
    source = body.messages if body.lines is None else StringIO(body.lines)
    return json_response(caller.memory.import_messages(source or (), dry_run=body.dry_run))


@CONVERSATIONS.add(
    "POST", "/v1/conversations/{id:path}/messages", "write", repeatable=True, status_code=201,
    summary="Store what somebody said", answer=Remembered,
)  # fmt: skip
def add_message(caller: Asking, id: str, body: Message, idempotency_key: Key = None) -> Response:
    message = caller.own_session(body.given())
    done = caller.memory.conversation(id).add_message(**message, idempotency_key=header_text(idempotency_key))
    return json_response(done, 201, version_tag(done.record))


@CONVERSATIONS.add(
    "GET",
    "/v1/episodes",
    "read",
    summary="List or search the episodes of conversations",
    answer=Recall | PageOfMemories,
)
def episodes(
    caller: Asking,
    query: str | None = None,
    conversation_id: str | None = None,
    limit: Page = 20,
    cursor: Annotated[int | None, Query(ge=1, description="`next` of the page before; not with a query.")] = None,
) -> Response:
    """With a `query` the best first, else the newest first."""
    filters: Any = {} if conversation_id is None else {"conversation_id": conversation_id}
    if query is not None:
        return json_response(caller.memory.episodes(query, limit=limit, **filters))
    return json_response(caller.memory.list(key_type="episode", limit=limit, after=cursor, **filters))

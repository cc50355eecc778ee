"""Routes of conversations: their messages, and the episodes that are made of them."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import Query
from starlette.responses import Response

from perdure.http.bodies import MAX_LIMIT, Message
from perdure.http.memories import Key, Page
from perdure.http.routing import Asking, Routes, json_response, version_tag
from perdure.jsonable import list_document

CONVERSATIONS: Final = Routes("conversations")


@CONVERSATIONS.add("GET", "/v1/conversations", "read", summary="List the ids of the conversations")
def conversations(caller: Asking) -> Response:
    return json_response(list_document("conversations", caller.memory.conversations()))


@CONVERSATIONS.add("GET", "/v1/conversations/{id:path}/messages", "read", summary="List the last messages")
def messages(caller: Asking, id: str, limit: Page = MAX_LIMIT) -> Response:
    """In the order in which they were said."""
    return json_response({"records": caller.memory.conversation(id).messages(limit=limit), "next": None})


@CONVERSATIONS.add(
    "POST", "/v1/conversations/{id:path}/messages", "write", repeatable=True, status_code=201,
    summary="Store what somebody said",
)  # fmt: skip
def add_message(caller: Asking, id: str, body: Message, idempotency_key: Key = None) -> Response:
    done = caller.memory.conversation(id).add_message(**body.given(), idempotency_key=idempotency_key)
    return json_response(done, 201, version_tag(done.record))


@CONVERSATIONS.add("GET", "/v1/episodes", "read", summary="List or search the episodes of conversations")
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

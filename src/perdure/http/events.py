"""What changes, as server-sent events: each line of the log is one event, whose id is its position. Whoever comes back
with the last id that they saw misses nothing.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Annotated, Any, Final

import anyio
from fastapi import Header, Query
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from perdure.auth.authorise import authorise
from perdure.errors import BadRequest, PerdureError, RateLimited
from perdure.http.problems import problem
from perdure.http.routing import Asking, Caller, Routes
from perdure.http.streams import LogFeed, position_of
from perdure.jsonable import to_jsonable
from perdure.model import Revision

EVENTS: Final = Routes("changes")
# After how many looks without a change something is sent, so that no proxy takes the connection for dead.
_SILENCE: Final = 60
_LARGEST: Final = 2**62
_STREAM: Final = "text/event-stream"


@EVENTS.add(
    "GET", "/v1/events", "read", summary="Follow what changes, as server-sent events",
    response_class=StreamingResponse, responses={200: {"description": "Done", "content": {_STREAM: {}}}},
)  # fmt: skip
def events(
    caller: Asking,
    last_event_id: Annotated[str | None, Header(description="The id of the last event that was seen.")] = None,
    after: Annotated[int | None, Query(ge=0, description="The same, for those who cannot set a header.")] = None,
) -> Response:
    """The event's name is the operation, its data says which memory, which version, who and when, without the text.
    Without a last id it begins with what happens next. A token may have 8 streams open; one more is 429.
    """
    if last_event_id is not None and not (last_event_id.isascii() and last_event_id.isdigit()):
        raise BadRequest("Last-Event-ID must be the id of an event.", remedy="Leave it out to begin now.")
    seen = min(int(last_event_id[:20]), _LARGEST) if last_event_id else after
    if seen is None:
        seen = position_of(caller.memory)
    return EventStream(caller, seen)


class EventStream(Response):
    """A response that counts as a stream from its first byte until its reader has gone."""

    def __init__(self, caller: Caller, seen: int) -> None:
        super().__init__()
        self._caller, self._seen = caller, seen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = self._caller
        try:
            with caller.serving.streams.one_more(caller.token, caller.memory, caller.namespace) as feed:
                told = follow(caller, feed, self._seen)
                headers = {"X-Accel-Buffering": "no"}
                await StreamingResponse(told, media_type=_STREAM, headers=headers)(scope, receive, send)
        except RateLimited as error:
            await problem(error)(scope, receive, send)


async def follow(caller: Caller, feed: LogFeed, seen: int) -> AsyncIterator[str]:
    yield f"retry: 1000\nid: {seen}\n\n"
    silent = 0
    while not caller.serving.is_ending():
        try:
            # A stream must not outlive the token that opened it.
            tokens = caller.serving.tokens
            if tokens is not None and not tokens.is_current:
                await anyio.to_thread.run_sync(tokens.look)
            token = caller.token if tokens is None else tokens.by_id(caller.token.id)
            authorise(token, caller.action, caller.namespace, caller.serving.clock())
            lines = await feed.lines_after(seen)
        except PerdureError as error:
            yield f"event: error\ndata: {json.dumps(error.as_dict('http'))}\n\n"
            return
        for line in lines:
            yield event_text(line)
            seen = line.seq
        silent = 0 if lines else silent + 1
        if silent == _SILENCE:
            yield ": nothing new\n\n"
            silent = 0
        if not lines:
            await feed.wait()


def event_text(line: Revision) -> str:
    told: dict[str, Any] = to_jsonable(line)
    data = {name: told[name] for name in ("number", "memory", "version", "seq", "change") if name in told}
    data["change"].pop("provenance", None)
    return f"id: {line.seq}\nevent: {line.change.operation}\ndata: {json.dumps(data)}\n\n"

"""What changes, as server-sent events: each line of the log is one event, whose id is its position. Whoever comes back
with the last id that they saw misses nothing.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, Final

import anyio
from anyio.to_thread import run_sync
from fastapi import Header, Query
from starlette.responses import Response, StreamingResponse

from perdure.auth.authorise import authorise
from perdure.errors import BadRequest, PerdureError
from perdure.http.routing import Asking, Caller, Routes
from perdure.jsonable import to_jsonable
from perdure.model import Revision

EVENTS: Final = Routes("changes")
# How often the log is looked at, and after how many looks without a change something is sent, so that nobody in between
# takes the connection for dead.
_PAUSE: Final = 0.25
_SILENCE: Final = 60
_PAGE: Final = 100
_LARGEST: Final = 2**62


@EVENTS.add(
    "GET", "/v1/events", "read", summary="Follow what changes, as server-sent events", response_class=StreamingResponse
)
def events(
    caller: Asking,
    last_event_id: Annotated[str | None, Header(description="The id of the last event that was seen.")] = None,
    after: Annotated[int | None, Query(ge=0, description="The same, for those who cannot set a header.")] = None,
) -> Response:
    """The event's name is the operation, its data says which memory, which version, who and when, without the text.
    Without a last id it begins with what happens next.
    """
    if last_event_id is not None and not (last_event_id.isascii() and last_event_id.isdigit()):
        raise BadRequest("Last-Event-ID must be the id of an event.", remedy="Leave it out to begin now.")
    seen = min(int(last_event_id[:20]), _LARGEST) if last_event_id else after
    if seen is None:
        seen = _position(caller)
    return StreamingResponse(follow(caller, seen), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


async def follow(caller: Caller, seen: int) -> AsyncIterator[str]:
    yield f"retry: 1000\nid: {seen}\n\n"
    silent = 0
    while not caller.serving.is_ending():
        try:
            # A stream must not outlive the token that opened it.
            tokens = caller.serving.tokens
            token = caller.token if tokens is None else tokens.by_id(caller.token.id)
            authorise(token, caller.action, caller.namespace, caller.serving.clock())
            lines = await run_sync(lines_after, caller, seen)
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
            await anyio.sleep(_PAUSE)


def _position(caller: Caller) -> int:
    newest = caller.memory.log(limit=1)
    return newest[0].seq if newest else 0


def lines_after(caller: Caller, seen: int) -> Sequence[Revision]:
    """The next lines, oldest first. Positions have no gaps, so that a page that ends at `seen + 100` begins there."""
    if _position(caller) <= seen:
        return ()
    page = caller.memory.log(before=seen + _PAGE + 1, limit=_PAGE)
    return [line for line in reversed(page) if line.seq > seen]


def event_text(line: Revision) -> str:
    told: dict[str, Any] = to_jsonable(line)
    data = {name: told[name] for name in ("number", "memory", "version", "seq", "change") if name in told}
    data["change"].pop("provenance", None)
    return f"id: {line.seq}\nevent: {line.change.operation}\ndata: {json.dumps(data)}\n\n"

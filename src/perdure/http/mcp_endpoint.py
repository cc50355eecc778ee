"""The tools of `perdure mcp` over HTTP, for hosts that reach a server by its address: each message is one request, and
is answered whole; one that takes long, and asks to be told, is answered by a stream. A handshake gets a name for its
session, which is noted with what is written and kept nowhere else, so that any server may answer any message.
"""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Annotated, Any, Final, cast

import anyio
from anyio.to_thread import run_sync
from fastapi import Query, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from perdure.auth.authorise import Action, authorise
from perdure.errors import AccessDenied, BadRequest
from perdure.http.routing import MCP_PATH, Asking, Caller, Routes, in_turn, json_response
from perdure.ids import new_id
from perdure.mcp.lazy_memory import LazyMemory
from perdure.mcp.protocol import (
    BATCH_VERSION,
    HANDSHAKE_VERSIONS,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    MEMORY_ERROR,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    STATELESS_VERSIONS,
    UNSUPPORTED_VERSION,
    Protocol,
    ProtocolError,
    failure,
    progress,
    read_request,
)
from perdure.mcp.protocol import Request as McpRequest
from perdure.mcp.tool import Tool, ToolSet, is_object
from perdure.mcp.tools import tool_failure
from perdure.memory import Memory
from perdure.session.origin import Origin
from perdure.session.privacy import Place

MCP: Final = Routes("Model Context Protocol")
HEADER_MISMATCH: Final = -32020
_SESSION: Final = "mcp-session-id"
# What is not here is the fault of the request: 400.
_STATUS: Final = {METHOD_NOT_FOUND: 404, MEMORY_ERROR: 200, INTERNAL_ERROR: 200}
# Seconds between progress notifications.
_PROGRESS_SECONDS: Final = 1.0
# Which parameter of a method the header `Mcp-Name` repeats.
_NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_ENCODED: Final = ("=?base64?", "?=")
_MOST_IN_A_LIST: Final = 50
# Of one caller; the oldest are forgotten, and can be handed out again.
_MOST_TASKS: Final = 100


@MCP.add("POST", MCP_PATH, "read", summary="A message of the Model Context Protocol")
async def mcp(request: Request, caller: Asking, tools: Annotated[ToolSet, Query()] = "core") -> Response:
    """`tools` chooses the set of tools; a tool that writes needs `write` as well, one that forgets or goes back also
    `delete`. Whatever is written counts as a model's.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise BadRequest("A message must be JSON.", remedy="Send it with Content-Type: application/json.")
    try:
        message: Any = json.loads(await request.body())
    except (ValueError, RecursionError):
        return _failed(None, ProtocolError(PARSE_ERROR, "That is not JSON in UTF-8."))
    protocol = CallerProtocol(caller, tools, request.headers.get(_SESSION))
    if not isinstance(message, list):
        respond = in_turn(partial(protocol.respond, message, request.headers))
        token = wants_progress(message, request.headers)
        return await run_sync(respond) if token is None else SlowResponse(token, respond, caller.serving.note_write)
    messages, version = cast("list[object]", message), request.headers.get("mcp-protocol-version")
    if version not in (None, BATCH_VERSION) or not 0 < len(messages) <= _MOST_IN_A_LIST:
        return _failed(None, ProtocolError(INVALID_REQUEST, "A list of messages belongs to revision 2025-03-26 alone."))
    return await run_sync(in_turn(protocol.respond_to_all), messages)


class SlowResponse(Response):
    """A response that is only now made. If that takes longer than a tick it becomes a stream, which says so until it is
    there.
    """

    media_type = "text/event-stream"

    def __init__(self, token: str | int, respond: Callable[[], Response], note_write: Callable[[], None]) -> None:
        super().__init__()
        self._token, self._respond, self._note_write = token, respond, note_write

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        made: list[Response] = []
        done = anyio.Event()

        async def make() -> None:
            made.append(await run_sync(self._respond))
            self._note_write()
            done.set()

        async def events() -> AsyncIterator[bytes]:
            for tick in count(1):
                yield _event(json.dumps(progress(self._token, tick * _PROGRESS_SECONDS)).encode())
                with anyio.move_on_after(_PROGRESS_SECONDS):
                    await done.wait()
                if made:
                    break
            yield _event(bytes(made[0].body))

        async with anyio.create_task_group() as group:
            group.start_soon(make)
            with anyio.move_on_after(_PROGRESS_SECONDS):
                await done.wait()
            headers = {"X-Accel-Buffering": "no"}
            stream = StreamingResponse(events(), media_type=self.media_type, headers=headers)
            await (made[0] if made else stream)(scope, receive, send)


def wants_progress(message: object, headers: Mapping[str, str]) -> str | int | None:
    """The token of a message that wants to be told, and can."""
    try:
        request = read_request(message)
    except ProtocolError:
        return None
    return request.progress_token if request and SlowResponse.media_type in headers.get("accept", "") else None


def _event(data: bytes) -> bytes:
    return b"event: message\ndata: " + data + b"\n\n"


@dataclass(frozen=True, slots=True)
class Answered:
    """A response, or None for what gets none. `by_status`: an error of it is one of HTTP as well. Before the revision
    without sessions, what a method refused was an ordinary answer.
    """

    response: dict[str, Any] | None
    by_status: bool = True
    is_handshake: bool = False


class CallerProtocol(Protocol):
    """What one caller gets answered: the tools that the token allows, in its namespace, and in its name."""

    def __init__(self, caller: Caller, tool_set: str, session: str | None) -> None:
        named = session if session and session.isascii() and session.isprintable() else None
        super().__init__(CallerMemory(caller), Origin(session=caller.session or named), tool_set)
        self._caller = caller

    def respond(self, message: object, headers: Mapping[str, str]) -> Response:
        answered = self._answered(message, headers)
        if answered.response is None:
            return Response(status_code=202)
        error = answered.response.get("error")
        response = json_response(
            answered.response, _STATUS.get(error["code"], 400) if error and answered.by_status else 200
        )
        if answered.is_handshake and not error:
            response.headers[_SESSION] = new_id()
        return response

    def respond_to_all(self, messages: list[object]) -> Response:
        answers = [each.response for each in map(self._answered, messages) if each.response is not None]
        return json_response(answers) if answers else Response(status_code=202)

    def _answered(self, message: object, headers: Mapping[str, str] | None = None) -> Answered:
        try:
            request = read_request(message)
        except ProtocolError as error:
            return Answered(failure(message.get("id") if is_object(message) else None, error))
        if request is None:
            return Answered(None)
        if headers is not None and (error := header_error(request, headers)) is not None:
            return Answered(failure(request.id, error))
        if request.id is None:
            return Answered(None)
        return Answered(self.answer(request), request.is_stateless, request.method == "initialize")

    def _list_tools(self, request: McpRequest) -> Mapping[str, Any]:
        listed = super()._list_tools(request)
        allowed = {name for name, tool in self._tools.items() if self._refusal(tool) is None}
        return {**listed, "tools": [each for each in listed["tools"] if each["name"] in allowed]}

    def _call_tool(self, request: McpRequest) -> Mapping[str, Any]:
        name = request.params.get("name")
        tool = self._tools.get(name) if isinstance(name, str) else None
        refusal = None if tool is None else self._refusal(tool)
        if refusal is not None:
            return tool_failure(refusal.code, refusal.sentence, refusal.remedy_for("mcp"))
        return super()._call_tool(request)

    def _refusal(self, tool: Tool) -> AccessDenied | None:
        try:
            authorise(self._caller.token, tool_action(tool), self._caller.namespace, self._caller.serving.clock())
        except AccessDenied as error:
            return error
        return None


def tool_action(tool: Tool) -> Action:
    """What a tool needs, by what it says about itself."""
    if not tool.writes:
        return Action(tool.name, ("read",))
    return Action(tool.name, ("read", "write", "delete") if tool.destroys else ("read", "write"))


class CallerMemory(LazyMemory):
    """The server's own memory, in the name of the caller. It stays open afterwards."""

    def __init__(self, caller: Caller) -> None:
        super().__init__(None, caller.namespace, caller.session)
        self.tasks = caller.serving.tasks(caller.token.id)
        while len(self.tasks) > _MOST_TASKS:
            self.tasks.pop(next(iter(self.tasks)), None)
        self._given_namespace = caller.namespace
        shared, name = caller.serving.memory, caller.token.name
        self._given = shared.writing_as(name, writer="model", session=caller.session, surface="mcp").namespace(
            caller.namespace
        )

    def place(self, session: str | None = None) -> Place:
        """What a caller may see, its token says."""
        del session
        return Place(self._given_namespace, (self._given_namespace,))

    def open(self, place: Place | None = None) -> Memory:
        del place
        return self._given

    def discard(self, memory: Memory) -> None:
        """The server's memory is not the caller's to close."""

    def close(self) -> None:
        """Nor to end."""


def header_error(request: McpRequest, headers: Mapping[str, str]) -> ProtocolError | None:
    """What is wrong with the headers of a message. Those of the era without a handshake repeat what the message says,
    because proxies decide by headers.
    """
    version = headers.get("mcp-protocol-version")
    if not request.is_stateless:
        if version in STATELESS_VERSIONS:
            return ProtocolError(INVALID_PARAMS, "The message does not say its revision in _meta, as the header does.")
        if version is None or version in HANDSHAKE_VERSIONS:
            return None
        data = {"supported": [*HANDSHAKE_VERSIONS, *STATELESS_VERSIONS], "requested": version[:40]}
        return ProtocolError(UNSUPPORTED_VERSION, "That revision is not served here.", data)
    expected = {"mcp-protocol-version": request.meta.get("io.modelcontextprotocol/protocolVersion")}
    expected["mcp-method"] = request.method
    named = _NAMED.get(request.method)
    if named is not None and request.params.get(named) is not None:
        expected["mcp-name"] = request.params.get(named)
    wrong = next((name for name, value in expected.items() if _decoded(headers.get(name)) != value), None)
    if wrong is None:
        return None
    return ProtocolError(HEADER_MISMATCH, f"The header {wrong} does not say what the message says.")


def _decoded(value: str | None) -> str | None:
    """A header may hold what no header may, in base64."""
    begin, end = _ENCODED
    if value is None or not (value.startswith(begin) and value.endswith(end)):
        return value
    try:
        return base64.b64decode(value[len(begin) : -len(end)], validate=True).decode()
    except ValueError:
        return value


def _failed(id: object, error: ProtocolError) -> Response:
    return json_response(failure(id, error), _STATUS.get(error.code, 400))

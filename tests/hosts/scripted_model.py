"""A language model that says what a test tells it to, in the four wire formats that coding agents speak.

    with ScriptedModel(lambda call: f"mcp__{call.server}__{call.tool}") as model:
        model.steps.extend([Call("recall", {"query": "x"}), "Done."])
        ...                                     # run a coding agent that takes model.url for its provider
        assert "Alice" in model.requests[1].text

A request that offers tools takes the next step: a text, a call, or a list of both. Every other request (for a title, a
summary, a count of tokens), and every one after the last step, is answered with DONE.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any, Self, TypeAlias, cast

from providers.server import Connection, FaultServer, Received

DONE = "DONE"


@dataclass(frozen=True)
class Call:
    """A tool that the model wants called: one of an MCP server, or with an empty `server` one of the host's own."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    server: str = "perdure"


Part: TypeAlias = str | Call
Step: TypeAlias = Part | Sequence[Part]
Naming: TypeAlias = Callable[[Call], str]


@dataclass(frozen=True)
class ModelRequest:
    """What a host sent to its model."""

    path: str
    body: Mapping[str, Any]

    @cached_property
    def text(self) -> str:
        """All that the model reads besides the tools: instructions, messages, results of tools."""
        return "\n".join(_texts({name: value for name, value in self.body.items() if name != "tools"}))

    @cached_property
    def tools(self) -> dict[str, str]:
        """The description of each tool by the name that the model sees; a namespace is put before its tools."""
        return dict(_offered(cast("Sequence[Mapping[str, Any]]", self.body.get("tools") or ())))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in cast("Mapping[str, Any]", value).values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from _texts(each)


def _offered(tools: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for tool in tools:
        if tool.get("type") == "namespace":
            yield tool["name"], tool.get("description", "")
            yield from ((f"{tool['name']}.{name}", text) for name, text in _offered(tool["tools"]))
        elif "functionDeclarations" in tool:
            yield from _offered(tool["functionDeclarations"])
        else:
            described = tool.get("function", tool)
            yield described.get("name", described.get("type")), described.get("description", "")


class ScriptedModel:
    """`named` says what a host calls a tool; a name with a dot is of a namespace."""

    def __init__(self, named: Naming) -> None:
        self.steps: deque[Step] = deque()
        self._named = named
        self._server = FaultServer()
        self._server.always(self._answer)
        self._taking = threading.Lock()
        self._ids = count(1)

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.__exit__()

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def everything(self) -> list[ModelRequest]:
        """Every request, in the order in which they came."""
        return [ModelRequest(each.path, each.json) for each in self._server.requests if each.body]

    @property
    def requests(self) -> list[ModelRequest]:
        """Those that belong to a turn: they offer tools."""
        return [each for each in self.everything if each.tools]

    def _answer(self, connection: Connection, received: Received) -> None:
        path = received.path.partition("?")[0]
        if received.method != "POST":
            connection.send(200, json.dumps({"object": "list", "data": [{"id": "scripted"}]}).encode())
            return
        body: dict[str, Any] = received.json
        if path.endswith(("/count_tokens", ":countTokens")):
            connection.send(200, json.dumps({"input_tokens": 1000, "totalTokens": 1000}).encode())
            return
        with self._taking:
            step = self.steps.popleft() if self.steps and body.get("tools") else DONE
        parts = [step] if isinstance(step, str | Call) else list(step)
        wires = {
            "/messages": self._messages,
            "/responses": self._responses,
            "/chat/completions": self._chat,
            "enerateContent": self._generate,
        }
        wire = next((wire for end, wire in wires.items() if end in path), None)
        if wire is None:
            connection.send(404, b'{"error": {"message": "There is no such model."}}')
            return
        whole, events = wire(parts, body.get("model", "scripted"))
        if body.get("stream") or "stream" in path:
            connection.begin(200, "text/event-stream", {"Connection": "close"})
            connection.wfile.write("".join(map(_event, events)).encode())
            connection.close_connection = True
        else:
            connection.send(200, json.dumps(whole).encode())

    def _messages(self, parts: list[Part], model: str) -> tuple[Any, list[Any]]:
        """Anthropic's messages, for Claude Code."""
        stop = "tool_use" if any(isinstance(part, Call) for part in parts) else "end_turn"
        usage = {"input_tokens": 10, "output_tokens": 10}
        message: dict[str, Any] = {"id": self._id("msg"), "type": "message", "role": "assistant", "model": model}
        begun: dict[str, Any] = {**message, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        events: list[Any] = [{"type": "message_start", "message": begun}]
        blocks: list[Any] = []
        empty: Any
        for index, part in enumerate(parts):
            if isinstance(part, str):
                empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": part}
                blocks.append({"type": "text", "text": part})
            else:
                called = {"type": "tool_use", "id": self._id("toolu"), "name": self._named(part)}
                empty = {**called, "input": dict[str, Any]()}
                delta = {"type": "input_json_delta", "partial_json": _json(part)}
                blocks.append({**called, "input": part.arguments})
            events += [
                {"type": "content_block_start", "index": index, "content_block": empty},
                {"type": "content_block_delta", "index": index, "delta": delta},
                {"type": "content_block_stop", "index": index},
            ]
        end = {"stop_reason": stop, "stop_sequence": None}
        events += [{"type": "message_delta", "delta": end, "usage": usage}, {"type": "message_stop"}]
        return {**message, "content": blocks, **end, "usage": usage}, events

    def _responses(self, parts: list[Part], model: str) -> tuple[Any, list[Any]]:
        """OpenAI's responses, for Codex."""
        items: list[Any] = []
        item: dict[str, Any]
        for part in parts:
            if isinstance(part, str):
                content: list[Any] = [{"type": "output_text", "text": part, "annotations": []}]
                item = {"type": "message", "id": self._id("msg"), "role": "assistant", "content": content}
            else:
                namespace, _, name = self._named(part).rpartition(".")
                called = {"call_id": self._id("call"), "name": name, "arguments": _json(part)}
                item = {"type": "function_call", "id": self._id("fc"), **called}
                item |= {"namespace": namespace} if namespace else {}
            items.append({**item, "status": "completed"})
        usage = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}
        response = {"id": self._id("resp"), "object": "response", "model": model, "usage": usage}
        whole = {**response, "status": "completed", "output": items}
        events: list[Any] = [
            {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}}
        ]
        for index, item in enumerate(items):
            events.append({"type": "response.output_item.done", "output_index": index, "item": item})
        return whole, [*events, {"type": "response.completed", "response": whole}]

    def _chat(self, parts: list[Part], model: str) -> tuple[Any, list[Any]]:
        """OpenAI's chat completions, for Copilot CLI."""
        calls = [
            {
                "index": index,
                "id": self._id("call"),
                "type": "function",
                "function": {"name": self._named(call), "arguments": _json(call)},
            }
            for index, call in enumerate(part for part in parts if isinstance(part, Call))
        ]
        said = "".join(part for part in parts if isinstance(part, str))
        message = {"role": "assistant", "content": said or None, **({"tool_calls": calls} if calls else {})}
        about = {"id": self._id("chat"), "created": 1, "model": model}
        usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
        end = {"index": 0, "finish_reason": "tool_calls" if calls else "stop"}
        chunk = {**about, "object": "chat.completion.chunk"}
        return {**about, "object": "chat.completion", "usage": usage, "choices": [{**end, "message": message}]}, [
            {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {**chunk, "choices": [{**end, "delta": {}}], "usage": usage},
            "[DONE]",
        ]

    def _generate(self, parts: list[Part], model: str) -> tuple[Any, list[Any]]:
        """Google's generateContent, for Gemini CLI."""
        said = [
            {"text": part}
            if isinstance(part, str)
            else {"functionCall": {"name": self._named(part), "args": part.arguments}}
            for part in parts
        ]
        candidate = {"content": {"role": "model", "parts": said}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
        whole = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": model}
        return whole, [whole]

    def _id(self, kind: str) -> str:
        return f"{kind}_{next(self._ids):08}"


def _json(call: Call) -> str:
    return json.dumps(call.arguments)


def _event(data: Any) -> str:
    if isinstance(data, str):
        return f"data: {data}\n\n"
    name = f"event: {data['type']}\n" if "type" in data else ""
    return f"{name}data: {json.dumps(data)}\n\n"

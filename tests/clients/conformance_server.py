"""`perdure serve` with the tools, resources and prompts that the conformance suite asks for beside our own. Only what
they answer is made up here; messages, headers, streams, lists and errors are the product's.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from perdure.cli.app import main
from perdure.http import mcp_endpoint
from perdure.http.mcp_endpoint import CallerProtocol
from perdure.mcp.protocol import ProtocolError, Request, progress

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}
# Three reports of progress, for which a call must last so many ticks.
REPORTS = 3


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def resource(uri: str, said: str, mime: str = "text/plain") -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": said}}


def messages(*contents: Mapping[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": content} for content in contents]}


CONTENTS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}],
    "test_embedded_resource": [resource("test://embedded-resource", "This is an embedded resource content.")],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        IMAGE,
        resource("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
    ],
    "test_error_handling": [text("This tool intentionally returns an error for testing")],
    "test_tool_with_progress": [text("It took a while.")],
    "test_missing_capability": [],
    # Nothing asks a client for anything, and nothing logs: that is what is looked at.
    "test_streaming_elicitation": [text("Nothing was asked.")],
    "test_logging_tool": [text("Nothing was logged.")],
    "json_schema_2020_12_tool": [text("The schema is what counts.")],
}
ADDRESS = {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}}}
SCHEMA_2020: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": ADDRESS},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}, "contactMethod": {}},
    "allOf": [{"anyOf": [{"required": ["name"]}, {"required": ["address"]}]}],
    "anyOf": [{"required": ["name"]}, {"required": ["address"]}],
    "if": {"required": ["contactMethod"]},
    "then": {"required": ["name"]},
    "else": {},
    "additionalProperties": False,
}
TEXT = {"uri": "test://static-text", "mimeType": "text/plain", "text": "The content of the static text resource."}
BINARY = {"uri": "test://static-binary", "mimeType": "image/png", "blob": PNG}
DATA = {"uri": "test://template/123/data", "mimeType": "application/json", "text": '{"id":"123","templateTest":true}'}
# Which arguments a prompt needs, and what it makes of them.
PROMPTS: Mapping[str, tuple[Sequence[str], Callable[[Mapping[str, str]], dict[str, Any]]]] = {
    "test_simple_prompt": ((), lambda _: messages(text("This is a simple prompt for testing."))),
    "test_prompt_with_arguments": (
        ("arg1", "arg2"),
        lambda given: messages(text(f"Prompt with arguments: {given['arg1']}, {given['arg2']}")),
    ),
    "test_prompt_with_embedded_resource": (
        ("resourceUri",),
        lambda given: messages(resource(given["resourceUri"], "An embedded resource."), text("Process it.")),
    ),
    "test_prompt_with_image": ((), lambda _: messages(IMAGE, text("Please analyze the image above."))),
}


def described(name: str) -> dict[str, Any]:
    schema: Mapping[str, Any] = (
        SCHEMA_2020 if name == "json_schema_2020_12_tool" else {"type": "object", "properties": {}}
    )
    return {"name": name, "description": f"The suite's {name}.", "inputSchema": schema}


LISTED: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "resources": [{"uri": each["uri"], "name": each["uri"], "mimeType": each["mimeType"]} for each in (TEXT, BINARY)],
    "resourceTemplates": [{"uriTemplate": "test://template/{id}/data", "name": "data"}],
    "prompts": [
        {"name": name, "description": name, "arguments": [{"name": each, "required": True} for each in needed]}
        for name, (needed, _) in PROMPTS.items()
    ],
}


class FixtureProtocol(CallerProtocol):
    def _list(self, request: Request, name: str, items: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        return super()._list(request, name, [*items, *LISTED.get(name, ())])

    def _list_tools(self, request: Request) -> Mapping[str, Any]:
        listed = super()._list_tools(request)
        return {**listed, "tools": [*listed["tools"], *map(described, CONTENTS)]}

    def _call_tool(self, request: Request) -> Mapping[str, Any]:
        name = str(request.params.get("name"))
        if name not in CONTENTS:
            return super()._call_tool(request)
        if name == "test_missing_capability":
            raise ProtocolError(-32021, "The client cannot sample.", {"requiredCapabilities": {"sampling": {}}})
        if name == "test_tool_with_progress" and request.progress_token is not None:
            REPORTED.wait()
        return {"content": CONTENTS[name], "isError": name == "test_error_handling"}

    def _read_resource(self, request: Request) -> Mapping[str, Any]:
        found = [each for each in (TEXT, BINARY, DATA) if each["uri"] == request.params.get("uri")]
        cached = {"ttlMs": 0, "cacheScope": "private"} if request.is_stateless else {}
        return {"contents": found, **cached} if found else super()._read_resource(request)

    def _get_prompt(self, request: Request) -> Mapping[str, Any]:
        prompt = PROMPTS.get(request.params.get("name", ""))
        return super()._get_prompt(request) if prompt is None else prompt[1](request.params.get("arguments", {}))


class Reported:
    """A call that lasts until it was told of its progress often enough."""

    def __init__(self) -> None:
        self._count = 0
        self._enough = threading.Condition()

    def report(self, token: str | int, seconds: float) -> dict[str, Any]:
        with self._enough:
            self._count += 1
            self._enough.notify_all()
        return progress(token, seconds)

    def wait(self) -> None:
        with self._enough:
            until = self._count + REPORTS
            self._enough.wait_for(lambda: self._count >= until)


REPORTED = Reported()

if __name__ == "__main__":
    for name, value in {
        "CallerProtocol": FixtureProtocol,
        "progress": REPORTED.report,
        "_PROGRESS_SECONDS": 0.02,
    }.items():
        setattr(mcp_endpoint, name, value)
    sys.argv = ["perdure", "serve", *sys.argv[1:]]
    main()

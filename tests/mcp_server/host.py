"""A model's host: it starts `perdure mcp` as a process, or serves one in this process, and speaks with it in one of the
two eras of the protocol.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from queue import Queue
from typing import IO, Any

from jsonschema import Draft202012Validator

from perdure.mcp.lazy_memory import LazyMemory
from perdure.mcp.protocol import Protocol
from perdure.mcp.stdio import StdioServer
from perdure.session.origin import Origin

# Far more than anything takes: whoever waits so long waits for something that will not come.
PATIENCE = 60
STATELESS = "2026-07-28"
META = "io.modelcontextprotocol/"
CLIENT = {"name": "test-host", "version": "1"}


def faults(schema: dict[str, Any], value: object) -> list[str]:
    """What the schema does not allow in the value."""
    validator: Any = Draft202012Validator(schema)
    return [error.message for error in validator.iter_errors(value)]


class Refused(Exception):
    """An error of the protocol."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        self.data: Any = error.get("data")


class ToolFailed(Exception):
    """An answer that says that a tool failed."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__(result["content"][0]["text"])
        self.details: dict[str, Any] = result["_meta"]["perdure/error"]
        self.code: str = self.details["code"]


@dataclass
class Host:
    """`version` is the revision that it speaks."""

    target: IO[bytes]
    source: IO[bytes]
    version: str = "2025-11-25"
    process: subprocess.Popen[bytes] | None = None
    lines: Queue[bytes] = field(default_factory=Queue[bytes])
    notifications: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    ids: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        # A test that kills the server closes what is read here while it is read.
        with suppress(ValueError), self.source:
            for line in self.source:
                self.lines.put(line)
        self.lines.put(b"")

    def write(self, line: bytes) -> None:
        self.target.write(line + b"\n")
        self.target.flush()

    def send(self, message: object) -> None:
        self.write(json.dumps(message).encode())

    def next(self) -> Any:
        """The next message, whatever it is; None at the end."""
        line = self.lines.get(timeout=PATIENCE)
        return json.loads(line) if line else None

    def begin(self, method: str, **params: Any) -> int:
        """Send a request and do not wait."""
        id = next(self.ids)
        if self.version == STATELESS:
            own = params.pop("_meta", {})
            meta = {"protocolVersion": STATELESS, "clientInfo": CLIENT, "clientCapabilities": {}}
            params["_meta"] = {**own, **{META + name: value for name, value in meta.items()}}
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return id

    def finish(self, id: int) -> dict[str, Any]:
        """Wait for the answer to one request. What comes before it must be a notification."""
        while True:
            message = self.next()
            assert message is not None, "the server ended"
            if "id" not in message:
                self.notifications.append(message)
                continue
            assert message["id"] == id, message
            if "error" in message:
                raise Refused(message["error"])
            return message["result"]

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        return self.finish(self.begin(method, **params))

    def notify(self, method: str, **params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def hello(self) -> dict[str, Any]:
        if self.version == STATELESS:
            return self.request("server/discover")
        told = {"protocolVersion": self.version, "capabilities": {}, "clientInfo": CLIENT}
        result = self.request("initialize", **told)
        self.notify("notifications/initialized")
        return result

    def result(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return self.request("tools/call", name=tool, arguments=arguments)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What a tool answers as data."""
        result = self.result(tool, **arguments)
        if result["isError"]:
            raise ToolFailed(result)
        return result["structuredContent"]

    def text(self, tool: str, **arguments: Any) -> str:
        """What a tool answers as text."""
        result = self.result(tool, **arguments)
        if result["isError"]:
            raise ToolFailed(result)
        (block,) = result["content"]
        return block["text"]

    def tools(self) -> dict[str, dict[str, Any]]:
        return {tool["name"]: tool for tool in self.request("tools/list")["tools"]}

    def end(self) -> int:
        """Close our end; the exit code of the process."""
        assert self.process is not None
        self.target.close()
        return self.process.wait(PATIENCE)


@contextmanager
def started(
    *options: str, version: str = "2025-11-25", environment: Mapping[str, str] | None = None, folder: Path | None = None
) -> Generator[Host]:
    """A real process over real pipes, which has been greeted."""
    process = start(*options, environment=environment, folder=folder)
    assert process.stdin is not None
    assert process.stdout is not None
    host = Host(process.stdin, process.stdout, version, process)
    with process:
        try:
            host.hello()
            yield host
        finally:
            process.kill()


def start(
    *options: str, environment: Mapping[str, str] | None = None, folder: Path | None = None
) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "perdure", "mcp", *options]
    environ = {"PERDURE_EMBEDDER": "none", **os.environ, **(environment or {})}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environ, cwd=folder)


@contextmanager
def served(
    store: Path | str,
    *,
    tools: str = "core",
    version: str = "2025-11-25",
    origin: Origin | None = None,
    project: Path | None = None,
) -> Generator[Host]:
    """The same server in this process, over pipes of its own."""
    (their_input, our_output), (our_input, their_output) = os.pipe(), os.pipe()
    memory = LazyMemory(str(store), None, origin.session if origin else None, project)
    protocol = Protocol(memory, origin or Origin(), tools)
    source = os.fdopen(their_input, "rb")
    server = StdioServer(protocol, source, their_output)
    running = threading.Thread(target=server.run, daemon=True)
    running.start()
    target = os.fdopen(our_output, "wb")
    host = Host(target, os.fdopen(our_input, "rb"), version)
    try:
        host.hello()
        if project is not None:
            # Whatever the server does by itself with the files of a project is done before the test begins.
            host.request("ping")
            assert server.warming is not None
            server.warming.join(PATIENCE)
        yield host
    finally:
        target.close()
        running.join(PATIENCE)
        assert not running.is_alive()
        os.close(their_output)
        host.reader.join(PATIENCE)
        source.close()

"""Messages that no client should send, from a seed: what is nearly right is the most dangerous."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

METHODS = [
    "initialize", "server/discover", "ping", "tools/list", "tools/call", "resources/list", "resources/read",
    "resources/templates/list", "prompts/list", "prompts/get", "completion/complete", "subscriptions/listen",
    "notifications/cancelled", "notifications/initialized", "logging/setLevel", "sampling/createMessage", "", "\0",
    "x" * 999,
]  # fmt: skip
TOOLS = [
    "remember", "store_memory", "recall", "recall_detail", "memory_update", "forget", "consolidate", "memory_search",
    "memory_load", "memory_match_triggers", "memory_list", "memory_delete", "memory_validate", "memory_stats",
    "checkpoint_create", "checkpoint_list", "checkpoint_restore", "checkpoint_delete", "erase", "__class__",
]  # fmt: skip
NAMES = [
    "text", "query", "id", "ids", "limit", "name", "description", "reasoning", "category", "tags", "key", "uri",
    "arguments", "argument", "value", "ref", "_meta", "cursor", "protocolVersion", "clientInfo", "requestId", "token",
    "facts", "confirm", "specFolder", "concepts", "offset", "sortBy", "metadata", "when", "validAt", "importance",
]  # fmt: skip
SCALARS: list[Any] = [
    None, True, False, 0, 1, -1, 2**31, 2**63, -(2**63), 10**400, 0.5, 1e308, "", " ", "1", "#1", "-1", "null", "\0",
    "\ud800", "\u202e", "a" * 5_000, "../../../etc/passwd", "file:///etc/passwd", "perdure://memory/1", "perdure://context",
    "perdure://memory/%00%ff", "' OR 1=1 --", "${jndi:ldap://x}", "{{7*7}}", "person:alice", "2026-07-28",
    "2025-06-18", "yesterday", "[", '["a", 1]', "patterns", "normal", "everything about it",
]  # fmt: skip


class Malformed:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def messages(self, count: int) -> Iterator[bytes]:
        for _ in range(count):
            yield self.message().replace(b"\n", b" ").replace(b"\r", b" ")

    def message(self) -> bytes:
        kind = self.random.random()
        if kind < 0.05:
            return self.random.randbytes(self.random.randint(0, 200))
        line = json.dumps(self.request() if kind < 0.9 else self.value(3), ensure_ascii=self.random.random() < 0.5)
        encoded = line.encode("utf-8", "surrogatepass")
        if kind < 0.2:
            cut = self.random.randint(0, len(encoded))
            encoded = encoded[:cut] + self.random.randbytes(self.random.randint(0, 3)) + encoded[cut + 1 :]
        elif kind < 0.25:
            encoded = encoded[: self.random.randint(0, len(encoded))]
        return encoded

    def request(self) -> dict[str, Any]:
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": self.random.randint(1, 50), "method": self.method()}
        message["params"] = self.params(message["method"])
        if self.random.random() < 0.3:
            message[self.random.choice(["jsonrpc", "id", "method", "params", "result", "error"])] = self.value(2)
        if self.random.random() < 0.1:
            del message[self.random.choice(list(message))]
        return message

    def method(self) -> str:
        return "tools/call" if self.random.random() < 0.5 else self.random.choice(METHODS)

    def params(self, method: str) -> Any:
        if self.random.random() < 0.1:
            return self.value(2)
        params = {self.random.choice(NAMES): self.value(2) for _ in range(self.random.randint(0, 3))}
        if method in {"tools/call", "prompts/get"}:
            params["name"] = self.random.choice([*TOOLS, self.value(1)])
            params["arguments"] = {self.random.choice(NAMES): self.value(2) for _ in range(self.random.randint(0, 5))}
        if self.random.random() < 0.3:
            version = self.random.choice(["2026-07-28", "2099-01-01", self.value(1)])
            params["_meta"] = {"io.modelcontextprotocol/protocolVersion": version, "progressToken": self.value(1)}
        return params

    def value(self, depth: int) -> Any:
        kind = self.random.random()
        if depth and kind < 0.15:
            return [self.value(depth - 1) for _ in range(self.random.randint(0, 4))]
        if depth and kind < 0.3:
            return {self.random.choice(NAMES): self.value(depth - 1) for _ in range(self.random.randint(0, 4))}
        return self.random.choice(SCALARS)

"""Requests made of a server's own description, from a seed: some as it wants them, more of them nearly so."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from mcp_server.malformed import SCALARS

# The stream of changes never ends by itself.
LEFT_OUT = ("/v1/events",)
NAMES = ["ours", "theirs", "default", "x" * 300, "", "\0", "../ours", "ours,theirs", "\u202e"]
# What a caller may well give, where a text is wanted.
WORDS = [
    "1", "2", "#1", "person:alice", "Alice prefers dark mode", "which theme?", "yesterday", "2026-03-14", "active",
    "normal", "critical", "manual", "person", "default", "session-capture", "everything about tea", "oldest", "*",
]  # fmt: skip
HEADERS: Mapping[str, list[str]] = {
    "Idempotency-Key": ["a", "b", "\x7f", "k" * 4000, "é"],
    "If-Match": ['"1"', '"2"', "*", "1", '"', 'W/"1"'],
    "If-None-Match": ["*", '"1"', ""],
    "Perdure-Session": ["monday", "\x01", "s" * 3000, ""],
    "Perdure-Batch": ["0195938c-7a3f-7d02-8b1e-5c9a4d6f7e21", "batch", ""],
    "Perdure-Writer": ["model", "person", "god"],
    "Content-Type": ["application/json", "text/plain", "application/json; charset=utf-16", ""],
    "Content-Encoding": ["gzip", "br"],
    "Accept": ["text/event-stream", "\x0b"],
    "Expect": ["100-continue"],
    "X-Note": ["\x00", "a\x0bb", "y" * 20_000],
}


@dataclass(frozen=True)
class MadeUp:
    method: str
    target: str
    body: bytes | None
    headers: dict[str, str] = field(default_factory=dict[str, str])


class Requests:
    def __init__(self, described: Mapping[str, Any], seed: int) -> None:
        self.chance = random.Random(seed)
        self._schemas: Mapping[str, Any] = described["components"]["schemas"]
        self._operations = [
            (method.upper(), path, told)
            for path, methods in described["paths"].items()
            if path not in LEFT_OUT
            for method, told in methods.items()
        ]

    def made(self, count: int) -> Iterator[MadeUp]:
        for _ in range(count):
            yield self.request(*self.chance.choice(self._operations))

    def request(self, method: str, path: str, told: Mapping[str, Any]) -> MadeUp:
        query = [
            (parameter["name"], self.text(self.value(parameter["schema"], 2)))
            for parameter in told.get("parameters", ())
            if parameter["in"] == "query" and self.chance.random() < 0.4
        ]
        if self.chance.random() < 0.3:
            query.append(("namespace", self.chance.choice(NAMES)))
        if self.chance.random() < 0.05:
            query.append((self.text(self.scalar()), self.text(self.scalar())))
        target = re.sub(
            r"{\w+}",
            lambda _: quote(self.text(self.value({"type": "string"}, 1)), safe="", errors="surrogatepass"),
            path,
        )
        target += f"?{urlencode(query, errors='surrogatepass')}" if query else ""
        headers = {name: self.chance.choice(HEADERS[name]) for name in HEADERS if self.chance.random() < 0.06}
        return MadeUp(method, target, self.body(told), {"Content-Type": "application/json", **headers})

    def body(self, told: Mapping[str, Any]) -> bytes | None:
        content = told.get("requestBody", {}).get("content", {})
        if not content or self.chance.random() < 0.03:
            return None if self.chance.random() < 0.9 else b"{}"
        if self.chance.random() < 0.04:
            return self.chance.randbytes(self.chance.randint(0, 300))
        made = self.value(content["application/json"]["schema"], 4)
        sent = json.dumps(made, ensure_ascii=self.chance.random() < 0.7).encode("utf-8", "surrogatepass")
        return sent[: self.chance.randint(0, len(sent))] if self.chance.random() < 0.02 else sent

    def value(self, schema: Mapping[str, Any], depth: int) -> Any:
        """Mostly what the schema wants, as far as its types go."""
        if "$ref" in schema:
            schema = self._schemas[schema["$ref"].rpartition("/")[2]]
        wild = self.chance.random()
        if wild < 0.08 or depth == 0:
            return self.scalar()
        if "anyOf" in schema:
            return self.value(self.chance.choice(schema["anyOf"]), depth)
        if "enum" in schema or "const" in schema:
            return self.chance.choice(schema.get("enum", [schema.get("const")]))
        kind = schema.get("type")
        if kind == "object" or "properties" in schema:
            wanted = schema.get("required", ())
            made = {
                name: self.value(each, depth - 1)
                for name, each in schema.get("properties", {}).items()
                if (name in wanted and wild < 0.95) or self.chance.random() < 0.25
            }
            if wild > 0.9 or not schema.get("properties"):
                made[self.text(self.chance.choice([*WORDS, self.scalar()]))] = self.scalar()
            return made
        if kind == "array":
            return [self.value(schema.get("items", {}), depth - 1) for _ in range(self.chance.choice([0, 1, 1, 2, 70]))]
        plain: dict[str | None, Any] = {
            "string": self.chance.choice(WORDS),
            "integer": self.chance.choice([0, 1, 2, 5, 100, 101, 2**31]),
            "number": self.chance.choice([0, 0.5, 1, -0.1, 1e308]),
            "boolean": self.chance.random() < 0.5,
        }
        return plain.get(kind, self.scalar())

    def scalar(self) -> Any:
        return self.chance.choice(SCALARS)

    def text(self, value: object) -> str:
        return value if isinstance(value, str) else json.dumps(value)

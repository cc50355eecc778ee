"""Writes packages/typescript/src/client.ts from the OpenAPI document of `perdure serve`; with `--check` it only says
whether the file is still true.

A schema becomes a type and a route a method, named after the verb that it asks for. What the document cannot say, how a
request is sent and sent again, is written by hand in connection.ts beside it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import wrap
from typing import Any, Final, cast

from perdure.http.app import build_app
from perdure.http.routing import REPEATABLE, SCOPES

CLIENT: Final = Path(__file__).parent.parent / "packages" / "typescript" / "src" / "client.ts"
WIDTH: Final = 112
# `Record` is a type of TypeScript's own.
RENAMED: Final = {"Record": "MemoryRecord"}
# Routes whose verb another route has as well, and what they are called here.
NAMES: Final = {
    ("DELETE", "/v1/memories/{ref}"): "forgetOne",
    ("POST", "/v1/restore"): "restoreAll",
    ("PATCH", "/v1/capacity"): "setCapacity",
}
# Routes without a method, with the reason.
LEFT_OUT: Final = {
    ("GET", "/v1/memories"): "`list` asks by all filters",
    ("GET", "/v1/facts"): "`facts` asks by all filters",
    ("POST", "/mcp"): "it has clients of its own",
}
# What others' clients speak.
OTHERS: Final = "/api/"
# How an answer is read, by its media type, and what the method gives then.
READ: Final = {
    "application/json": ("ask", ""),
    "application/x-ndjson": ("values", "AsyncGenerator<unknown>"),
    "text/event-stream": ("events", "AsyncGenerator<ChangeEvent>"),
    "text/plain": ("text", "Promise<string>"),
}
# Headers that are options of every call, or of those that take them.
OPTIONS: Final = {"idempotency-key": "Keyed", "if-match": "Guarded", "if-none-match": "Guarded"}
EVERYWHERE: Final = {"namespace", "perdure-session", "perdure-batch", "perdure-writer", "last-event-id"}

Schema = Mapping[str, Any]


def main() -> int:
    text = client(cast("Any", build_app)(None).openapi())
    if "--check" not in sys.argv[1:]:
        CLIENT.write_text(text, encoding="utf-8")
    elif CLIENT.read_text(encoding="utf-8") != text:
        print(f"{CLIENT.name} is not what the OpenAPI document says; write it again: make docs")
        return 1
    return 0


def client(document: Schema) -> str:
    """The whole file."""
    routes = [
        (method.upper(), path, told)
        for path, methods in document["paths"].items()
        for method, told in methods.items()
        if (method.upper(), path) not in LEFT_OUT and not path.startswith(OTHERS)
    ]
    schemas: Mapping[str, Schema] = document["components"]["schemas"]
    methods = [method_of(method, path, told, schemas) for method, path, told in routes]
    names = [name for name, _ in methods]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"several routes have the verb {twice}: name them in NAMES, or leave them out")
    used = "\n".join(lines for _, lines in methods)
    types = [interface(name, schemas[name]) for name in sorted(reached(used, schemas))]
    words = sorted({found[1] for _, path, _ in routes if (found := re.match(r"/v1/memories/{ref}/(\w+)", path))})
    return "\n".join(
        (
            "// Made by tools/typescript.py (`make docs`) from the OpenAPI document: change the server, not this file.",
            'import { Connection } from "./connection.js";',
            'import type { ChangeEvent, Guarded, Keyed, Options, ServerOptions } from "./connection.js";',
            "",
            'export type ErrorCode = Problem["code"];',
            "",
            *types,
            "/** A memory on a server: the verbs of `perdure serve`, in one namespace of it. */",
            "export class Perdure {",
            "  private readonly server: Connection;",
            "",
            "  constructor(server: ServerOptions) {",
            f"    this.server = new Connection(server, /\\/({'|'.join(words)})(\\/|$)/);",
            "  }",
            *(lines for _, lines in methods),
            "}",
            "",
        )
    )


def method_of(method: str, path: str, told: Schema, schemas: Mapping[str, Schema]) -> tuple[str, str]:
    """The name of a route's method, and its lines."""
    parameters: list[Schema] = told.get("parameters", [])
    places = {each["name"]: type_of(each["schema"]) for each in parameters if each["in"] == "path"}
    places = {name: "string | number" if name == "ref" else kind for name, kind in places.items()}
    asked = [each for each in parameters if each["in"] == "query" and each["name"] not in EVERYWHERE]
    unknown = {each["name"] for each in parameters if each["in"] == "header"} - OPTIONS.keys() - EVERYWHERE
    body = told.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if unknown or (asked and body):
        raise ValueError(f"{method} {path} has headers that no option is for, {unknown}, or both a query and a body")
    options = ["Options", *dict.fromkeys(OPTIONS[each["name"]] for each in parameters if each["name"] in OPTIONS)]
    given = ""
    if body:
        needed = schemas[body["$ref"].rpartition("/")[2]].get("required")
        given = f"given: {type_of(body)}{'' if needed else ' = {}'}"
    elif asked:
        needed = any(each["required"] for each in asked)
        given = f"given: {{ {'; '.join(map(entry_of, asked))} }}{'' if needed else ' = {}'}"
    arguments = ", ".join(
        filter(None, (*(f"{n}: {kind}" for n, kind in places.items()), given, f"options: {' & '.join(options)} = {{}}"))
    )
    ok = next(told["responses"][status] for status in sorted(told["responses"]) if status.startswith("2"))
    media, content = next(iter(ok["content"].items()))
    how, gives = READ[media]
    gives = gives or f"Promise<{type_of(content['schema'])}>"
    is_reading = method == "GET" or told.get(SCOPES) == ["read"]
    keyed = told.get(REPEATABLE, False)
    fields = [f'method: "{method}"', f'path: "{path}"']
    fields += [f"places: {{ {', '.join(places)} }}"] if places else []
    fields += ["body: given"] if body else ["query: given"] if asked else []
    fields += ["repeats: true"] if is_reading or keyed else []
    fields += ["keyed: true"] if keyed else []
    name = NAMES.get((method, path)) or camel(told["operationId"].partition("_v1_")[0].split("_healthz")[0])
    name = "metrics" if path == "/metrics" else name
    lines = [
        "",
        *comment(". ".join(filter(None, (told["summary"], told.get("description")))), "  "),
        f"  {name}({arguments}): {gives} {{",
        f"    return this.server.{how}({{ {', '.join(fields)} }}, options);",
        "  }",
    ]
    return name, "\n".join(lines)


def entry_of(parameter: Schema) -> str:
    return f"{parameter['name']}{'' if parameter['required'] else '?'}: {type_of(parameter['schema'])}"


def reached(text: str, schemas: Mapping[str, Schema]) -> set[str]:
    """The schemas that a text names, and those that they name."""
    by_type = {RENAMED.get(name, name): name for name in schemas}
    found = {"Problem", "Revision", "Change"}
    waiting = found | {by_type[word] for word in re.findall(r"\w+", text) if word in by_type}
    found = set[str]()
    while waiting:
        name = waiting.pop()
        found.add(name)
        named = re.findall(r'"#/components/schemas/(\w+)"', json.dumps(schemas[name]))
        waiting |= set(named) - found
    return found


def interface(name: str, schema: Schema) -> str:
    told = comment(schema["description"], "") if "description" in schema else []
    return "\n".join((*told, f"export interface {RENAMED.get(name, name)} {{", *properties(schema), "}", ""))


def properties(schema: Schema) -> Iterator[str]:
    required = schema.get("required", ())
    for name, kind in schema.get("properties", {}).items():
        if "description" in kind:
            yield from comment(kind["description"], "  ")
        yield f"  {name}{'' if name in required else '?'}: {type_of(kind)};"


def type_of(schema: Schema) -> str:  # noqa: PLR0911 - one for each kind of schema
    """A schema as a type."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return RENAMED.get(name, name)
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(type_of(each) for each in schema["anyOf"]))
    if "const" in schema or "enum" in schema:
        return " | ".join(json.dumps(each) for each in schema.get("enum") or [schema["const"]])
    match schema.get("type"):
        case "array":
            inner = type_of(schema["items"])
            return f"({inner})[]" if "|" in inner else f"{inner}[]"
        case "object" if "properties" in schema:
            return f"{{ {' '.join(map(str.strip, properties(schema)))} }}"
        case "object":
            inner = schema.get("additionalProperties", True)
            return f"{{ [name: string]: {'unknown' if inner is True else type_of(inner)} }}"
        case "integer" | "number":
            return "number"
        case "string" | "boolean" | "null":
            return str(schema["type"])
        case _:
            return "unknown"


def comment(text: str, indent: str) -> list[str]:
    words = " ".join(text.split()).rstrip(".") + "."
    if len(words) + len(indent) + 7 <= WIDTH:
        return [f"{indent}/** {words} */"]
    lines = wrap(words, WIDTH - len(indent) - 3, break_long_words=False, break_on_hyphens=False)
    return [f"{indent}/**", *(f"{indent} * {line}" for line in lines), f"{indent} */"]


def camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(each.capitalize() for each in others)


if __name__ == "__main__":
    sys.exit(main())

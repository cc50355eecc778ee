"""Programs that were written for the server of 0.2 are understood.

`client_0_2.json` was recorded there: what its OpenAPI document said of each operation, and the requests of its client
while it told the story of `story.py` and of a program that asks the other routes, each with the shape of its answer. It
is not made again: a server that refuses it would refuse everybody who has not upgraded.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from serve.running import RunningServer

if TYPE_CHECKING:
    from collections.abc import Iterator

RECORDED: dict[str, Any] = json.loads(Path(__file__).with_name("client_0_2.json").read_text("utf-8"))
# Something that an earlier answer said: the number of the exchange, and where it stands in its answer.
EARLIER = re.compile(r"{{([^{}]+)}}")
KINDS = {str: "string", bool: "boolean", int: "number", float: "number", type(None): "null"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    scope = {"PERDURE_LEARN_SCOPE": "conversation"}
    with RunningServer(tmp_path_factory.mktemp("recorded") / "memory.db", environment=scope) as running:
        yield running


def differences(shape: Any, value: Any, place: str = "") -> Iterator[str]:
    """Where an answer is not what it was. It may say more, and it may say null, or nothing more in a list."""
    if isinstance(shape, str) and shape.startswith("#"):
        if value is None:
            return
        if not isinstance(value, dict):
            yield f"{place} is no object"
            return
        for name, entry in RECORDED["shapes"][shape].items():
            if name not in value:
                yield f"{place}.{name} is missing"
            else:
                yield from differences(entry, value[name], f"{place}.{name}")
    elif isinstance(shape, list):
        if not isinstance(value, list | None):
            yield f"{place} is no list"
            return
        for item in cast("list[Any]", value if shape else None) or ():
            yield from min((list(differences(each, item, f"{place}[]")) for each in cast("list[Any]", shape)), key=len)
    elif shape == "object" or isinstance(value, dict | list):
        # What callers name themselves, such as metadata, and what was null when it was recorded.
        if shape not in {"object", "null"} or isinstance(value, list) is (shape == "object"):
            yield f"{place} is not {shape}"
    elif "null" not in {shape, KINDS[type(value)]} and KINDS[type(value)] != shape:
        yield f"{place} is {KINDS[type(value)]}, not {shape}"


def test_every_recorded_request_is_answered_in_its_recorded_shape(server: RunningServer):
    answers: list[Any] = []

    def earlier(found: re.Match[str]) -> str:
        number, *path = found[1].split("/")
        value = answers[int(number)]
        for part in path:
            value = value[int(part) if isinstance(value, list) else part]
        return value

    def filled(value: object) -> str:
        return EARLIER.sub(earlier, json.dumps(value))

    wrong: list[str] = []
    for exchange in RECORDED["exchanges"]:
        raw = filled(exchange["body"]).encode() if "body" in exchange else None
        headers = {"Content-Type": "application/json"} if raw else {}
        headers |= {name: json.loads(filled(text)) for name, text in exchange.get("headers", {}).items()}
        asked = f"{exchange['method']} {exchange['target']}"
        reply = server(exchange["method"], json.loads(filled(exchange["target"])), raw=raw, headers=headers)
        is_json = reply.headers["content-type"].endswith("json") and "ndjson" not in reply.headers["content-type"]
        answers.append(reply.json if is_json else None)
        if reply.status != exchange["status"]:
            wrong.append(f"{asked}: {reply.status}, not {exchange['status']}: {reply.body[:200]!r}")
        elif isinstance(exchange["answer"], dict):
            wrong += [] if reply.code == exchange["answer"]["code"] else [f"{asked}: {reply.code}"]
        elif is_json:
            wrong += [f"{asked}: {each}" for each in differences(exchange["answer"], reply.json)]
        else:
            wrong += [] if reply.headers["content-type"].startswith(exchange["answer"]) else [asked]
    assert wrong == []


def test_every_operation_takes_what_it_took_and_needs_no_more(server: RunningServer):
    described: dict[str, Any] = server("GET", "/openapi.json", token=None).json
    schemas: dict[str, Any] = described["components"]["schemas"]
    now: dict[str, dict[str, Any]] = {
        f"{method.upper()} {re.sub(r'{[^}]*}', '{}', path)}": told
        for path, methods in described["paths"].items()
        for method, told in methods.items()
    }

    def types(schema: dict[str, Any]) -> set[str]:
        if "anyOf" in schema:
            return {kind for each in schema["anyOf"] for kind in types(each)}
        if "$ref" in schema:
            return types(schemas[schema["$ref"].rpartition("/")[2]])
        return {"string"} if {"enum", "const"} & set(schema) else {schema.get("type", "any")}

    def lacks(name: str, before: list[str], schema: dict[str, Any] | None) -> list[str]:
        # A parameter of an address has no null of its own.
        missing = set(before) - types(schema or {"type": "missing"}) - {"any"}
        return [f"{name}: {kind}" for kind in sorted(missing - ({"null"} if " " in name else set()))]

    wrong: list[str] = []
    for operation, before in RECORDED["operations"].items():
        told = now.get(operation)
        if told is None:
            wrong.append(f"{operation} is gone")
            continue
        parameters: dict[str, dict[str, Any]] = {
            f"{each['in']} {each['name']}": each for each in told.get("parameters", ())
        }
        content: dict[str, Any] = told.get("requestBody", {"content": {}})["content"]
        body: dict[str, Any] = content.get("application/json", {"schema": {}})["schema"]
        options: list[dict[str, Any]] = [body, *body.get("anyOf", ())]
        named = [each["$ref"].rpartition("/")[2] for each in options if "$ref" in each]
        shape: dict[str, Any] = schemas[named[0]] if named else body
        faults = [
            *(f"needs {name}" for name, each in parameters.items() if each.get("required") and each["in"] != "path"
              and not before["parameters"].get(name, {}).get("required")),
            *(f"needs {name}" for name in shape.get("required", ()) if name not in before.get("required", ())),
            *(fault for name, each in before["parameters"].items()
              for fault in lacks(name, each["types"], parameters.get(name, {}).get("schema"))),
            *(fault for name, kinds in before.get("body", {}).items()
              for fault in lacks(name, kinds, shape.get("properties", {}).get(name))),
            *(["other scopes"] if told.get("x-perdure-scopes", []) != before["scopes"] else []),
            *(f"no answer {status}" for status in before["answers"] if status not in told["responses"]),
        ]  # fmt: skip
        wrong += [f"{operation}: {fault}" for fault in faults]
    assert wrong == []


def test_the_recording_asks_every_operation_of_its_time():
    asked = {f"{each['method']} {each['target'].partition('?')[0]}" for each in RECORDED["exchanges"]}
    forms = {name: re.compile(re.escape(name).replace(r"\{\}", "[^ ]+")) for name in RECORDED["operations"]}
    # It is a stream that never ends; test_streams reads it.
    assert {name for name, form in forms.items() if not any(map(form.fullmatch, asked))} == {"GET /v1/events"}

"""What `/openapi.json` says about answers is what is answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from perdure.http.answers import example_of, schema_of
from perdure.http.app import TABLES
from perdure.http.routing import Row
from perdure.remote.decoding import decode

if TYPE_CHECKING:
    from serve.running import RunningServer

# Streams, text, and the protocol that has its own description.
NO_JSON = {"/v1/export", "/v1/events", "/metrics", "/mcp", "/api/v0/retrieve_memory", "/api/v0/context_pre_retrieve"}
ROWS = [row for table in TABLES for row in table.rows]


@pytest.fixture(scope="module")
def described(shared: RunningServer) -> dict[str, Any]:
    return shared("GET", "/openapi.json", token=None).json


def check(described: dict[str, Any], method: str, path: str, answer: object, status: int = 200) -> None:
    """The answer, against the schema that is described for it."""
    schema = described["paths"][path][method.lower()]["responses"][str(status)]["content"]["application/json"]["schema"]
    jsonschema.validate(answer, {**schema, "components": described["components"]}, jsonschema.Draft202012Validator)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.method} {row.path}")
def test_every_answer_is_described_with_an_example_that_fits(described: dict[str, Any], row: Row):
    answers = described["paths"][row.shown_path][row.method.lower()]["responses"]
    good = [status for status in answers if status.startswith("2")]
    assert good
    for status in good:
        if row.path not in NO_JSON:
            shown = answers[status]["content"]["application/json"]
            assert shown["schema"]
            check(described, row.method, row.shown_path, shown["example"], int(status))


@pytest.mark.parametrize(
    "row", [row for row in ROWS if isinstance(row.answer, type)], ids=lambda row: f"{row.method} {row.path}"
)
def test_an_example_is_a_value_that_the_client_reads(row: Row):
    assert isinstance(decode(row.answer, example_of(row.answer)), row.answer)
    assert schema_of(row.answer, {})["$ref"]


def test_real_answers_fit_what_is_described(shared: RunningServer, described: dict[str, Any]):
    def ask(method: str, path: str, body: object = None, shown: str | None = None, status: int = 200) -> Any:
        reply = shared(method, path, body, namespace="described")
        assert reply.status == status, reply.body
        check(described, method, shown or path, reply.json, status)
        return reply.json

    told = {"text": "Alice prefers dark mode", "tags": ["ui"], "metadata": {"deep": [1, None]}, "key": "person:alice"}
    ask("POST", "/v1/memories", told, status=201)
    ask("POST", "/v1/memories", told)
    ask("PATCH", "/v1/memories/1", {"text": "Alice prefers light mode"}, "/v1/memories/{ref}")
    ask("GET", "/v1/memories/1/diff", None, "/v1/memories/{ref}/diff")
    ask("GET", "/v1/memories/1/versions", None, "/v1/memories/{ref}/versions")
    ask("GET", "/v1/memories/1/history", None, "/v1/memories/{ref}/history")
    assert ask("POST", "/v1/recall", {"query": "light mode"})["hits"]
    assert ask("POST", "/v1/context", {"query": "light mode"})["items"]
    assert ask("GET", "/v1/log")["revisions"]
    batch = ask("POST", "/v1/forget", {"what": 1})["batch"]
    ask("POST", "/v1/undo", {"batch": batch})
    ask("POST", "/v1/checkpoints", {"name": "now"}, status=201)
    for path in ("/v1/stats", "/v1/capacity", "/v1/whoami", "/v1/constitution", "/v1/episodes", "/v1/egress"):
        ask("GET", path)
    ask("POST", "/v1/work", {})

"""What a user's memories have to do with all this, by the public door: nothing goes where it was not meant to go, and
nothing is lost because of it. The form of requests and answers is OpenAI's (https://platform.openai.com/docs/api-reference/embeddings/create).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from providers.audit import network_events
from providers.server import FaultServer, Received, answering, redirect, status

from perdure import Memory

if TYPE_CHECKING:
    from providers.cloud import Cloud

HOST = "api.openai.com"
KEY = "sk-proj-nobody-s-own-key-0123456789abcdef"
PLANTED = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


@pytest.fixture(autouse=True)
def openai(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PERDURE_EMBEDDER", "openai:text-embedding-3-small")
    monkeypatch.setenv("PERDURE_STORE", str(tmp_path / "memories.db"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def embeddings(received: Received) -> Any:
    texts = received.json["input"]
    vectors = [[1.0, *(float(len(text) % 7) for _ in range(1535))] for text in texts]
    data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)]
    return {"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 9, "total_tokens": 9}}


def test_without_its_host_in_egress_a_cloud_hears_nothing_and_memories_are_kept(cloud: Cloud):
    server = cloud(HOST)
    with network_events() as events, Memory() as memory:
        remembered = memory.remember("The boiler is serviced every October.")
        found = memory.recall("boiler")
        memory.work()
        findings = list(memory.doctor())
    assert [hit.record.number for hit in found.hits] == [remembered.record.number]
    assert events == []
    assert (server.requests, cloud.lookups) == ([], [])
    (finding,) = [finding for finding in findings if finding.check == "embedder"]
    assert '`egress = ["api.openai.com"]`' in (finding.remedy or "")
    assert any("do not let texts go to api.openai.com" in note for note in remembered.notes)


def test_with_its_host_in_egress_it_gets_the_text_without_secrets_and_the_request_is_listed(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PERDURE_EGRESS", HOST)
    monkeypatch.setenv("PERDURE_REDACT", "false")
    server = cloud(HOST)
    server.always(answering(embeddings))
    with Memory() as memory:
        memory.remember(f"The deploy token is {PLANTED}.")
        assert PLANTED in memory.recall("deploy token", min_relevance=0).hits[0].record.text
        listed = memory.egress()
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}
    assert all(PLANTED not in request.body.decode() for request in server.requests)
    assert any("[REDACTED:" in request.body.decode() for request in server.requests)
    assert len(listed.calls) == len(server.requests)
    assert {(call.host, call.purpose, call.outcome, call.input_tokens) for call in listed.calls} == {
        (HOST, "embed query", "ok", 9),
        (HOST, "embed passage", "ok", 9),
    }


@pytest.mark.parametrize("before", [8191 * 3 - 30, 1200 - 30])
def test_a_secret_that_is_cut_where_the_window_of_the_model_ends_does_not_leave_in_part(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, before: int
):
    monkeypatch.setenv("PERDURE_EGRESS", HOST)
    monkeypatch.setenv("PERDURE_REDACT", "false")
    server = cloud(HOST)
    server.always(answering(embeddings))
    server.next(status(400))
    with Memory() as memory:
        memory.remember(("tea " * before)[: before - 1] + f" {PLANTED} and much more after it. " + "tea " * 9000)
        memory.recall(("tea " * before)[: before - 1] + f" {PLANTED}")
        memory.work()
    assert len(server.requests) > 1
    assert all(PLANTED[:12] not in request.body.decode() for request in server.requests)


def test_a_redirect_leads_a_text_and_a_key_nowhere(
    cloud: Cloud, server: FaultServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("PERDURE_EGRESS", f"{HOST},127.0.0.1")
    cloud(HOST).always(redirect(f"{server.url}/v1/embeddings"))
    with Memory() as memory:
        remembered = memory.remember("The boiler is serviced every October.")
        assert memory.recall("boiler").hits[0].record.number == remembered.record.number
    assert server.requests == []
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in kept


def test_a_url_of_ones_own_gets_no_key_of_the_provider(server: FaultServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PERDURE_EMBEDDER_URL", f"{server.url}/v1")
    server.always(answering(embeddings))
    with Memory() as memory:
        memory.remember("The boiler is serviced every October.")
    assert server.requests
    assert all("authorization" not in request.headers for request in server.requests)
    assert KEY not in str(server.requests)


def test_no_error_of_the_provider_shows_a_key_or_a_secret_to_anybody(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("PERDURE_EGRESS", HOST)
    cloud(HOST).always(status(401, {"error": {"message": f"Incorrect API key provided: {KEY} for {PLANTED}"}}))
    with Memory() as memory:
        remembered = memory.remember("The boiler is serviced every October.")
        found = memory.recall("boiler")
        said = f"{remembered} {found} {memory.work()} {[*memory.doctor()]} {memory.egress()} {capfd.readouterr()}"
    assert "Incorrect API key provided: [key]" in said
    assert "OPENAI_API_KEY" in said
    assert KEY not in said
    assert PLANTED not in said

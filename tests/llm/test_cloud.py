"""A language model in a cloud, from the settings to its server and back: what it gets to see, and what is noted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from llm.wires import WIRES
from providers.server import ok, redirect

from perdure import Memory
from perdure.settings import load

if TYPE_CHECKING:
    from providers.cloud import Cloud

CLOUDS = {
    "anthropic": ("api.anthropic.com", "/v1/messages"),
    "openai": ("api.openai.com", "/v1/chat/completions"),
    "gemini": ("generativelanguage.googleapis.com", "/v1beta/models/gemini-2.5-flash:generateContent"),
}
TOKEN = "ghp_" + "Zq7RtY2mWk9XcV4bNh8LsD3fGj6PaU5eTiOw"
TEXT = f"The turnstile of the ferry is opened with {TOKEN} before the timetable begins"
GOOD = '{"keywords": ["turnstile", "ferry", "timetable"]}'


def open_memory(folder: Path, provider: str, *egress: str) -> Memory:
    llm = f"{provider}:{WIRES[provider].model}"
    return Memory(folder / "m.db", settings=load(embedder="none", llm=llm, egress=",".join(egress), redact="false"))


@pytest.mark.parametrize("provider", CLOUDS)
def test_a_cloud_sees_no_secret_and_its_own_key_alone_and_every_request_is_noted(
    tmp_path: Path, cloud: Cloud, monkeypatch: pytest.MonkeyPatch, provider: str
):
    host, path = CLOUDS[provider]
    wire = WIRES[provider]
    server = cloud(host)
    server.always(ok(wire.says(GOOD)))
    for other in WIRES.values():
        if other.key:
            monkeypatch.setenv(other.key, f"the-{other.key}")
    with open_memory(tmp_path, provider, host) as memory:
        number = memory.remember(TEXT, category="patterns").record.number
        memory.work()
        assert memory.get(number).keywords == ("turnstile", "ferry", "timetable")
        # The setting `redact` is off, so that the store has it; the cloud has it not.
        assert memory.get(number).text == TEXT
        (call,) = memory.egress().calls
    (request,) = server.requests
    assert request.path == path
    assert request.headers[wire.header] == f"{wire.prefix}the-{wire.key}"
    assert TOKEN.encode() not in request.body
    assert "[REDACTED:" in json.dumps(request.json)
    keys = [other.key for other in WIRES.values() if other.key and other.key != wire.key]
    assert [key for key in keys if key in f"{request.headers}{request.body}"] == []
    assert (call.host, call.purpose, call.items, call.outcome) == (host, "keywords", 1, "ok")
    assert (call.provider, call.model) == (provider, wire.model)
    assert (call.input_tokens, call.output_tokens) == wire.usage
    assert call.sent_bytes == len(request.body)


@pytest.mark.parametrize("provider", CLOUDS)
def test_a_cloud_that_is_not_named_is_not_even_looked_up(
    tmp_path: Path, cloud: Cloud, monkeypatch: pytest.MonkeyPatch, provider: str
):
    host, _ = CLOUDS[provider]
    server = cloud(host)
    monkeypatch.setenv(WIRES[provider].key, "a-key")
    with open_memory(tmp_path, provider, "another.example") as memory:
        number = memory.remember(TEXT, category="patterns").record.number
        notes = memory.work().notes
        assert any(f'egress = ["another.example", "{host}"]' in note for note in notes)
        assert memory.get(number).keywords
        assert memory.egress().calls == ()
    assert (server.requests, cloud.lookups) == ([], [])


@pytest.mark.parametrize("provider", CLOUDS)
def test_a_cloud_that_sends_elsewhere_is_not_followed(
    tmp_path: Path, cloud: Cloud, monkeypatch: pytest.MonkeyPatch, provider: str
):
    host, _ = CLOUDS[provider]
    elsewhere = cloud("elsewhere.example")
    cloud(host).always(redirect("https://elsewhere.example/v1"))
    monkeypatch.setenv(WIRES[provider].key, "a-key")
    with open_memory(tmp_path, provider, host, "elsewhere.example") as memory:
        memory.remember(TEXT, category="patterns")
        assert any("follows no redirect" in note for note in memory.work().notes)
    assert elsewhere.requests == []

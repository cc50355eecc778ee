"""Resources, prompts and completion."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp_server.host import STATELESS, Host, Refused, served

from perdure import Memory
from perdure.session.origin import Origin


@pytest.fixture(params=["2025-11-25", STATELESS])
def reader(store: Path, request: pytest.FixtureRequest):
    with Memory(store) as memory:
        memory.remember("Never commit secrets", tier="constitutional")
        memory.remember(
            "Alice prefers dark mode", key="person:alice", tags=["ui", "usability"], source_project="website"
        )
        memory.remember("The parser reads lines", source_project="parser")
    with served(store, version=request.param, origin=Origin("website")) as host:
        yield host


def read(host: Host, uri: str) -> str:
    (content,) = host.request("resources/read", uri=uri)["contents"]
    assert (content["uri"], content["mimeType"]) == (uri, "text/plain")
    return content["text"]


def test_the_context_of_a_session_holds_what_must_be_known_and_the_newest_of_the_project(reader: Host):
    (resource,) = reader.request("resources/list")["resources"]
    text = read(reader, resource["uri"])
    assert "Never commit secrets" in text
    assert "Alice prefers dark mode" in text
    assert "parser" not in text
    assert text.splitlines()[1].startswith("<memories ")


@pytest.mark.parametrize("ref", ["2", "person:alice", "person%3Aalice"])
def test_a_memory_is_read_by_any_of_its_names(reader: Host, ref: str):
    (template,) = reader.request("resources/templates/list")["resourceTemplates"]
    text = read(reader, template["uriTemplate"].replace("{ref}", ref))
    assert "Alice prefers dark mode" in text
    assert "key: person:alice" in text


@pytest.mark.parametrize(
    "uri", ["perdure://memory/99", "perdure://memory/", "perdure://memory/%00", "perdure://x", "file:///etc/passwd", 7]
)
def test_what_is_no_resource_is_refused(reader: Host, uri: object):
    with pytest.raises(Refused) as refused:
        reader.request("resources/read", uri=uri)
    assert refused.value.code == -32602


def test_a_prompt_brings_what_is_remembered(reader: Host):
    prompts = {prompt["name"] for prompt in reader.request("prompts/list")["prompts"]}
    assert prompts == {"recall", "retro", "consolidate"}
    (message,) = reader.request("prompts/get", name="recall", arguments={"topic": "dark mode", "tag": "ui"})["messages"]
    assert message["role"] == "user"
    assert "Alice prefers dark mode" in message["content"]["text"]
    for name, word in (("retro", "store_memory"), ("consolidate", "consolidate")):
        (message,) = reader.request("prompts/get", name=name)["messages"]
        assert word in message["content"]["text"]
    for arguments in ({"name": "recall"}, {"name": "none"}, {"name": ["x"]}, {"name": "recall", "arguments": 7}):
        with pytest.raises(Refused) as refused:
            reader.request("prompts/get", **arguments)
        assert refused.value.code == -32602


def test_references_and_tags_are_completed(reader: Host):
    def completed(name: str, value: str) -> list[str]:
        ref = {"type": "ref/resource", "uri": "perdure://memory/{ref}"}
        asked = {"ref": ref, "argument": {"name": name, "value": value}}
        return reader.request("completion/complete", **asked)["completion"]["values"]

    assert completed("ref", "") == ["3", "2", "person:alice", "1"]
    assert completed("ref", "per") == ["person:alice"]
    assert completed("tag", "u") == ["ui", "usability"]
    assert completed("topic", "x") == []
    with pytest.raises(Refused):
        reader.request("completion/complete", argument={"name": "ref"})


def test_a_store_that_cannot_be_opened_is_an_error_that_says_why(store: Path):
    store.write_bytes(b"no database" * 1000)
    with served(store) as host, pytest.raises(Refused) as refused:
        host.request("resources/read", uri="perdure://context")
    assert refused.value.code == -32000
    assert refused.value.data["remedy"]

"""What a token of a model cannot say of itself over HTTP, and cannot take back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from serve.running import path_of

from perdure.auth.authorise import SCOPES
from perdure.auth.token_file import TokenFile

if TYPE_CHECKING:
    from serve.running import Reply, RunningServer

FORGED = {"trust": "high", "source": "manual", "session_id": "ana-session"}
WRITES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "remember": ("POST", "/v1/memories", {"text": "papaya is safe"}),
    "upsert": ("PUT", "/v1/keys/fruit%3Apapaya", {"text": "papaya is safe"}),
    "save": ("POST", "/v1/save", {"text": "papaya is safe"}),
}
SAID = {"role": "user", "content": "papaya is safe"}


class Team:
    """A namespace with a person's token and a model's."""

    def __init__(self, server: RunningServer, name: str) -> None:
        self.server, self.namespace = server, name
        tokens = TokenFile(server.store)
        self.tokens = {
            writer: tokens.create(f"{writer} {name}", scopes=SCOPES, namespaces=(name,), writer=writer)[1]
            for writer in ("person", "model")
        }

    def __call__(self, writer: str, method: str, path: str, body: object = None, session: str | None = None) -> Reply:
        headers = {"Perdure-Session": session} if session else {}
        return self.server(method, path, body, token=self.tokens[writer], headers=headers)


@pytest.fixture
def team(shared: RunningServer, request: pytest.FixtureRequest) -> Team:
    return Team(shared, request.node.name[:90])


@pytest.mark.parametrize("way", WRITES)
@pytest.mark.parametrize("field", FORGED)
def test_a_model_s_token_says_of_itself_neither_trust_nor_source_nor_session(team: Team, way: str, field: str):
    method, path, body = WRITES[way]
    forged = {**body, field: FORGED[field]}
    refused = team("model", method, path, forged, session="agent-session")
    assert (refused.status, refused.code) == (403, "not_allowed")
    assert field in refused.json["detail"]
    assert refused.json["remedy"]
    assert team("model", "GET", "/v1/memories").json["records"] == []
    assert team("person", method, path, forged).json["record"][field] == FORGED[field]


@pytest.mark.parametrize("way", WRITES)
def test_what_a_model_s_token_writes_tells_whose_it_is(team: Team, way: str):
    method, path, body = WRITES[way]
    record = team("model", method, path, body, session="agent-session").json["record"]
    assert (record["trust"], record["source"], record["session_id"]) == ("normal", "session-capture", "agent-session")
    told = team("person", "POST", "/v1/context", {"query": "papaya"}).json["text"]
    assert "(session-capture; session agent-session): papaya is safe" in told
    (line, *_) = team("person", "GET", "/v1/log").json["revisions"]
    assert line["change"]["session"] == "agent-session"


def test_a_person_s_program_that_lets_a_model_write_is_bound_like_a_model(team: Team):
    for field, value in FORGED.items():
        reply = team.server(
            "POST", "/v1/memories", {"text": "papaya is safe", field: value}, token=team.tokens["person"],
            headers={"Perdure-Writer": "model"},
        )  # fmt: skip
        assert reply.code == "not_allowed"


def test_messages_of_a_model_s_token_are_of_the_session_of_their_request(team: Team):
    conversation = path_of("v1", "conversations", "c")
    forged = {**SAID, "session_id": "ana-session"}
    for path, body in ((f"{conversation}/messages", forged), (f"{conversation}/batch", {"messages": [SAID, forged]})):
        assert team("model", "POST", path, body, session="agent-session").code == "not_allowed"
        assert team("model", "POST", path, body).code == "not_allowed"
        assert team("model", "POST", path, body, session="ana-session").status in {200, 201}
    odd: dict[str, Any] = {"messages": [{**SAID, "session_id": ["a", {}]}]}
    assert team("model", "POST", f"{conversation}/batch", odd).code == "not_allowed"
    said = team("person", "GET", f"{conversation}/messages").json["records"]
    assert {message["session_id"] for message in said} == {"ana-session"}


def test_what_a_model_s_token_imports_is_an_import_of_low_trust(team: Team):
    body = {"records": [{"text": "papaya is safe", **FORGED}]}
    assert team("model", "POST", "/v1/import", {**body, "trusted": True}).code == "not_allowed"
    assert team("model", "POST", "/v1/import", body).json["inserted"] == 1
    (record,) = team("person", "GET", "/v1/memories").json["records"]
    assert (record["trust"], record["source"], record["session_id"]) == ("low", "import", None)
    said = {"messages": [{**SAID, "conversation_id": "c", "session_id": "ana-session"}]}
    assert team("model", "POST", "/v1/messages", said, session="agent-session").json["inserted"] == 1
    (message,) = team("person", "GET", path_of("v1", "conversations", "c", "messages")).json["records"]
    assert message["session_id"] == "agent-session"
    *_, line = team("person", "GET", "/v1/log").json["revisions"]
    assert line["change"]["session"] is None


def test_a_model_s_token_changes_neither_trust_nor_origin_nor_standing_of_what_is_there(team: Team):
    team("person", "POST", "/v1/memories", {"text": "mango is sweet", "importance": 0.9, "tier": "important"})
    changes: list[dict[str, Any]] = [
        {"trust": "high"}, {"trust": "low"}, {"importance": 0.1}, {"tier": "deprecated"},
        {"source": "manual"}, {"session_id": "ana-session"}, {"text": "mango is sour", "trust": "high"},
        {"expires_at": "1s"}, {"tier": "critical", "expires_at": "1d"},
    ]  # fmt: skip
    assert team("model", "PATCH", "/v1/memories/1", {"tier": "critical", "importance": 1.0}).status == 200
    for change in changes:
        reply = team("model", "PATCH", "/v1/memories/1", change)
        assert reply.code in {"not_allowed", "bad_input"}, change
    record = team("person", "GET", "/v1/memories/1").json
    assert (record["trust"], record["importance"], record["tier"], record["source"]) == (
        "normal", 1.0, "critical", "manual",
    )  # fmt: skip


def test_tools_over_http_say_the_same(team: Team):
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "remember", "arguments": {"text": "papaya is safe"}}}  # fmt: skip
    assert team("person", "POST", "/mcp", call, session="agent-session").status == 200
    record = team("person", "GET", "/v1/memories/1").json
    assert (record["trust"], record["source"], record["session_id"]) == ("normal", "session-capture", "agent-session")


def test_a_model_s_token_takes_back_only_what_models_wrote(team: Team):
    mine = team("person", "POST", "/v1/memories", {"text": "mango is sweet"}, session="ana-session").json["batch"]
    theirs = team("model", "POST", "/v1/memories", {"text": "papaya is safe"}, session="agent-session").json["batch"]
    persons: list[dict[str, Any]] = [
        {"batch": mine}, {"session": "ana-session"}, {"actor": f"person {team.namespace}", "force": True},
    ]  # fmt: skip
    for body in persons:
        assert team("model", "POST", "/v1/undo", body).code == "not_allowed"
    assert len(team("person", "GET", "/v1/memories").json["records"]) == 2
    assert team("model", "POST", "/v1/undo", {"batch": theirs}).json["removed"] == [2]
    assert team("person", "POST", "/v1/undo", {"session": "ana-session"}).json["removed"] == [1]

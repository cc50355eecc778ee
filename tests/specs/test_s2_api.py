"""S2 "Access patterns" through a real server: what a product sends, and what it gets back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from serve.running import Reply, RunningServer

from perdure import Memory
from perdure.http.conversation_api import CONVERSATION_API

CONVERSATION = "01890a5d-ac96-774b-bcce-b302099a8057"
SAID = [f"Sentence {n} is about the garden in Kyoto" for n in range(6)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A conversation of six messages, one episode of them, and three facts; a second conversation beside it."""
    with RunningServer(tmp_path_factory.mktemp("s2") / "memory.db") as running:
        for n, content in enumerate(SAID):
            message = {"role": "user", "content": content, "timestamp": f"2026-01-01T10:0{n}:00Z"}
            body = {"conversation_id": CONVERSATION, "message": message}
            assert running("POST", "/api/v0/add_message", body).status == 200
        assert running("POST", "/v1/work", {}).status == 200
        (episode,) = running("GET", "/v1/episodes").json["records"]
        told = [("preference", "User prefers dark mode interfaces", 3), ("identity", "User lives in Tokyo", 1),
                ("guideline", "Assistant should avoid formal honorifics in Tokyo", 2)]  # fmt: skip
        with Memory(running.store, embedder="none") as memory:
            others = [memory.remember(f"Earlier talk {n}").record.id for n in range(3)]
            for category, text, sources in told:
                evidence = [episode["id"], *others][:sources]
                memory.remember(text, category=category, conversation_id=CONVERSATION, evidence=evidence)
            memory.remember("User lives in Oslo", category="identity", conversation_id="another")
        yield running


def ask(server: RunningServer, route: str, query: str, **more: Any) -> Reply:
    return server("POST", f"/api/v0/{route}", {"conversation_id": CONVERSATION, "query": query, **more})


def test_facts_come_beside_what_happened(server: RunningServer):
    """S2 api alongside: one answer, as text, has both."""
    reply = ask(server, "retrieve_memory", "Tokyo garden")
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"
    text = reply.body.decode()
    assert text.startswith("## Semantic Memory\n- [")
    assert "\n\n## Episodic Memory\n### " in text
    assert "[rank: 1, score: " in text
    assert "Oslo" not in text


def test_the_raw_answer_has_two_lists(server: RunningServer):
    """S2 api raw: with the fields of S2's schema, and a score."""
    reply = ask(server, "retrieve_memory/raw", "Tokyo garden").json
    assert list(reply) == ["semantic", "episodic"]
    fact = next(fact for fact in reply["semantic"] if fact["category"] == "identity")
    assert (fact["fact"], fact["conversation_id"], fact["invalid_at"]) == ("User lives in Tokyo", CONVERSATION, None)
    assert set(fact) >= {"id", "keywords", "source_episodic_ids", "valid_at", "created_at", "score"}
    (episode,) = reply["episodic"]
    assert [message["content"] for message in episode["messages"]] == SAID
    assert fact["source_episodic_ids"] == [episode["id"]]


def test_facts_alone_come_before_a_prompt(server: RunningServer):
    """S2 api pre-retrieve: Markdown for a system prompt, and no episode."""
    text = ask(server, "context_pre_retrieve", "Tokyo garden").body.decode()
    assert text.startswith("## Semantic Memory\n")
    assert "Episodic" not in text
    assert "Sentence" not in text


def test_asking_before_a_prompt_is_no_review(server: RunningServer):
    """S2 api no review: a retrieval is one, what is asked before a prompt is not."""

    def recalls() -> int:
        return server("GET", "/v1/episodes").json["records"][0]["recall_count"]

    before = recalls()
    ask(server, "context_pre_retrieve", "garden in Kyoto")
    assert recalls() == before
    ask(server, "retrieve_memory", "garden in Kyoto")
    assert recalls() == before + 1


def test_each_fact_is_a_line_with_its_category(server: RunningServer):
    """S2 api rendering: a flat list, each line with its category in brackets."""
    lines = ask(server, "context_pre_retrieve", "User dark mode honorifics Tokyo").body.decode().splitlines()
    assert sorted(lines[1:]) == [
        "- [guideline] Assistant should avoid formal honorifics in Tokyo (sources: 2 conversations)",
        "- [identity] User lives in Tokyo (sources: 1 conversation)",
        "- [preference] User prefers dark mode interfaces (sources: 3 conversations)",
    ]


def test_sources_are_the_episodes_that_say_so(server: RunningServer):
    """S2 api sources: as many as the fact has source episodes."""
    for fact in ask(server, "retrieve_memory/raw", "User dark mode honorifics Tokyo").json["semantic"]:
        count = len(fact["source_episodic_ids"])
        word = "conversation" if count == 1 else "conversations"
        text = ask(server, "context_pre_retrieve", fact["fact"]).body.decode()
        assert f"{fact['fact']} (sources: {count} {word})" in text


def test_no_route_writes_a_fact(server: RunningServer):
    """S2 api no write: messages come in, facts do not. What a model stores is a memory, and never called learned."""
    writing = [row.path for row in CONVERSATION_API.rows if row.scopes != ("read",)]
    assert writing == ["/api/v0/add_message"]
    for field in ("fact", "category", "semantic"):
        body = {"conversation_id": CONVERSATION, "message": {"role": "user", "content": "x", field: "identity"}}
        assert server("POST", "/api/v0/add_message", body).status == 422
    body = {"text": "User lives in Timbuktu", "category": "identity", "conversation_id": CONVERSATION}
    as_model = {"Perdure-Writer": "model"}
    assert server("POST", "/v1/memories", body, headers=as_model).status == 201
    refused = server("POST", "/v1/memories", {**body, "source": "consolidation"}, headers=as_model)
    assert (refused.status, refused.code) == (403, "not_allowed")
    found = ask(server, "retrieve_memory/raw", "Timbuktu").json["semantic"]
    assert "User lives in Timbuktu" not in [fact["fact"] for fact in found]
    assert "Timbuktu" not in ask(server, "context_pre_retrieve", "Timbuktu").body.decode()
    assert "Timbuktu" in server("GET", "/v1/memories").body.decode()


def test_a_request_has_these_fields(server: RunningServer):
    """S2 api fields: limits, detail and category narrow both lists. A vector of an unknown model is refused aloud, of
    whatever size: it would search among vectors that it cannot be compared with.
    """
    only = ask(server, "retrieve_memory/raw", "Tokyo", category="guideline").json["semantic"]
    assert [fact["category"] for fact in only] == ["guideline"]
    few = ask(server, "retrieve_memory/raw", "User Tokyo dark", semantic_limit=1, episodic_limit=1).json
    assert len(few["semantic"]) == 1
    for route in ("retrieve_memory", "retrieve_memory/raw", "context_pre_retrieve"):
        assert ask(server, route, "Tokyo", query_embedding=None).status == 200
        for size in (0, 2, 384):
            reply = ask(server, route, "Tokyo", query_embedding=[0.1] * size)
            assert (reply.status, reply.code) == (422, "bad_input")
            assert "Leave query_embedding out" in reply.json["remedy"]
    details = ("auto", "none", "high")
    texts = {detail: ask(server, "retrieve_memory", "garden", detail=detail).body.decode() for detail in details}
    shown = {detail: f"- user: {SAID[3]}" in text for detail, text in texts.items()}
    assert shown == {"auto": True, "none": False, "high": True}
    assert ask(server, "context_pre_retrieve", "Tokyo", episodic_limit=1).status == 422
    for bad in ({"query": " "}, {"query": "x", "semantic_limit": 0}, {"query": "x", "detail": "all"}, {}):
        reply = server("POST", "/api/v0/retrieve_memory", {"conversation_id": CONVERSATION, **bad})
        assert (reply.status, reply.code) == (422, "bad_input"), bad


def test_messages_come_in_by_their_own_route(server: RunningServer):
    """S2 api messages: role, content and a time, which may be milliseconds; without one it was said now."""
    times = {"ms": 1_767_225_600_000, "iso": "2026-01-01T00:00:00Z", "now": None}
    for name, time in times.items():
        message = {"role": "assistant", "content": f"Said by {name}", **({} if time is None else {"timestamp": time})}
        reply = server("POST", "/api/v0/add_message", {"conversation_id": "times", "message": message})
        assert reply.status == 200
    said = server("GET", "/v1/conversations/times/messages").json["records"]
    assert [message["valid_at"] for message in said[:2]] == ["2026-01-01T00:00:00Z"] * 2
    assert said[2]["valid_at"][:10] == said[2]["created_at"][:10] > "2026-01-01"
    assert said[0]["metadata"]["role"] == "assistant"
    for bad in (
        {"role": "user"},
        {"role": "user", "content": ""},
        {"role": "user", "content": "x", "timestamp": 10**18},
    ):
        reply = server("POST", "/api/v0/add_message", {"conversation_id": "times", "message": bad})
        assert reply.status == 422, json.dumps(bad)

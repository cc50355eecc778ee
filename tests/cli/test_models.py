"""A model of one's own by one line of configuration: what a user sees when it works, when it is gone, and when it may
not be asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from cli.model_servers import ollama, openai, start
from cli.user import User
from providers.server import FaultServer, hang_up, status

Configured = tuple[User, Path]


@pytest.fixture
def ollama_server() -> Iterator[FaultServer]:
    with FaultServer() as server:
        yield start(server, ollama)


@pytest.fixture
def openai_server() -> Iterator[FaultServer]:
    with FaultServer() as server:
        yield start(server, openai)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "perdure.toml"


@pytest.fixture
def person(user: User, config: Path, ollama_server: FaultServer) -> User:
    """A user whose settings are in a file, with Ollama on this machine."""
    config.write_text('embedder = "ollama:nomic-embed-text"\n', encoding="utf-8")
    environment = {name: value for name, value in user.environment.items() if name != "PERDURE_EMBEDDER"}
    return replace(user, environment=environment | {
        "PERDURE_CONFIG": str(config), "OLLAMA_HOST": ollama_server.url,
    })  # fmt: skip


def found(person: User, question: str) -> tuple[str, list[int]]:
    document = person.done("recall", question, "--json").json
    return document["mode"], [hit["record"]["number"] for hit in document["hits"]]


def test_one_line_of_configuration_and_recall_understands(person: User):
    remembered = person.done("remember", "Alice prefers dark mode")
    person.done("remember", "Bob drinks green tea")
    assert "note:" not in remembered.err
    assert found(person, "which theme appearance?") == ("hybrid", [1])
    assert found(person, "is he thirsty?") == ("hybrid", [2])
    assert "nomic-embed-text" in person.done("doctor").out


def test_nothing_about_a_model_on_this_machine_is_egress(person: User):
    person.done("remember", "Alice prefers dark mode")
    person.done("recall", "which theme?")
    answer = person.done("egress")
    assert answer.out == ""
    assert "Nothing has left this machine." in answer.err


def test_a_provider_that_stopped_costs_a_note_and_no_memory(person: User, ollama_server: FaultServer):
    person.done("remember", "Alice prefers dark mode")
    ollama_server.always(hang_up)
    stored = person.done("remember", "Bob drinks green tea")
    assert "Stored without a vector" in stored.err
    assert "ollama" in stored.err
    recalled = person.done("recall", "green tea")
    assert "Bob drinks green tea" in recalled.out
    assert "ollama" in recalled.err
    stuck = person("work")
    assert (stuck.code, "1 left" in stuck.out) == (8, True)
    assert "ollama" in stuck.err
    start(ollama_server, ollama)
    assert "Embedded 1; 0 left." in person.done("work").out
    assert found(person, "is he thirsty?") == ("hybrid", [2])
    assert "Nothing to do." in person.done("work").out


def test_a_model_that_is_not_there_is_said_with_what_to_do(person: User, ollama_server: FaultServer):
    ollama_server.always(status(404, {"error": 'model "nomic-embed-text" not found, try pulling it first'}))
    stored = person.done("remember", "Alice prefers dark mode")
    assert "ollama pull nomic-embed-text" in stored.err
    assert "ollama pull nomic-embed-text" in person.done("recall", "which theme?").err
    assert "Alice" in person.done("list").out


def test_a_cloud_that_may_not_be_asked_is_not_and_the_memory_is_stored(person: User, config: Path):
    config.write_text('embedder = "openai:text-embedding-3-small"\n', encoding="utf-8")
    stored = person.done("remember", "Alice prefers dark mode", OPENAI_API_KEY="sk-test")
    assert "api.openai.com" in stored.err
    assert 'egress = ["api.openai.com"]' in stored.err
    recalled = person.done("recall", "dark mode", OPENAI_API_KEY="sk-test")
    assert "Alice prefers dark mode" in recalled.out
    assert 'egress = ["api.openai.com"]' in recalled.err
    warned = person.done("doctor", OPENAI_API_KEY="sk-test")
    assert 'egress = ["api.openai.com"]' in warned.out
    assert "Nothing has left this machine." in person.done("egress").err


def test_a_key_that_is_missing_is_named(person: User, config: Path):
    config.write_text('embedder = "openai:text-embedding-3-small"\negress = "api.openai.com"\n', encoding="utf-8")
    stored = person.done("remember", "Alice prefers dark mode")
    assert "OPENAI_API_KEY" in stored.err
    assert "OPENAI_API_KEY" in person.done("doctor").out


def test_a_url_of_ones_own_is_two_lines(person: User, config: Path, openai_server: FaultServer):
    config.write_text(
        f'embedder = "openai:text-embedding-3-small"\nembedder_url = "{openai_server.url}/v1"\n', encoding="utf-8"
    )
    person.done("remember", "Alice prefers dark mode", OPENAI_API_KEY="sk-of-openai", PERDURE_EMBEDDER_KEY="mine")
    assert found(person, "which theme appearance?") == ("hybrid", [1])
    assert openai_server.requests[0].headers["authorization"] == "Bearer mine"
    assert "authorization" not in openai_server.requests[-1].headers


def test_doctor_says_which_models_are_set_and_asks_them_only_when_told_to(person: User, ollama_server: FaultServer):
    person.done("remember", "Alice prefers dark mode")
    ollama_server.requests.clear()
    report = {row[1]: row for row in person.done("doctor", PERDURE_LLM="ollama:qwen3").rows}
    assert report["embedder"][2].endswith("`perdure doctor --online` says whether it answers.")
    assert report["llm"][2] == "ollama:qwen3 may be asked."
    assert report["egress"][2] == "Nothing may leave this machine: egress is `none`."
    assert ollama_server.requests == []
    asked = {row[1]: row for row in person.done("doctor", "--online", PERDURE_LLM="ollama:qwen3").rows}
    assert "--online" not in asked["embedder"][2]
    assert asked["embedder_answers"][2].endswith("answers.")
    assert asked["llm_answers"][2] == "ollama:qwen3 answers."
    assert [request.path for request in ollama_server.requests] == ["/api/embed", "/api/chat"]


def test_doctor_says_why_a_model_does_not_answer(person: User, ollama_server: FaultServer):
    person.done("remember", "Alice prefers dark mode")
    ollama_server.always(hang_up)
    report = {row[1]: row for row in person.done("doctor", "--online", PERDURE_LLM="ollama:qwen3").rows}
    for check in ("embedder_answers", "llm"):
        level, _, sentence, remedy = report[check]
        assert level == "warning"
        assert "ollama" in sentence
        assert remedy


def test_doctor_names_the_key_and_the_host_that_a_language_model_needs(person: User):
    report = {row[1]: row for row in person.done("doctor", PERDURE_LLM="anthropic:claude-haiku-4-5").rows}
    assert report["llm"][0] == "warning"
    assert 'egress = ["api.anthropic.com"]' in report["llm"][3]
    allowed = {"PERDURE_LLM": "anthropic:claude-haiku-4-5", "PERDURE_EGRESS": "api.anthropic.com"}
    report = {row[1]: row for row in person.done("doctor", **allowed).rows}
    assert "ANTHROPIC_API_KEY" in " ".join(report["llm"])


def test_doctor_shows_what_of_the_budget_is_used(person: User):
    report = {row[1]: row for row in person.done("doctor", PERDURE_DAILY_TOKENS="5000", PERDURE_DAILY_COST="2").rows}
    assert report["budget"][2] == "Used today: 0 of 5,000 tokens, cost 0.0000 of 2."


def test_after_a_change_the_old_model_answers_until_work_has_made_the_new_vectors(
    person: User, config: Path, ollama_server: FaultServer, openai_server: FaultServer
):
    for number in range(60):
        person.done("remember", f"Memory number {number} is about bridge {number}")
    person.done("remember", "Bob drinks green tea")
    config.write_text(
        f'embedder = "openai:text-embedding-3-small"\nembedder_url = "{openai_server.url}/v1"\n', encoding="utf-8"
    )
    ollama_server.requests.clear()
    assert found(person, "is he thirsty?") == ("hybrid", [61])
    assert [request.path for request in ollama_server.requests] == ["/api/embed"]
    warned = {row[1]: row for row in person.done("doctor").rows}
    assert "openai" in " ".join(warned["embedder"]) or "openai" in " ".join(warned["pending"])
    page = person.screen("stats", COLUMNS="120")
    assert "ollama:nomic-embed-text, 768 dimensions, 61 vectors, answers" in page
    assert "61 memories wait for a vector: perdure work" in page
    assert "Embedded 50; 11 left." in person.done("work", "--limit", "50").out
    assert found(person, "is he thirsty?") == ("hybrid", [61])
    page = person.screen("stats", COLUMNS="120")
    assert "openai:text-embedding-3-small, 1536 dimensions, 50 vectors, in the making" in page
    assert "11 memories wait for a vector" in page
    assert "Embedded 11; 0 left." in person.done("work").out
    ollama_server.always(hang_up)
    assert found(person, "is he thirsty?") == ("hybrid", [61])
    assert {len(request.json["input"]) for request in openai_server.requests} <= set(range(1, 51))
    assert "openai:text-embedding-3-small, 1536 dimensions, 61 vectors, answers" in person.screen(
        "stats", COLUMNS="120"
    )
    assert "--drop-old-vectors" in person.done("doctor").out
    person.done("work", "--drop-old-vectors")
    assert "ollama" not in person.screen("stats")

"""S3 section 9: its usage examples, through a real process that speaks the protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from mcp_server.host import Host, started

from perdure import Memory

OAUTH = "specs/049-auth/memory/28-11-25_14-30__oauth.md"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """One server for all examples, which leave the memories as they were."""
    folder = tmp_path_factory.mktemp("examples")
    store = folder / "memory.db"
    with Memory(store, embedder="none") as memory:
        memory.remember(
            "OAuth callback flow with JWT tokens: authentication goes through the callback, and OAuth errors of the "
            "callback are shown.",
            spec_folder="049-auth", file_path=OAUTH, tier="critical", context_type="decision",
            trigger_phrases=["save context"],
        )  # fmt: skip
        memory.remember("The parser reads one line at a time", tier="critical")
        memory.remember("Authentication tests run nightly", context_type="decision")
    environment = {"HOME": str(folder), "PERDURE_EMBEDDER": "none", "PERDURE_STORE": str(store)}
    with started("--tools", "reference", environment=environment) as host:
        yield host
        assert host.end() == 0


def found(answer: dict[str, Any]) -> list[int]:
    return [memory["number"] for memory in answer["memories"]]


def test_a_basic_search_shows_score_file_and_text(host: Host):
    """S3 example search: natural language in, the best match with its place out."""
    text = host.text("memory_search", query="how did we implement authentication", limit=5)
    assert f"%] {OAUTH}" in text
    assert "OAuth callback flow with JWT tokens" in text


def test_a_search_for_several_concepts_counts_each(host: Host):
    """S3 example concepts: all of them, and how often each."""
    arguments = {"concepts": ["oauth", "errors", "callback"]}
    assert found(host.call("memory_search", **arguments)) == [1]
    assert "Contains: oauth (2), errors (1), callback (3)" in host.text("memory_search", **arguments)


def test_a_search_is_narrowed_by_tier_and_kind_of_work(host: Host):
    """S3 example filter: critical decisions."""
    answer = host.call("memory_search", query="authentication", tier="critical", contextType="decision")
    assert found(answer) == [1]


def test_a_checkpoint_is_made_listed_and_restored(host: Host):
    """S3 example checkpoint: before major changes, and back."""
    host.call("checkpoint_create", name="pre-refactor-v2", description="Before major auth system refactor")
    host.call("memory_delete", id=1)
    (checkpoint,) = host.call("checkpoint_list")["checkpoints"]
    assert (checkpoint["name"], checkpoint["description"]) == ("pre-refactor-v2", "Before major auth system refactor")
    assert host.call("checkpoint_restore", name="pre-refactor-v2")["reverted"] == [1]
    assert found(host.call("memory_list")) == [3, 2, 1]


def test_five_validations_offer_the_tier_critical(host: Host):
    """S3 example validate: confidence rises, and a promotion is offered."""
    answers = [host.call("memory_validate", id=3, wasUseful=True) for _ in range(5)]
    assert [answer.get("offered") for answer in answers] == [None] * 4 + ["critical"]
    assert answers[-1]["confidence"] == 0.9


def test_a_trigger_phrase_is_matched_in_a_prompt(host: Host):
    """S3 example triggers: the phrase, and how sure it is."""
    answer = host.call("memory_match_triggers", prompt="save context for the auth work")
    assert (answer["matched"], answer["trigger"], answer["confidence"]) == (True, "save context", 0.95)

"""S3's tools, by their own names and parameters. Its usage examples are in tests/specs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcp_server.host import Host, ToolFailed, faults, served

from perdure import Memory

# The names and the parameters of the specification, in its own spelling.
SPECIFIED = {
    "memory_search": "query concepts limit specFolder tier contextType useDecay includeConstitutional",
    "memory_load": "specFolder anchorId memoryId",
    "memory_save": "filePath force",
    "memory_index_scan": "specFolder force",
    "memory_match_triggers": "prompt limit",
    "memory_list": "limit offset specFolder sortBy",
    "memory_update": "id title triggerPhrases importanceWeight importanceTier",
    "memory_delete": "id specFolder confirm",
    "memory_validate": "id wasUseful",
    "memory_stats": "",
    "checkpoint_create": "name description specFolder metadata",
    "checkpoint_list": "specFolder limit",
    "checkpoint_restore": "name clearExisting",
    "checkpoint_delete": "name",
    "store_memory": "name description reasoning category references",
    "remember": "text",
    "recall": "query",
    "recall_detail": "ids",
}
OAUTH = "specs/049-auth/memory/28-11-25_14-30__oauth.md"


def fill(store: Path) -> None:
    with Memory(store) as memory:
        memory.remember(
            "OAuth callback flow with JWT tokens: authentication goes through the callback. OAuth errors of the "
            "callback are shown to the user.",
            title="OAuth callback flow", spec_folder="049-auth", file_path=OAUTH, anchor_id="oauth-callback",
            tier="critical", context_type="decision", trigger_phrases=["save context"],
        )  # fmt: skip
        memory.remember("The parser reads one line at a time", spec_folder="050-parser", importance=0.9)
        memory.remember("Authentication tests run nightly", spec_folder="049-auth", anchor_id="tests")
        memory.remember("Never commit secrets", tier="constitutional")


@pytest.fixture
def specs(store: Path) -> Path:
    fill(store)
    return store


@pytest.fixture
def reference(specs: Path):
    with served(specs, tools="reference") as host:
        yield host


def numbers(answer: dict[str, Any]) -> list[int]:
    return [memory["number"] for memory in answer["memories"]]


def test_the_tools_have_the_names_and_parameters_of_the_specification(reference: Host):
    tools = reference.tools()
    assert set(tools) == set(SPECIFIED)
    for name, parameters in SPECIFIED.items():
        assert set(parameters.split()) <= set(tools[name]["inputSchema"]["properties"]), name


def test_all_is_both_sets(specs: Path):
    with served(specs, tools="all") as host:
        assert set(host.tools()) == {*SPECIFIED, "forget", "consolidate"}


def test_constitutional_memories_come_first_unless_they_are_not_wanted(reference: Host):
    assert numbers(reference.call("memory_search", query="oauth callback"))[:2] == [4, 1]
    assert 4 not in numbers(reference.call("memory_search", query="oauth callback", includeConstitutional=False))


def test_a_search_needs_a_query_or_concepts(reference: Host):
    with pytest.raises(ToolFailed, match="Give a query"):
        reference.call("memory_search")


def test_a_folder_an_anchor_or_one_memory_is_loaded_in_full(reference: Host):
    assert numbers(reference.call("memory_load", specFolder="049-auth")) == [1, 3]
    assert numbers(reference.call("memory_load", spec_folder="049-auth", anchor_id="tests")) == [3]
    assert numbers(reference.call("memory_load", specFolder="049-auth", memoryId=2)) == [2]
    for arguments in ({}, {"specFolder": "nowhere"}, {"specFolder": "049-auth", "anchorId": "nowhere"}):
        with pytest.raises(ToolFailed):
            reference.call("memory_load", **arguments)


def test_what_is_too_much_for_an_answer_is_named(specs: Path):
    with Memory(specs) as memory:
        for n in range(4):
            memory.remember(f"{n} " + "words " * 3_000, spec_folder="long")
    with served(specs, tools="reference") as host:
        answer = host.call("memory_load", specFolder="long")
    assert (numbers(answer), answer["omitted"]) == ([5, 6], [7, 8])


def test_memories_are_listed_page_by_page_in_the_order_asked_for(reference: Host):
    assert numbers(reference.call("memory_list")) == [4, 3, 2, 1]
    page = reference.call("memory_list", limit=1, offset=1)
    assert (numbers(page), page["next"]) == ([3], 2)
    assert numbers(reference.call("memory_list", sortBy="importance_weight"))[0] == 2
    reference.call("memory_update", id=1, text="OAuth callback flow, corrected")
    assert numbers(reference.call("memory_list", sortBy="updated_at", specFolder="049-auth")) == [1, 3]


def test_a_folder_is_deleted_only_with_confirm(reference: Host):
    preview = reference.call("memory_delete", specFolder="049-auth")
    assert (preview["done"], preview["numbers"], preview["confirm"]) == (False, [1, 3], "true")
    assert reference.call("memory_delete", id=2, dryRun=True)["done"] is False
    assert numbers(reference.call("memory_list")) == [4, 3, 2, 1]
    assert reference.call("memory_delete", specFolder="049-auth", confirm=True)["done"] is True
    assert numbers(reference.call("memory_list")) == [4, 2]
    for arguments in ({}, {"id": 2, "specFolder": "050-parser"}):
        with pytest.raises(ToolFailed, match="either id or specFolder"):
            reference.call("memory_delete", **arguments)


@pytest.mark.parametrize("arguments", [{}, {"confirm": False}, {"dryRun": True}, {"confirm": True, "dryRun": True}])
def test_a_folder_with_one_memory_is_deleted_only_with_confirm_as_well(reference: Host, arguments: dict[str, Any]):
    reference.call("memory_delete", id=3)
    preview = reference.call("memory_delete", specFolder="049-auth", **arguments)
    assert (preview["done"], preview["numbers"], preview["confirm"]) == (False, [1], "true")
    assert numbers(reference.call("memory_list")) == [4, 2, 1]
    assert reference.call("memory_delete", specFolder="049-auth", confirm=True)["numbers"] == [1]


@pytest.mark.parametrize("id", ["oldest", "least important", "before:2030-01-01", "everything about OAuth"])
def test_the_id_of_what_is_deleted_is_no_instruction(reference: Host, id: str):
    with pytest.raises(ToolFailed):
        reference.call("memory_delete", id=id, confirm=True)
    assert numbers(reference.call("memory_list")) == [4, 3, 2, 1]


def test_the_counts_are_of_one_namespace(specs: Path):
    with Memory(specs, namespace="somebody-else") as memory:
        memory.remember("Not for you", category="goal")
    with served(specs, tools="reference") as host:
        result = host.result("memory_stats")
    assert result["structuredContent"]["memories"] == 4
    assert "somebody" not in str(result)
    assert "goal" not in str(result)


def test_a_prompt_without_a_trigger_matches_nothing(reference: Host):
    answer = reference.call("memory_match_triggers", prompt="good morning")
    assert (answer["matched"], answer["memories"]) == (False, [])


def test_an_error_about_a_checkpoint_names_the_tool_that_lists_them(reference: Host):
    with pytest.raises(ToolFailed, match="`checkpoint_list` shows them"):
        reference.call("checkpoint_restore", name="nowhere")


def test_what_became_of_a_checkpoint_is_said_as_data_and_as_text(reference: Host):
    for tool, outcome in (("checkpoint_create", "created"), ("checkpoint_delete", "deleted")):
        result = reference.request("tools/call", name=tool, arguments={"name": "one"})
        assert result["structuredContent"]["outcome"] == outcome
        assert result["content"][0]["text"].startswith(f"Checkpoint {outcome}:")


def test_every_answer_is_what_its_schema_says_and_says_the_same_as_text(reference: Host):
    schemas = {name: tool["outputSchema"] for name, tool in reference.tools().items()}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("memory_search", {"query": "oauth"}),
        ("memory_load", {"specFolder": "049-auth"}),
        ("memory_match_triggers", {"prompt": "save context"}),
        ("memory_list", {"limit": 2}),
        ("memory_update", {"id": 3, "importanceTier": "important"}),
        ("memory_validate", {"id": 1, "wasUseful": False}),
        ("memory_delete", {"specFolder": "049-auth"}),
        ("memory_delete", {"id": 3}),
        ("memory_stats", {}),
        ("checkpoint_create", {"name": "one", "description": "The first", "metadata": {"by": "me"}}),
        ("checkpoint_list", {}),
        ("checkpoint_restore", {"name": "one", "clearExisting": True}),
        ("checkpoint_delete", {"name": "one"}),
        ("checkpoint_list", {}),
    ]
    for tool, arguments in calls:
        result = reference.result(tool, **arguments)
        data, text = result["structuredContent"], result["content"][0]["text"].replace("\n  | ", "\n")
        assert faults(schemas[tool], data) == [], tool
        for memory in data["memories"] if isinstance(data.get("memories"), list) else ():
            assert memory["text"] in text
            assert f"#{memory['number']}" in text
        for key in ("score", "outcome", "confidence", "batch", "name", "next"):
            assert str(data.get(key, "")) in text

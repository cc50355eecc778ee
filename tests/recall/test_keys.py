"""People and things that a key names: `person:alice` is about Alice, whether or not its text says so."""

from __future__ import annotations

import pytest

from perdure import Memory
from perdure.testing.embedder import WordEmbedder
from perdure.text.entry import names_in_key

FACTS = {
    "person:alice": "Prefers green tea in the morning.",
    "person:bob": "Prefers black tea in the evening.",
    "project:apollo-landing": "The deadline is the end of March.",
    "project:gemini": "The deadline is the end of June.",
}


@pytest.fixture(params=["model", "disk", "index"])
def memory(request: pytest.FixtureRequest):
    """With a model; by words alone from disk, as a process begins; and by words alone from the index."""
    embedder = WordEmbedder(1024) if request.param == "model" else "none"
    with Memory(":memory:", embedder=embedder) as opened:
        for key, text in FACTS.items():
            opened.remember(text, key=key)
        for number in range(30):
            opened.remember(f"Note {number}: people drink tea in the morning, and each has a deadline.")
        opened.work()
        for _ in range(5 if request.param == "index" else 0):
            opened.recall("tea")
        yield opened


@pytest.mark.parametrize(
    ("question", "key"),
    [
        ("What does Alice drink in the morning?", "person:alice"),
        ("What is Bob's tea in the evening?", "person:bob"),
        ("the deadline of the Apollo landing", "project:apollo-landing"),
        ("deadline of gemini", "project:gemini"),
    ],
)
def test_a_memory_is_found_by_the_name_in_its_key(memory: Memory, question: str, key: str):
    assert memory.recall(question)[0].record.key == key


@pytest.mark.parametrize("question", ["PX-4711", "What is the state of ticket PX-4711, and who looks at it?"])
def test_a_memory_is_found_by_the_code_in_its_key(memory: Memory, question: str):
    memory.upsert("ticket:PX-4711", "The login page crashes on Safari.")
    memory.upsert("ticket:PX-4712", "The logout page is slow.")
    assert memory.recall(question)[0].record.key == "ticket:PX-4711"
    forgotten = memory.forget("everything about PX-4711", dry_run=True)
    assert [record.key for record in forgotten.records] == ["ticket:PX-4711"]


def test_what_gave_up_its_key_is_not_found_by_it_any_more():
    with Memory(":memory:", embedder="none") as memory:
        memory.remember("Prefers green tea.", key="person:alice")
        memory.remember("Prefers black tea.", key="person:bob")
        assert [hit.record.key for hit in memory.recall("Alice")] == ["person:alice"]
        memory.forget("person:alice")
        assert not memory.recall("Alice").hits
        memory.upsert("person:alice", "Prefers coffee.")
        assert [hit.record.text for hit in memory.recall("Alice")] == ["Prefers coffee."]


def test_a_concept_is_held_by_what_the_key_names(memory: Memory):
    answer = memory.recall(concepts=["alice", "tea"])
    assert [hit.record.key for hit in answer] == ["person:alice"]


def test_a_store_of_keyed_memories_is_sound(memory: Memory):
    assert [finding for finding in memory.doctor() if finding.level == "problem"] == []


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ("person:alice", ["alice"]),
        ("location:new_york", ["new", "york"]),
        ("person:José", ["José"]),
        ("city:東京", ["東京"]),
        ("abstract:4983", []),
        ("turn:d1:7", []),
        ("project:apollo11", ["apollo"]),
        ("ticket:PX-4711", ["PX-4711"]),
        ("error:E1042", ["E1042"]),
        ("note:2026-03-14", []),
        ("uuid:3f2a-91cc8e", ["cc"]),
        ("message:osaka/00000001", []),
        ("episode:osaka/00000001", []),
    ],
)
def test_the_names_in_a_key_are_its_words_and_codes(key: str, names: list[str]):
    assert names_in_key(key) == names

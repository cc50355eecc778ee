"""What adapters keep under names comes back to the letter, whatever the name and the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure import Memory
from perdure.adapters.documents import Documents, messages_at, name_of, sentence_of, text_of
from perdure.bank.framework_documents import document_key, fits_metadata
from perdure.errors import InvalidInput, VersionConflict

names = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), min_size=1, max_size=300)
texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=80)


@given(first=names, second=names, text=texts)
def test_a_document_comes_back_under_its_own_name_alone(first: str, second: str, text: str):
    with Memory(":memory:", embedder="none") as memory:
        documents = Documents(memory, "kind", "test")
        documents.put(first, text, ["a"], {"more": 1})
        found = documents.get(first)
        assert found is not None
        assert (name_of(found), text_of(found), found.metadata["more"]) == (first, text, 1)
        assert second == first or documents.get(second) is None


def test_names_that_no_key_can_have_are_kept_by_their_hash():
    assert document_key("kind", "notes/a.md") == "kind:notes/a.md"
    odd = [" a", "a\n", "e\u0301", "x" * 300, "sha256=" + "0" * 64]
    keys = [document_key("kind", name) for name in odd]
    assert all(key.startswith("kind:sha256=") for key in keys)
    assert len(set(keys)) == len(odd)


def test_documents_are_listed_and_found_by_folder_and_removed_softly():
    memory = Memory(":memory:", embedder="none", session="monday")
    documents = Documents(memory, "kind", "test")
    documents.put("a/x", "The ferry leaves at noon", ["a"], {})
    documents.put("a/y", "The ferry is blue", ["a"], {})
    documents.put("b/z", "The ferry is red", ["b"], {})
    memory.upsert("kind:by-hand", "A key that somebody gave, and no document")
    assert [name_of(record) for record in documents.under("a")] == ["a/x", "a/y"]
    assert [name_of(record) for record in documents.under(None)] == ["a/x", "a/y", "b/z"]
    assert {name_of(hit.record) for hit in documents.search("ferry", "a", 10, 0.0)} == {"a/x", "a/y"}
    before = memory.get(3).created_at
    documents.remove(*documents.under("a"))
    documents.remove()
    assert [name_of(record) for record in documents.under(None)] == ["b/z"]
    past = Documents(memory, "kind", "test", before)
    assert len(list(past.under(None))) == 3
    with pytest.raises(InvalidInput, match="past"):
        past.put("a/x", "Later", [], {})
    with pytest.raises(InvalidInput, match="past"):
        past.remove(*past.under("b"))


def test_messages_of_the_past_come_in_their_order(memory: Memory):
    said = [f"note {number}" for number in range(5)]
    memory.conversation("other").add_message("user", "Hello")
    memory.conversation("c").add_messages([{"role": "user", "content": text} for text in said])
    then = memory.list(limit=1).records[0].updated_at
    memory.forget([record.number for record in memory.conversation("c").messages(limit=2)], confirm=True)
    assert [record.text for record in messages_at(memory, "c", None)] == said[:3]
    assert [record.text for record in messages_at(memory, "c", then)] == said
    assert [record.text for record in messages_at(memory, "c", then, 2)] == said[3:]


def test_a_version_is_expected_and_a_refusal_is_told_in_words():
    documents = Documents(Memory(":memory:", embedder="none"), "kind", "test")
    assert documents.put("a", "one", [], {}, expected_version=0).record.version == 1
    with pytest.raises(VersionConflict) as refused:
        documents.put("a", "two", [], {}, expected_version=0)
    assert "version 1" in sentence_of(refused.value)


def test_what_metadata_would_change_is_not_kept_there():
    assert fits_metadata({"a": [1, "x", None]})
    assert not fits_metadata({"a": {"b": (1, 2)}})
    assert not fits_metadata({"a": "x" * 70_000})
    assert not fits_metadata({"a": "\x00"})

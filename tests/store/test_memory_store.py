"""The store in plain dictionaries keeps every promise that the port asks of every store, and a memory works on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure import Memory, errors
from perdure.store.capabilities import vector_scan_of
from perdure.store.port import Store
from perdure.testing.conformance import CoreConformance
from perdure.testing.embedder import WordEmbedder
from perdure.testing.memory_store import MemoryStore
from perdure.testing.records import GENERATION, NAMESPACE, embed, remember, vector
from perdure.text.entry import passage_hash


class TestDictionaries(CoreConformance):
    flush_waits = False

    def open_store(self) -> Store:
        return MemoryStore()


def tell(memory: Memory) -> list[list[tuple[int, str]]]:
    """A short life, and what is known at its end."""
    for text in ("The ferry leaves at nine", "Ann likes green tea", "The archive is in the cellar", "Bob rows"):
        memory.remember(text)
    memory.update(1, text="The ferry leaves at ten")
    memory.forget(4, confirm=True)
    memory.remember("Ann likes green tea")
    memory.erase(3, confirm=True)
    memory.work()
    questions = ("When does the ferry leave?", "tea", "archive", "ferry tea")
    answers = [[(hit.record.number, hit.record.text) for hit in memory.recall(question)] for question in questions]
    return [*answers, [(record.number, record.text) for record in memory.list()]]


def test_a_memory_lives_the_same_life_on_it_as_in_a_file(tmp_path: Path):
    with Memory(tmp_path / "m.db", embedder=WordEmbedder()) as in_file:
        expected = tell(in_file)
    with Memory(MemoryStore(), embedder=WordEmbedder()) as memory:
        assert tell(memory) == expected
        assert repr(memory) == "<Memory 'default' in ':memory:'>"


def test_what_it_cannot_do_is_said_and_the_rest_is_done():
    with Memory(MemoryStore(), embedder="none") as memory:
        memory.remember("The ferry leaves at nine")
        with pytest.raises(errors.StoreUnable) as failed:
            memory.backup("copy.db")
        assert "perdure copy" in failed.value.cli_remedy
        with pytest.raises(errors.StoreUnable):
            memory.doctor(repair=True)
        assert [finding.level for finding in memory.doctor() if finding.check == "store"] == ["warning"]
        erased = memory.erase(1, confirm=True)
        assert not erased.scrub_pending


def test_vectors_are_scanned_by_position_to_the_end():
    store = MemoryStore()
    records = [remember(store, f"memory {n}") for n in range(5)]
    embed(store, records)
    scan = vector_scan_of(store)
    assert scan
    found: dict[bytes, bytes] = {}
    after = 0
    while (page := scan.index_vectors(NAMESPACE, GENERATION, after, 2)).vectors:
        assert len(page.vectors) <= 2
        found |= page.vectors
        after = page.last
    assert found == {passage_hash(record): vector() for record in records}

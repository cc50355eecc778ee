"""How often a store that is far away is asked: each question of a verb would be a trip over a network.

A transaction costs a trip for its beginning, which answers what it is about, and one for its writes and the commit. Any
other question in it costs one more, and reads cost one for each question.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from perdure import Memory
from perdure.embed.port import Generation
from perdure.model import Identity, Record, identity_of
from perdure.store.capabilities import VectorPage
from perdure.store.port import About, IndexChanges, LogFilter, Position
from perdure.testing.embedder import WordEmbedder
from perdure.testing.memory_space import MemoryReader
from perdure.testing.memory_store import MemoryStore

# What a store knows from the beginning of a transaction, and what it is told and need not answer before the commit.
FREE = {
    "next_number", "load", "put", "put_vector", "add_tombstone", "touch", "set_limits", "release_key", "drop_payloads",
    "unpark",
}  # fmt: skip


class Beginning:
    """Which questions were answered with the beginning, and still are: nothing that was written changes the answer."""

    def __init__(self, about: Sequence[About]) -> None:
        self._identities = {one.identity for one in about if one.identity}
        self._keys = {one.key for one in self._identities if one.key}
        self._requests = {one.request for one in about if one.request}
        self._numbers = {one.number for one in about if one.number}
        self._written: set[str] = set()

    def answers(self, method: str, question: Any) -> bool:
        if method in {"lift_tombstone", "tombstone_since"}:
            return question in self._identities
        if method == "by_content":
            return question in self._identities and question.content_hash not in self._written
        if method == "log":
            return question == LogFilter(request=question.request) and question.request in self._requests
        known = {"by_key": self._keys, "by_number": self._numbers, "last_version": self._numbers}
        return question in known.get(method, ())

    def forget(self, record: Record) -> None:
        own: Identity = identity_of(record)
        self._written.add(own.content_hash)
        self._keys.discard(own.key or "")
        self._numbers.discard(record.number)


class Asked:
    """A reader or writer whose questions are counted."""

    def __init__(self, store: FarStore, real: MemoryReader, beginning: Beginning | None = None) -> None:
        self._store, self._real, self._beginning = store, real, beginning

    def __getattr__(self, method: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            beginning = self._beginning
            is_known = beginning is not None and (method in FREE or beginning.answers(method, arguments[0]))
            # Whoever asks for no memory need not be answered.
            self._store.trips += not is_known and (method, arguments) != ("fetch", ([],))
            if method == "put" and beginning is not None:
                beginning.forget(arguments[0])
            return getattr(self._real, method)(*arguments, **options)

        return call


class FarStore(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.trips = 0

    @contextmanager
    def read(self, namespace: str) -> Generator[Any]:
        with super().read(namespace) as reader:
            yield Asked(self, reader)

    @contextmanager
    def write(self, namespace: str, about: Sequence[About] = (), *, frees_space: bool = False) -> Generator[Any]:
        with super().write(namespace, about, frees_space=frees_space) as writer:
            self.trips += 1
            yield Asked(self, writer, Beginning(about))
        self.trips += 1

    def position(self, namespace: str, generation: Generation | None) -> Position:
        self.trips += 1
        return super().position(namespace, generation)

    def index_rows(self, *arguments: Any, **options: Any) -> Any:
        self.trips += 1
        return super().index_rows(*arguments, **options)

    def index_vectors(self, namespace: str, generation: Generation, after: int, limit: int) -> VectorPage:
        self.trips += 1
        return super().index_vectors(namespace, generation, after, limit)

    def index_changes(self, namespace: str, generation: Generation | None, since: Position) -> IndexChanges:
        self.trips += 1
        return super().index_changes(namespace, generation, since)

    def during(self, call: Callable[[], object]) -> int:
        before = self.trips
        call()
        return self.trips - before


def opened() -> tuple[FarStore, Memory]:
    store = FarStore()
    memory = Memory(store, embedder=WordEmbedder())
    for n in range(30):
        memory.remember(f"Memory number {n} speaks of the river and of bridge {n * 7}")
    memory.recall("which bridge?")
    return store, memory


def test_a_memory_is_remembered_in_three_trips():
    store, memory = opened()
    assert store.during(lambda: memory.remember("A new bridge crosses the river")) == 3
    assert store.during(lambda: memory.remember("Another bridge", idempotency_key="call-1")) == 3
    assert store.during(lambda: memory.remember("A new bridge crosses the river")) == 3
    assert store.during(lambda: memory.remember("Tea", key="drink:tea")) == 3
    assert store.during(lambda: memory.remember("Green tea", key="drink:tea")) == 3


def test_a_memory_is_changed_and_forgotten_in_few_trips():
    store, memory = opened()
    assert store.during(lambda: memory.update(3, tags=["wide"])) <= 4
    assert store.during(lambda: memory.update(3, text="Bridge 14 is closed")) <= 4
    assert store.during(lambda: memory.forget(4, confirm=True)) <= 5
    assert store.during(lambda: memory.get(5)) == 1


def test_a_warm_recall_asks_whether_something_changed_and_for_its_hits():
    store, memory = opened()
    assert store.during(lambda: memory.recall("which bridge is new?")) <= 3


def test_an_index_is_filled_by_rows_and_vectors_apart():
    store, memory = opened()
    with Memory(store, embedder=WordEmbedder()) as another:
        assert store.during(lambda: another.recall("which bridge?")) <= 8
    assert memory.recall("bridge 7").hits


def test_an_import_asks_nothing_for_each_record():
    store, memory = opened()
    records = [{"text": f"Imported fact {n} about harbour {n * 3}"} for n in range(500)]
    assert store.during(lambda: memory.import_(records)) <= 50
    assert len(memory.list(limit=100)) == 100

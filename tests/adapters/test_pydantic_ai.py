"""The memory store of Pydantic AI on a memory: it answers as the store in its own package does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure import Memory
from perdure.errors import InvalidInput

harness = pytest.importorskip("pydantic_ai_harness.memory", reason="`make test-adapters` has Pydantic AI")

from pydantic_ai_harness.memory import InMemoryStore, MemoryConflictError, MemoryOperation, MemoryStore

from perdure.adapters.pydantic_ai import PerdureMemoryStore

PATHS = ["MEMORY.md", "a/MEMORY.md", "a/notes.md", "a/b/deep.md", "ab/x.md"]
path = st.sampled_from(PATHS)
text = st.sampled_from(["", " ", "one", "Alice prefers dark mode", "line\r\nline\n", "x" * 50])
# Whether the version that a call expects is the one that is there, none, or an old one.
expected = st.sampled_from(["current", "none", "old"])
operation = st.none() | st.builds(
    MemoryOperation, id=st.sampled_from(["o1", "o2", "o3"]), fingerprint=st.sampled_from(["f", "g"])
)
step = st.one_of(
    st.tuples(st.just("write"), path, text, expected, operation),
    st.tuples(st.just("delete"), path, st.just(""), expected, operation),
    st.tuples(st.just("operation"), path, st.just(""), expected, operation),
    st.tuples(st.just("list"), st.sampled_from(["", "a", "a/", "a/b/", "zz/"]), st.just(""), expected, operation),
    st.tuples(st.just("read"), path, st.just(""), expected, operation),
)


async def answer(store: Any, versions: dict[str, list[str]], action: tuple[Any, ...]) -> object:
    """What a store answers, without its versions, which mean nothing to anybody else."""
    what, name, content, which, operation = action
    if what == "list":
        return await store.list_paths(name, limit=3)
    file = await store.read(name, max_chars=10)
    if what == "read":
        return file and (file.content, file.truncated, file.operation_id, getattr(file, "metadata", None))
    seen = versions.setdefault(name, [])
    current = file.version if file else None
    version = {"current": current, "none": None, "old": seen[0] if seen else "no-version"}[which]
    try:
        if what == "operation":
            done = await store.get_operation(operation) if operation else None
        elif what == "write":
            done = await store.write(name, content, expected_version=version, operation=operation)
        else:
            done = await store.delete(name, expected_version=version, operation=operation)
    except (MemoryConflictError, harness.MemoryOperationConflictError) as error:
        return type(error).__name__
    if done and done.version and not done.replayed:
        assert done.version not in seen
        seen.append(done.version)
    return done and (done.replayed, done.existed, done.version is None)


@settings(max_examples=60)
@given(steps=st.lists(step, max_size=25))
def test_every_call_answers_as_the_reference_does(steps: list[tuple[Any, ...]]):
    async def run() -> None:
        with Memory(":memory:", embedder="none") as memory:
            stores = [(InMemoryStore(), {}), (PerdureMemoryStore(memory), {})]
            for action in steps:
                theirs, ours = [await answer(store, versions, action) for store, versions in stores]
                assert ours == theirs, action

    asyncio.run(run())


def test_files_are_found_by_meaning_and_taken_back(memory: Memory):
    store = PerdureMemoryStore(memory)
    assert isinstance(store, MemoryStore)
    assert isinstance(store, harness.SearchableMemoryStore)

    async def run() -> None:
        first = await store.write("u1/MEMORY.md", "Alice prefers dark mode", expected_version=None)
        await store.write("u2/MEMORY.md", "Bob prefers dark mode", expected_version=None)
        await store.write("u1/deep/x.md", "Alice prefers dark mode", expected_version=None)
        then = memory.list(limit=1).records[0].updated_at
        await store.write("u1/MEMORY.md", "Alice prefers light mode", expected_version=first.version)
        with pytest.raises(MemoryConflictError):
            await store.delete("u1/MEMORY.md", expected_version=first.version)
        bounds = {"limit": 5, "max_files": 10, "max_chars": 30, "max_file_chars": 100}
        found = await store.search("u1/", "which theme does she like?", **bounds)
        assert [match.path for match in found.matches] == ["u1/MEMORY.md"]
        assert sum(len(match.path.removeprefix("u1/") + match.snippet) for match in found.matches) <= 30
        past = PerdureMemoryStore(memory, known_at=then)
        assert (await past.read("u1/MEMORY.md", max_chars=100)).content == "Alice prefers dark mode"
        with pytest.raises(InvalidInput):
            await past.delete("u1/MEMORY.md", expected_version=first.version, operation=MemoryOperation("o", "f"))

    asyncio.run(run())
    memory.undo(session="monday")
    assert asyncio.run(store.list_paths(limit=9)) == []


def test_an_operation_is_known_although_its_receipt_was_not_written(
    file_memory: Memory, monkeypatch: pytest.MonkeyPatch
):
    store = PerdureMemoryStore(file_memory)
    write, remove = MemoryOperation("o1", "f"), MemoryOperation("o2", "f")

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    async def run() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(store, "_kept", dies)
            with pytest.raises(KeyboardInterrupt):
                await store.write("a.md", "one", expected_version=None, operation=write)
        again = await store.write("a.md", "one", expected_version=None, operation=write)
        assert (again.replayed, again.existed, again.version) == (True, False, "1")
        with monkeypatch.context() as patch:
            patch.setattr(store, "_kept", dies)
            with pytest.raises(KeyboardInterrupt):
                await store.delete("a.md", expected_version="1", operation=remove)
        gone = await store.delete("a.md", expected_version="1", operation=remove)
        assert (gone.replayed, gone.existed, gone.version) == (True, True, None)

    asyncio.run(run())


def test_metadata_belongs_to_one_write(file_memory: Memory):
    store = PerdureMemoryStore(file_memory)

    async def run() -> None:
        done = await store.write_with_metadata("a.md", "one", expected_version=None, metadata={"who": "Ada"})
        assert (await store.read("a.md", max_chars=9)).metadata == {"who": "Ada"}
        await store.write("a.md", "two", expected_version=done.version)
        assert (await store.read("a.md", max_chars=9)).metadata is None
        for wrong in ({"who": 1}, {"who": "a\x00"}, {"who": "x" * 5000}):
            with pytest.raises((TypeError, ValueError)):
                await store.write_with_metadata("b.md", "x", expected_version=None, metadata=wrong)
        with pytest.raises(ValueError, match="invalid memory path"):
            await store.read("../a", max_chars=9)

    asyncio.run(run())

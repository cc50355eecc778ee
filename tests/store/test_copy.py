"""`perdure copy`: a store moves with its whole history, goes on where it stopped, and comes back the same."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cli.user import User
from clocks import NOON, HandClock

from perdure import Memory
from perdure.buggify import arm, disarm
from perdure.errors import Conflict
from perdure.ids import content_hash
from perdure.model import STATES, Filter, Identity
from perdure.services import copy_stores
from perdure.store.paging import records
from perdure.store.port import LogFilter
from perdure.testing.embedder import WordEmbedder
from perdure.testing.records import problems, read_once

if TYPE_CHECKING:
    from postgres_stores import EmptyStores


@pytest.fixture
def lived(tmp_path: Path) -> Path:
    """A store with everything in it that a life brings."""
    path = tmp_path / "lived.db"
    clock, source = HandClock(NOON), random.Random(3)
    with Memory(path, embedder=WordEmbedder(), clock=clock, actor="ada") as memory:
        for n in range(60):
            clock.now += timedelta(minutes=7)
            number = memory.remember(f"memory {n} about tea and {n % 7}", tags=[f"t{n % 3}"]).record.number
            if n % 5 == 0:
                memory.update(number, text=f"corrected {n} about milk")
            if n % 11 == 0:
                memory.forget(number)
            if n == 20:
                memory.checkpoint("before")
            if n == 40:
                batch = memory.update(number, importance=0.9).batch
                memory.undo(batch)
        memory.upsert("person:ann", "Ann lives in Osaka")
        memory.upsert("person:ann", "Ann lives in Kyoto")
        memory.erase(7, confirm=True)
        memory.capacity(max_items=500)
        for _ in range(5):
            memory.recall(f"tea {source.randrange(7)}")
    with Memory(path, embedder=WordEmbedder(), clock=clock, actor="ada", namespace="other") as memory:
        memory.remember("elsewhere")
    return path


def copied(source: str | Path, goal: str | Path, *more: str, code: int = 0) -> Any:
    answer = User({})("copy", "--from", str(source), "--to", str(goal), "--json", *more)
    assert answer.code == code, answer.out + answer.err
    return json.loads(answer.out or answer.err)


def told(store: str | Path) -> dict[str, Any]:
    """Everything that may be asked of a store."""
    with Memory(store, embedder=WordEmbedder(), actor="ada") as memory:
        inner = memory._services.store
        assert problems(inner) == []
        answer: dict[str, Any] = {"namespaces": inner.namespaces(), "generations": inner.generations()}
        for name in inner.namespaces():
            reader = read_once(inner, name)
            kept = list(records(inner, name, Filter(states=STATES)))
            # A process may still count the use of what it erased a moment ago; no file has it.
            numbers = {record.number for record in kept}
            answer[name] = (
                kept,
                reader.log(LogFilter(), limit=10_000),
                inner.checkpoints(name),
                reader.load(),
                sorted(count for count in inner.use_counts(name) if count[0] in numbers),
                reader.keyword_search(["tea", "milk"], Filter(), NOON, 20).best,
            )
        answer["history"] = memory.history(1)
        answer["then"] = [hit.record.number for hit in memory.recall("tea", known_at=NOON + timedelta(hours=1)).hits]
    return answer


def test_a_store_goes_to_a_database_and_comes_back_the_same(lived: Path, postgres_stores: EmptyStores, tmp_path: Path):
    url, back = postgres_stores.new_url(), tmp_path / "back.db"
    dry = copied(lived, url, "--dry-run")
    first = copied(lived, url)
    assert [each["new_lines"] for each in dry["namespaces"]] == [each["new_lines"] for each in first["namespaces"]]
    assert sum(each["new_lines"] for each in first["namespaces"]) > 70
    copied(url, back)
    here = told(lived)
    assert told(url) == here
    assert told(back) == here
    for source, goal in ((lived, url), (url, back)):
        assert {each["new_lines"] for each in copied(source, goal)["namespaces"]} == {0}


def test_what_was_forgotten_stays_forgotten_after_a_move(lived: Path, postgres_stores: EmptyStores, tmp_path: Path):
    url, back = postgres_stores.new_url(), tmp_path / "back.db"
    copied(lived, url)
    with Memory(url, embedder="none") as memory:
        in_namespace = memory.remember("a secret of the database")
        memory.forget(in_namespace.record.number)
    copied(url, back)
    for store in (url, back):
        with Memory(store, embedder="none") as memory:
            reader = read_once(memory._services.store)
            for text in ("corrected 0 about milk", "a secret of the database"):
                assert reader.tombstone_since(Identity(content_hash(text))) is not None, text


def test_a_copy_goes_on_where_it_stopped_and_carries_what_was_erased_since(lived: Path, postgres_stores: EmptyStores):
    url = postgres_stores.new_url()
    copied(lived, url)
    with Memory(lived, embedder=WordEmbedder(), actor="ada") as memory:
        memory.remember("said since")
        memory.erase(3, confirm=True)
        memory.update(4, text="said differently since")
    again = copied(lived, url)
    assert 3 <= sum(each["new_lines"] for each in again["namespaces"]) <= 4
    assert told(url) == told(lived)


def test_what_was_written_on_both_sides_is_a_conflict(lived: Path, postgres_stores: EmptyStores):
    url = postgres_stores.new_url()
    copied(lived, url)
    for store in (lived, url):
        with Memory(store, embedder="none", actor="ada") as memory:
            memory.remember("said on both sides")
    before = told(url)
    answer = copied(lived, url, code=Conflict.exit_code)
    assert answer["code"] == "conflict"
    assert told(url) == before


@pytest.fixture
def dying() -> Iterator[None]:
    yield
    disarm()


def test_a_copy_that_dies_leaves_each_namespace_whole_or_absent(lived: Path, postgres_stores: EmptyStores, dying: None):
    url = postgres_stores.new_url()
    for at in (1, 30, 75):
        passed = 0

        def die(label: str, at: int = at) -> None:
            nonlocal passed
            passed += label == "put: revision written"
            if passed == at:
                raise KeyboardInterrupt

        arm(die)
        with pytest.raises(KeyboardInterrupt):
            copy_stores(str(lived), url, None, lambda name, lines, vectors: None)
        disarm()
        with Memory(url, embedder="none") as memory:
            assert memory._services.store.namespaces() == []
    copied(lived, url)
    assert told(url) == told(lived)

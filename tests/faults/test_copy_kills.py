"""A copy that is killed leaves every namespace whole or absent, and the next one goes on: into a database, and back."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from store.children import Child

from perdure import Memory
from perdure.buggify import arm
from perdure.services import copy_stores, open_store
from perdure.settings import load
from perdure.store.transfer import transfer_of
from perdure.testing.embedder import WordEmbedder
from perdure.testing.records import problems

if TYPE_CHECKING:
    from postgres_stores import EmptyStores

NAMESPACES = ("ada", "ben", "cleo", "dan", "eve")
MEMORIES = int(os.environ.get("PERDURE_COPIED", "120"))
KILLS = int(os.environ.get("PERDURE_COPY_KILLS", "3"))


@pytest.fixture
def lived(tmp_path: Path) -> str:
    """A store with corrections, what was forgotten and erased, an undone change and a checkpoint in each namespace."""
    path, file = tmp_path / "lived.db", tmp_path / "texts.jsonl"
    for place, name in enumerate(NAMESPACES):
        # The first namespaces are small, so that a copy that dies often gets on.
        count = MEMORIES * (place + 1) // 15
        texts = (json.dumps({"text": f"memory {n} of {name} about tea and {n % 7}"}) for n in range(count))
        file.write_text("\n".join(texts) + "\n", encoding="utf-8")
        with Memory(path, embedder=WordEmbedder(), actor=name, namespace=name) as memory:
            memory.import_(file)
            memory.work()
            memory.checkpoint("before")
            for n in range(1, count, 10):
                memory.update(n, text=f"corrected {n} of {name} about milk")
            for n in range(2, count, 50):
                memory.forget(n)
            memory.undo(memory.update(3, importance=0.9).batch)
            memory.erase(4, confirm=True)
    return str(path)


def nobody_is_told(name: str, lines: int, vectors: int) -> None:
    del name, lines, vectors


def ends(store: str) -> dict[str, Any]:
    """The last line of each namespace's log, with its hash."""
    with closing(open_store(load(store=store))) as opened:
        return {name: transfer_of(opened).log_end(name) for name in opened.namespaces()}


def undone(memory: Memory) -> str:
    """What the first memory says when its correction is taken back."""
    memory.undo(memory.history(1)[-1].change.batch)
    return memory.get(1).text


def answers(store: str) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for name in NAMESPACES:
        with Memory(store, embedder=WordEmbedder(), actor="reader", namespace=name) as memory:
            assert problems(memory._services.store) == []
            first = memory.get(1)
            told[name] = (
                memory.history(1),
                [hit.record.number for hit in memory.recall("corrected milk", known_at=first.created_at)],
                [(hit.record.number, hit.relevance) for hit in memory.recall("tea and milk", use_decay=False)],
                memory.checkpoints(),
                [(one.states, one.categories) for one in memory.stats().namespaces],
                undone(memory),
            )
    return told


def die_at(place: int) -> None:
    passed = 0

    def die(_: str) -> None:
        nonlocal passed
        passed += 1
        if passed == place:
            os.kill(os.getpid(), signal.SIGKILL)

    arm(die)


def copy_with_kills(source: str, goal: str, seed: int) -> int:
    """Copies, killed again and again at any moment. How often a namespace had arrived in between."""
    whole, chance, arrived = ends(source), random.Random(seed), 0

    def job(place: int) -> int:
        die_at(place)
        return len(copy_stores(source, goal, None, nobody_is_told))

    for _ in range(KILLS):
        there = ends(goal) if goal.startswith("postgresql:") or Path(goal).exists() else {}
        assert {name: whole[name] for name in there} == there
        arrived += len(there)
        left = sum(end.seq for name, end in whole.items() if name not in there)
        if not left:
            break
        place = chance.randint(1, 2 * left)
        _, status = Child(lambda place=place: job(place)).result()
        assert os.WIFSIGNALED(status) == (status != 0)
    copy_stores(source, goal, None, nobody_is_told)
    assert ends(goal) == whole
    assert [one.new_lines for one in copy_stores(source, goal, None, nobody_is_told)] == [0] * len(NAMESPACES)
    return arrived


@pytest.mark.soak
def test_a_copy_that_is_killed_goes_on_and_comes_back_the_same(
    lived: str, postgres_stores: EmptyStores, tmp_path: Path
) -> None:
    seed = int(os.environ.get("PERDURE_SEED", "3"))
    url, back = postgres_stores.new_url(), str(tmp_path / "back.db")
    arrived = copy_with_kills(lived, url, seed) + copy_with_kills(url, back, seed + 1)
    expected = answers(lived)
    assert answers(url) == expected
    assert answers(back) == expected
    sys.stdout.write(f"{MEMORIES} memories, {KILLS} kills each way, {arrived} namespaces met whole (seed {seed})\n")

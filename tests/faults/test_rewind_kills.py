"""Killed inside undo, a checkpoint or its restore: the old state or the new one, never a mix, and it can be done again.

Each kill is a process of its own, on a copy of one store; what should come out is what an undisturbed process makes.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from faults.writers import start
from rewinding import States, problems, states

from perdure import Memory
from perdure.testing.buggify import buggified
from perdure.testing.embedder import WordEmbedder

NIGHT = "night"
INSIDE = [
    ("rewind: planned", 1),
    ("rewind: keys released", 1),
    *(("put: memory written", nth) for nth in (1, 2, 7)),
    *(("put: revision written", nth) for nth in (1, 4, 9)),
    ("rewind: half written", 1),
    ("rewind: written", 1),
    ("before commit", 1),
]
AFTER = [("after commit", 1)]
ACTIONS: dict[str, Callable[[Memory], object]] = {
    "undo": lambda memory: memory.undo(session=NIGHT),
    "restore": lambda memory: memory.restore_checkpoint("evening", clear_existing=True),
    "redo": lambda memory: memory.undo(memory.log(operation="rewind", limit=1)[0].change.batch),
}


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store on which much was done since the evening: keys that changed places, words, births, deaths."""
    home = tmp_path_factory.mktemp("night")
    with Memory(home / "m.db", embedder=WordEmbedder(), actor="ada") as memory:
        for n in range(6):
            memory.remember(f"note {n} of the evening", key=f"note:{n}", tags=["evening"])
        memory.checkpoint("evening")
    with Memory(home / "m.db", embedder=WordEmbedder(), actor="bob", session=NIGHT) as memory:
        memory.update(1, key=None)
        memory.update(2, key="note:0")
        memory.update(1, key="note:1", text="rewritten at night")
        memory.forget([3, 4], confirm=True)
        memory.update(5, add_tags=["night"], metadata={"by": "bob"})
        for n in range(4):
            memory.remember(f"invented {n} at night")
    return home


@pytest.fixture(scope="module")
def morning(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with the evening restored, for whoever wants to take that back."""
    home = copy(night, tmp_path_factory.mktemp("morning"))
    with opened(home) as memory:
        ACTIONS["restore"](memory)
    return home


def copy(home: Path, target: Path) -> Path:
    return Path(shutil.copytree(home, target / "store"))


def opened(home: Path) -> Memory:
    return Memory(home / "m.db", embedder=WordEmbedder(), actor="ada")


def killed(home: Path, action: Callable[[Memory], object], point: str, nth: int) -> None:
    def job(_: Callable[[str], None]) -> None:
        with opened(home) as memory, buggified(point, "kill", nth):
            action(memory)

    _, status = start(job).finish()
    assert os.WIFSIGNALED(status), point
    assert os.WTERMSIG(status) == signal.SIGKILL


def seen(home: Path) -> tuple[States, int]:
    with opened(home) as memory:
        assert problems(memory) == []
        return states(memory), memory._services.store.position("default", None).seq


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize(("point", "nth"), [*INSIDE, *AFTER], ids=str)
def test_a_rewind_that_was_killed_happened_or_did_not(
    night: Path, morning: Path, tmp_path: Path, action: str, point: str, nth: int
):
    home = copy(morning if action == "redo" else night, tmp_path)
    undisturbed = copy(home, tmp_path / "undisturbed")
    old = seen(home)
    with opened(undisturbed) as memory:
        ACTIONS[action](memory)
    new = seen(undisturbed)
    assert old != new
    killed(home, ACTIONS[action], point, nth)
    assert seen(home) == (new if (point, nth) in AFTER else old)
    if (point, nth) not in AFTER:
        with opened(home) as memory:
            ACTIONS[action](memory)
        assert seen(home) == new


@pytest.mark.parametrize("point", ["checkpoint: before it is written", "checkpoint: before commit", "before commit"])
def test_a_checkpoint_that_was_killed_is_not_there_and_its_name_is_free(night: Path, tmp_path: Path, point: str):
    home = copy(night, tmp_path)
    old = seen(home)
    killed(home, lambda memory: memory.checkpoint("dawn"), point, 1)
    with opened(home) as memory:
        assert [one.name for one in memory.checkpoints()] == ["evening"]
        memory.checkpoint("dawn")
    assert seen(home) == old


@pytest.mark.parametrize("point", ["after commit", "checkpoint: written"])
def test_a_checkpoint_that_was_written_before_the_kill_can_be_restored(night: Path, tmp_path: Path, point: str):
    home = copy(night, tmp_path)
    old, _ = seen(home)
    killed(home, lambda memory: memory.checkpoint("dawn"), point, 1)
    with opened(home) as memory:
        memory.forget(1)
        assert memory.restore_checkpoint("dawn").reverted == (1,)
    assert seen(home)[0] == old


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_restore_of_everything_that_was_killed_in_the_second_namespace_has_not_begun_in_the_first(
    night: Path, tmp_path: Path, nth: int
):
    home = copy(night, tmp_path)
    with opened(home) as memory:
        for name in ("a", "z"):
            memory.namespace(name).remember("kept")
        memory.checkpoint("all", all_namespaces=True)
        kept = {name: states(memory.namespace(name)) for name in ("a", "default", "z")}
        for name in kept:
            memory.namespace(name).update(1, text="changed")
        changed = {name: states(memory.namespace(name)) for name in kept}

    def restore(memory: Memory) -> object:
        return memory.restore_checkpoint("all", clear_existing=True)

    killed(home, restore, "rewind: written", nth)
    with opened(home) as memory:
        assert {name: states(memory.namespace(name)) for name in kept} == changed
        restore(memory)
        assert {name: states(memory.namespace(name)) for name in kept} == kept
        assert problems(memory) == []

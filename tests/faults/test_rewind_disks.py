"""The disk refuses at every operation of an undo, a checkpoint or its restore: the old state or the new one."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest
from rewinding import States, problems, states
from store.disks import FailingDisk
from store.test_io_errors import copy

from perdure import Memory
from perdure.errors import StoreError
from perdure.store.sqlite.store import SqliteStore

ACTIONS: dict[str, Callable[[Memory], object]] = {
    "undo": lambda memory: memory.undo(session="night"),
    "restore": lambda memory: memory.restore_checkpoint("evening", clear_existing=True),
    "checkpoint": lambda memory: memory.checkpoint("dawn"),
}


@pytest.fixture(scope="module")
def disk() -> Generator[FailingDisk]:
    disk = FailingDisk("refusing")
    yield disk
    disk.unregister()


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("night") / "m.db"
    with Memory(path, embedder="none", session="evening") as memory:
        memory.remember("one", key="a:x")
        memory.remember("two", key="a:y")
        memory.checkpoint("evening")
    with Memory(path, embedder="none", session="night") as memory:
        memory.update(1, key=None, text="three")
        memory.update(2, key="a:x")
        memory.remember("four")
    return path


@contextmanager
def opened(path: Path, vfs: str | None = None) -> Generator[Memory]:
    with closing(SqliteStore.open(path, vfs=vfs)) as store, Memory(store, embedder="none") as memory:
        yield memory


def seen(memory: Memory) -> tuple[States, list[str]]:
    return states(memory), [one.name for one in memory.checkpoints()]


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("error", [apsw.FullError, apsw.IOError])
def test_a_disk_that_refuses_leaves_the_old_state_or_the_new_one(
    tmp_path: Path, night: Path, disk: FailingDisk, action: str, error: type[Exception]
):
    with opened(copy(night, tmp_path / "undisturbed.db")) as memory:
        old = seen(memory)
        ACTIONS[action](memory)
        new = seen(memory)
    for nth in range(1, 1000):
        with opened(copy(night, tmp_path / f"{nth}.db"), disk.name) as memory:
            disk.arm(nth, error, persistent=nth % 2 == 0)
            refused = False
            try:
                ACTIONS[action](memory)
            except StoreError:
                refused = True
            reached = disk.disarm()
            assert refused <= reached
            assert seen(memory) == (old if refused else new)
            if refused:
                ACTIONS[action](memory)
                assert seen(memory) == new
            if nth % 5 == 0 or not reached:
                assert problems(memory) == []
        if not reached:
            assert nth > 5
            return
    pytest.fail("it never came to its end")

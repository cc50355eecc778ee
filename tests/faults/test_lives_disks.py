"""The disk refuses at every operation of whatever ends or changes a memory's life: the old state or the new one.

Undo, checkpoints and their return are in test_rewind_disks; plain writes, opening and closing in store/test_io_errors.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest
from clocks import START, Ticking
from faults.canaries import found_in
from rewinding import States, problems, states
from store.behind import behind
from store.damages import REPAIRED
from store.disks import FailingDisk
from store.test_io_errors import copy
from store.test_migrations import BACK

from perdure import Memory
from perdure.errors import StoreError, StoreFull
from perdure.store.sqlite.store import SqliteStore

ERRORS = pytest.mark.parametrize("error", [apsw.FullError, apsw.IOError])


@dataclass(frozen=True, slots=True)
class Action:
    """Several transactions may be done in part when the disk refuses a later one."""

    do: Callable[[Memory], object]
    least: int = 5
    several: bool = False


# What the memories say that one action erases.
CANARIES = ("bcdfghjklmnpqr", "stvwxzbdfhjlnq")
ACTIONS = {
    "remember": Action(lambda memory: memory.remember("Fay likes water", tags=["drink"])),
    "correct": Action(lambda memory: memory.update(2, text="memory number two")),
    "import": Action(lambda memory: memory.import_([{"text": f"imported {n}"} for n in range(3)])),
    "forget several": Action(lambda memory: memory.forget([1, 2, 3], confirm=True)),
    "erase": Action(lambda memory: memory.erase([1, 2], confirm=True), 20),
    "upsert a new one": Action(lambda memory: memory.upsert("person:eve", "Eve likes cider")),
    "upsert a change": Action(lambda memory: memory.upsert("person:ada", "Ada likes cocoa now")),
    "make room": Action(lambda memory: memory.namespace("small").remember("the newest of all")),
    "set limits": Action(lambda memory: memory.capacity(max_items=50, max_tokens=5000), 3),
    "expire": Action(lambda memory: memory.work(purge=True), several=True),
}


# `make soak` refuses every operation of all this both once and for good, with either error.
IN_FULL = int(os.environ.get("PERDURE_POINTS", "0"))


def lasting(nth: int, error: type[Exception]) -> tuple[bool, ...]:
    """Whether an operation is refused for good. In CI each is refused once with the one error, and for good with the
    other.
    """
    return (False, True) if IN_FULL else (bool(nth % 2) == (error is apsw.FullError),)


@pytest.fixture(scope="module")
def points() -> Generator[list[str]]:
    """The operations that were refused, each with what was done."""
    refused: list[str] = []
    yield refused
    sys.stdout.write(f"{len(refused)} operations refused by the disk: 0 lost, 0 half done, 0 erased bytes left\n")
    assert len(refused) >= IN_FULL


@pytest.fixture(scope="module")
def disk() -> Generator[FailingDisk]:
    disk = FailingDisk("unwilling")
    yield disk
    disk.unregister()


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("original") / "m.db"
    with Memory(path, embedder="none", clock=Ticking()) as memory:
        memory.remember(f"Ada likes tea {CANARIES[0]}", key="person:ada", tags=["drink"])
        for n in range(2, 6):
            memory.remember(
                f"memory number {n} {CANARIES[1] if n == 2 else ''}",
                tags=["kept"],
                expires_at="2026-03-15" if n > 3 else None,
            )
        small = memory.namespace("small")
        for n in range(3):
            small.remember(f"small thing {n}")
        small.capacity(max_items=3)
    return path


@contextmanager
def opened(path: Path, vfs: str | None = None) -> Generator[Memory]:
    clock = Ticking(START.replace(day=20))
    store = SqliteStore.open(path, vfs=vfs, clock=clock)
    with closing(store), Memory(store, embedder="none", clock=clock) as memory:
        yield memory


def seen(memory: Memory) -> object:
    """But for the times of the changes, which are later when it was tried twice."""
    small = memory.namespace("small")
    capacity = memory.capacity()
    return (
        [_timeless(each) for each in (states(memory), states(small))],
        (capacity.max_items, capacity.max_tokens, capacity.item_count, small.capacity().item_count),
        [hit.record.number for hit in memory.recall("likes memory number", limit=9)],
    )


def _timeless(found: States) -> object:
    return {number: (record.text, record.state, record.version, record.tags) for number, record in found.items()}


@pytest.mark.soak
@ERRORS
@pytest.mark.parametrize("action", ACTIONS)
def test_a_disk_that_refuses_leaves_the_old_state_or_the_new_one(
    tmp_path: Path, original: Path, disk: FailingDisk, points: list[str], action: str, error: type[Exception]
):
    expected = StoreFull if error is apsw.FullError else StoreError
    with opened(copy(original, tmp_path / "undisturbed.db")) as memory:
        old = seen(memory)
        ACTIONS[action].do(memory)
        new = seen(memory)
    assert old != new
    for nth in range(1, 1000):
        for persistent in lasting(nth, error):
            folder = tmp_path / f"{nth} {persistent}"
            folder.mkdir()
            with opened(copy(original, folder / "m.db"), disk.name) as memory:
                disk.arm(nth, error, persistent=persistent)
                refused = None
                try:
                    ACTIONS[action].do(memory)
                except StoreError as said:
                    refused = said
                reached = disk.disarm()
                points += [action] if reached else []
                assert refused is None or (reached and isinstance(refused, expected))
                allowed = [old, new] if refused and ACTIONS[action].several else [old if refused else new]
                assert seen(memory) in allowed
                if refused:
                    ACTIONS[action].do(memory)
                    assert seen(memory) == new
                if nth % 10 == 0 or not reached:
                    assert problems(memory) == []
            if not reached or (action == "erase" and (IN_FULL or nth % 10 == 0)):
                assert bool(found_in(folder, list(CANARIES))) == (action != "erase")
            if not reached:
                assert nth > ACTIONS[action].least
                return
    pytest.fail("it never came to its end")


@ERRORS
def test_a_store_that_cannot_be_brought_up_to_date_is_as_it_was_or_is_new(
    tmp_path: Path, original: Path, disk: FailingDisk, error: type[Exception]
):
    old = copy(original, tmp_path / "old.db")
    with opened(old) as memory:
        held = seen(memory)
    with behind(old) as raw:
        raw.execute(BACK[5] + BACK[4] + BACK[1]).fetchall()
    for nth in range(1, 1000):
        path = copy(old, tmp_path / f"{nth}.db")
        disk.arm(nth, error, persistent=lasting(nth, error)[-1])
        refused = False
        try:
            SqliteStore.open(path, vfs=disk.name).close()
        except StoreError:
            refused = True
        reached = disk.disarm()
        assert refused <= reached
        if nth % 5 == 0 or not reached:
            with opened(path) as memory:
                assert seen(memory) == held
                assert problems(memory) == []
        if not reached:
            assert nth > 20
            return
    pytest.fail("it never came to its end")


@ERRORS
def test_a_repair_that_the_disk_refuses_has_changed_nothing(
    tmp_path: Path, original: Path, disk: FailingDisk, error: type[Exception]
):
    with opened(original) as memory:
        held = seen(memory)
    damaged = copy(original, tmp_path / "damaged.db")
    for damage in ("the table of the entries is gone", "two keys are swapped", "an index is gone"):
        REPAIRED[damage].do(damaged)
    for nth in range(1, 1000):
        with opened(copy(damaged, tmp_path / f"{nth}.db"), disk.name) as memory:
            disk.arm(nth, error, persistent=lasting(nth, error)[-1])
            with suppress(StoreError):
                memory.doctor(repair=True)
            if not disk.disarm():
                assert nth > 20
                assert problems(memory) == []
                assert seen(memory) == held
                return
            if nth % 10 == 0:
                memory.doctor(repair=True)
                assert problems(memory) == []
                assert seen(memory) == held
    pytest.fail("it never came to its end")

"""What was used is known at once in the process, and within two seconds to every other."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from weakref import ref

import pytest
from clocks import HandClock
from store.children import give_away, in_child, unprivileged

from perdure import Memory, SemanticMemoryStore
from perdure.errors import StoreError, StoreFull
from perdure.settings import load
from perdure.store import use
from perdure.store.sqlite import use as sqlite_use
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.embedder import WordEmbedder

# Newer interpreters warn of what is tested here: a fork while other threads run.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

# A child process that uses a memory and then does nothing, until its use is on disk; there it is killed.
KILLED = """
import sys
from perdure import Memory
from perdure.testing.buggify import buggified
memory = Memory(sys.argv[1], embedder="none")
with buggified("use: written", "kill"):
    memory.recall("dark mode")
    memory.get(1)
    sys.stdin.read()
"""
# One that ends without closing its memory.
LEFT_OPEN = """
import sys
from perdure import Memory
memory = Memory(sys.argv[1], embedder="none")
memory.recall("dark mode")
memory.get(1)
"""


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent.db"


@pytest.fixture
def memory(path: Path, clock: HandClock) -> Iterator[Memory]:
    with Memory(path, embedder=WordEmbedder(), clock=clock) as opened:
        yield opened


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use is written as soon as the thread comes to it."""
    monkeypatch.setattr(use, "DELAY", 0.0)
    monkeypatch.setattr(use, "LONGEST_DELAY", 0.0)


def counts(memory: Memory, number: int = 1) -> tuple[int, int]:
    """How often it was recalled and accessed, without using it."""
    (record,) = (record for record in memory.list(limit=100) if record.number == number)
    return record.recall_count, record.access_count


def on_disk(path: Path, number: int = 1) -> tuple[int, int]:
    """The same as another process sees it. A forked child knows nothing of what its parent has not written."""

    def look() -> tuple[int, int]:
        with Memory(path, embedder="none") as memory:
            return counts(memory, number)

    return in_child(look)


def wait_until_written() -> None:
    """Until the threads that write use have nothing left to do."""
    for thread in threading.enumerate():
        if thread.name == use.THREAD:
            thread.join(30)
            assert not thread.is_alive()


# -- in the process ----------------------------------------------------------------------------------------------------


def test_every_reader_of_the_process_sees_a_use_at_once(memory: Memory, path: Path, clock: HandClock):
    memory.remember("Alice prefers dark mode", tier="normal")
    used = clock.forward(days=50)
    for _ in range(3):
        memory.recall("dark mode")
    memory.get(1)
    with Memory(path, embedder=WordEmbedder(), clock=clock) as other:
        for reader in (memory, memory.namespace("default"), other):
            (listed,) = reader.list()
            assert (listed.recall_count, listed.recalled_at) == (3, used)
            assert (listed.access_count, listed.accessed_at) == (1, used)
            assert reader.capacity().eviction_order[0].last_used == used
        for recalls, reader in enumerate((memory, other), start=3):
            (hit,) = reader.recall("dark mode", recipe="tiered")
            assert (hit.explain["decay"].raw, hit.record.recall_count) == (0, recalls)
        (hit,) = other.recall("dark mode", recipe="learnings")
        assert (hit.explain["recalls"].raw, hit.record.recall_count) == (5, 5)
    assert counts(memory) == (6, 1)


def test_the_present_is_counted_and_the_past_is_not(memory: Memory, clock: HandClock):
    memory.remember("Alice prefers dark mode")
    then = clock.forward(days=1)
    clock.forward(days=1)
    memory.recall("dark mode", known_at=then)
    memory.get(1, known_at=then)
    assert counts(memory) == (0, 0)


def test_of_one_answer_the_best_is_the_most_recently_used(memory: Memory, clock: HandClock):
    for text in ("tea", "tea with milk", "tea with milk and honey"):
        memory.remember(text)
    now = clock.forward(hours=1)
    answer = [hit.record.number for hit in memory.recall("tea with milk and honey", min_relevance=0)]
    assert answer == [3, 2, 1]
    assert [one.number for one in memory.capacity().eviction_order] == [1, 2, 3]
    assert memory.capacity().eviction_order[-1].last_used == now


def test_what_was_just_found_stays_when_room_is_made_by_meaning(path: Path, clock: HandClock):
    with SemanticMemoryStore(path, max_items=2, clock=clock) as store:
        store.upsert("cat:1", "My cat is called Ada")
        clock.forward(hours=1)
        store.upsert("db:1", "We use PostgreSQL 16")
        clock.forward(hours=1)
        store.remember("what is the cat called?")
        clock.forward(hours=1)
        assert [item.key for item in store.upsert("tea:1", "Bob drinks tea").evicted] == ["db:1"]


@pytest.mark.parametrize("flushed", [False, True])
def test_the_next_write_evicts_what_capacity_names_next(path: Path, clock: HandClock, flushed: bool):
    with Memory(path, embedder="none", clock=clock) as memory:
        memory.capacity(max_items=30)
        for number in range(30):
            clock.forward(minutes=1)
            memory.remember(f"note {number}")
        for number in range(1, 30, 2):
            clock.forward(minutes=1)
            memory.get(number)
        if flushed:
            memory.work()
        for number in range(25):
            clock.forward(minutes=1)
            memory.recall(f"note {number}", limit=3)
            following = memory.capacity().eviction_order[0].number
            (evicted,) = memory.remember(f"another {number}").evicted
            assert evicted.number == following


def test_the_oldest_to_forget_is_the_one_that_nobody_used(memory: Memory, clock: HandClock):
    for text in ("tea", "coffee", "water"):
        memory.remember(text)
        clock.forward(hours=1)
    memory.get(1)
    memory.recall("coffee", limit=1)
    assert [record.text for record in memory.forget("oldest").records] == ["water"]


def test_counts_never_fall_and_none_is_lost_while_they_are_written(memory: Memory, at_once: None):
    memory.remember("Alice prefers dark mode")
    rounds, seen, done = 300, [0], threading.Event()

    def watch() -> None:
        while not done.is_set():
            seen.append(counts(memory)[0])

    watcher = threading.Thread(target=watch)
    watcher.start()
    for _ in range(rounds):
        memory.recall("dark mode")
    done.set()
    watcher.join()
    wait_until_written()
    assert seen == sorted(seen)
    assert counts(memory) == (rounds, 0)


# -- on disk -----------------------------------------------------------------------------------------------------------


def test_a_use_is_written_though_nothing_follows_and_a_kill_does_not_take_it_back(memory: Memory, path: Path):
    memory.remember("Alice prefers dark mode")
    memory.close()
    with subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdin=subprocess.PIPE) as child:
        assert child.wait(60) == -9
    assert on_disk(path) == (1, 1)
    # Two seconds are promised, and no test may look at a clock.
    assert use.DELAY + use.PATIENCE < 2


def test_another_process_evicts_what_nobody_used(memory: Memory, path: Path, clock: HandClock, at_once: None):
    for key in ("k:a", "k:b"):
        memory.upsert(key, f"the value of {key}")
        clock.forward(hours=1)
    for _ in range(100):
        memory.get("k:a")
    wait_until_written()
    clock.forward(hours=1)

    def fill() -> list[str | None]:
        with Memory(path, embedder="none", clock=clock) as other:
            other.capacity(max_items=2)
            return [record.key for record in other.upsert("k:c", "one too many").evicted]

    assert in_child(fill) == ["k:b"]


def test_a_process_that_ends_without_closing_writes_what_it_used_and_is_silent(memory: Memory, path: Path):
    memory.remember("Alice prefers dark mode")
    memory.close()
    child = subprocess.run(
        [sys.executable, "-X", "dev", "-c", LEFT_OPEN, str(path)], capture_output=True, encoding="utf-8", check=False
    )
    assert (child.returncode, child.stdout, child.stderr) == (0, "", "")
    assert on_disk(path) == (1, 1)


def test_a_memory_that_nobody_holds_any_more_is_written_and_freed(path: Path, at_once: None):
    memory = Memory(path, embedder="none")
    memory.remember("Alice prefers dark mode")
    memory.recall("dark mode")
    services = ref(memory._services)
    del memory
    wait_until_written()
    gc.collect()
    assert services() is None
    assert on_disk(path) == (1, 0)


def test_closing_writes_what_was_used_and_ends_the_thread(memory: Memory, path: Path):
    memory.remember("Alice prefers dark mode")
    memory.recall("dark mode")
    memory.close()
    assert [thread for thread in threading.enumerate() if thread.name == use.THREAD] == []
    assert on_disk(path) == (1, 0)


def test_a_reader_does_not_wait_for_a_writer_and_its_use_is_written_afterwards(
    memory: Memory, path: Path, monkeypatch: pytest.MonkeyPatch, at_once: None
):
    monkeypatch.setattr(use, "PATIENCE", 0.01)
    memory.remember("Alice prefers dark mode")
    failed = threading.Event()
    flush = use.UseWriter.flush

    def noticing(writer: use.UseWriter, *, patience: float) -> None:
        try:
            flush(writer, patience=patience)
        except StoreError:
            failed.set()
            raise

    monkeypatch.setattr(use.UseWriter, "flush", noticing)
    with closing(SqliteStore.open(path)) as other, other.write("default"):
        assert len(memory.recall("dark mode")) == 1
        assert failed.wait(30)
        assert counts(memory) == (1, 0)
        assert len(memory.recall("dark mode")) == 1
    wait_until_written()
    assert on_disk(path) == (2, 0)


def test_a_full_disk_keeps_the_counts(memory: Memory, path: Path, monkeypatch: pytest.MonkeyPatch):
    memory.remember("Alice prefers dark mode")
    memory.recall("dark mode")
    with monkeypatch.context() as patch:
        patch.setattr(sqlite_use, "write_counts", full)
        memory.work()
        assert counts(memory) == (1, 0)
        assert len(memory.recall("dark mode")) == 1
    memory.work()
    assert counts(memory) == on_disk(path) == (2, 0)


def full(*_: object) -> None:
    raise StoreFull


def test_a_store_that_cannot_be_written_counts_for_its_own_readers(at_once: None):
    # Outside pytest's own directories, which only root may enter.
    with TemporaryDirectory(prefix="perdure-test-") as directory:
        commons = Path(directory)
        commons.chmod(0o755)
        read_only_use(commons)


def read_only_use(commons: Path) -> None:
    path, settings = commons / "memory.db", load(embedder="none")
    with Memory(path, settings=settings) as memory:
        memory.remember("Alice prefers dark mode")
    path.chmod(0o400)
    give_away(path, commons)

    def read() -> object:
        with Memory(path, settings=settings) as memory:
            memory.recall("dark mode")
            wait_until_written()
            memory.recall("dark mode")
            return counts(memory)

    assert unprivileged(read) == (2, 0)
    assert on_disk(path) == (0, 0)


# -- forks -------------------------------------------------------------------------------------------------------------


def test_a_child_does_not_write_the_use_of_its_parent_and_writes_its_own(memory: Memory, path: Path):
    memory.remember("Alice prefers dark mode")
    memory.recall("dark mode")

    def job() -> tuple[int, int]:
        memory.get(1)
        seen = counts(memory)
        memory.close()
        return seen

    assert in_child(job) == (0, 1)
    assert counts(memory) == (1, 1)
    memory.close()
    assert on_disk(path) == (1, 1)


def test_a_fork_never_meets_the_thread_inside_the_store(memory: Memory, at_once: None):
    memory.remember("Alice prefers dark mode")
    for _ in range(20):
        memory.recall("dark mode")
        assert in_child(lambda: len(memory.recall("dark mode"))) == 1
    wait_until_written()
    assert counts(memory)[0] >= 20


def test_a_store_in_memory_counts_without_a_thread(clock: HandClock):
    with Memory(":memory:", embedder="none", clock=clock) as memory:
        for number in range(70):
            memory.remember(f"note {number}")
        for _ in range(3):
            memory.recall("note", limit=70)
        assert [thread for thread in threading.enumerate() if thread.name == use.THREAD] == []
        assert {(record.recall_count, record.access_count) for record in memory.list(limit=100)} == {(3, 0)}

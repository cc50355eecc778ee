"""On PostgreSQL, acknowledged means on disk as well: clients and servers are killed, and connections are cut."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from faults.test_kills import check, kill_some
from faults.writers import sentence

from perdure import Memory
from perdure.errors import OutcomeUnknown, StoreRolledBack, StoreUnreachable
from perdure.location import locate
from perdure.settings import load
from perdure.store.port import LogFilter
from perdure.store.postgres import pool
from perdure.store.postgres.address import parse_address
from perdure.store.postgres.connection import Session
from perdure.store.postgres.log_notes import NOTES
from perdure.store.postgres.migrate import migrate
from perdure.testing.records import read_once

if TYPE_CHECKING:
    from postgres_server import PostgresServer
    from postgres_stores import EmptyStores

WRITERS = 4
GONE = (
    "Namespace 'default': lines 6 to 7 of the log are gone, although acknowledged: a server without the latest commits "
    "took over, or the database was restored."
)


@pytest.fixture(scope="module")
def durable() -> Iterator[PostgresServer]:
    """A server that writes to the disk what it acknowledges, and may be killed."""
    from postgres_server import PostgresServer

    server = PostgresServer(durable=True)
    location = locate(server.url())
    migrate(parse_address(location.address, location.shown))
    yield server
    server.remove()


def kills(share: int) -> int:
    return int(os.environ.get("PERDURE_KILLS", f"{share * 2}")) // 2


@pytest.mark.soak
def test_killed_clients_lose_nothing_that_was_acknowledged(postgres_stores: EmptyStores):
    count = kills(10)
    seed = int(os.environ.get("PERDURE_SEED", "7"))
    url: Any = postgres_stores.new_url()
    said = kill_some(url, seed, count)
    acknowledged = check(url, said)
    assert acknowledged > count
    sys.stdout.write(f"{count} clients killed, {acknowledged} acknowledged changes, 0 lost (seed {seed})\n")


class _Writer(threading.Thread):
    """Remembers one text after the other until it is told to stop, and notes what was acknowledged. What was not kept
    is said again; what nobody knows about is left.
    """

    def __init__(self, url: str, name: str) -> None:
        super().__init__()
        self._url = url
        self._name = name
        self.enough = threading.Event()
        self.acknowledged: dict[str, int] = {}
        self.unknown: set[str] = set()

    def run(self) -> None:
        with Memory(self._url, embedder="none", actor=self._name) as memory:
            n = 0
            while not self.enough.is_set():
                seed = f"{self._name}-{n}"
                try:
                    self.acknowledged[seed] = memory.remember(sentence(seed)).record.number
                except StoreRolledBack:
                    continue
                except StoreUnreachable:
                    # A read failed before the write began, or nobody knows: the text is not said again.
                    self.unknown.add(seed)
                n += 1


@pytest.mark.soak
def test_killed_servers_lose_nothing_that_was_acknowledged_and_keep_nothing_twice(durable: PostgresServer):
    count = kills(4)
    source = random.Random(int(os.environ.get("PERDURE_SEED", "7")))
    writers = [_Writer(durable.url(), f"w{n}") for n in range(WRITERS)]
    for writer in writers:
        writer.start()
    for _ in range(count):
        before = sum(len(writer.acknowledged) for writer in writers)
        while sum(len(writer.acknowledged) for writer in writers) < before + source.randint(5, 60):
            writers[0].enough.wait(0.01)
        (durable.kill if source.random() < 0.5 else durable.stop)()
        durable.start()
    for writer in writers:
        writer.enough.set()
    for writer in writers:
        writer.join()
    with Memory(durable.url(), embedder="none") as memory:
        assert [finding for finding in memory.doctor() if finding.level == "problem"] == []
        store = memory._services.store
        lines = read_once(store).log(LogFilter(), limit=1_000_000, newest=False)
    texts = [line.record.text.split(" ")[0] for line in lines if line.record]
    assert [line.seq for line in lines] == list(range(1, len(lines) + 1))
    assert len(texts) == len(set(texts)), "kept twice"
    found = {line.record.text.split(" ")[0]: line.number for line in lines if line.record}
    for writer in writers:
        assert {seed: found.get(seed) for seed in writer.acknowledged} == writer.acknowledged
    acknowledged = sum(len(writer.acknowledged) for writer in writers)
    sys.stdout.write(f"{count} servers killed, {acknowledged} acknowledged, 0 lost, 0 twice\n")


class _Cut:
    """Cuts the connection at the n-th statement, before it is sent or just after, when the server goes on with it."""

    def __init__(self, at: int, *, sent: bool) -> None:
        self._left = at
        self._sent = sent
        self.happened = False

    def __call__(self, act: Callable[..., Any]) -> Callable[..., Any]:
        def cut(session: Session, *arguments: Any, **options: Any) -> Any:
            self._left -= 1
            if self._left != 0:
                return act(session, *arguments, **options)
            self.happened = True
            if self._sent:
                with suppress(Exception):
                    act(session, *arguments, **options)
                    session._exchange()
            # The number stays taken until the driver closes it: free, it would be that of whatever is opened next.
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, session._connection.fileno())
            os.close(nothing)
            return act(session, *arguments, **options)

        return cut


@pytest.mark.parametrize("sent", [False, True])
def test_a_memory_is_kept_once_at_whatever_statement_the_connection_is_cut(
    postgres_stores: EmptyStores, monkeypatch: pytest.MonkeyPatch, sent: bool
):
    url = postgres_stores.new_url()
    kept = 0
    for at in range(1, 60):
        text = f"cut at {at}"
        cut = _Cut(at, sent=sent)
        with Memory(url, embedder="none") as memory, monkeypatch.context() as patch:
            memory.stats()
            patch.setattr(Session, "send", cut(Session.send))
            patch.setattr(Session, "send_numbered", cut(Session.send_numbered))
            assert memory.remember(text, tags=["a"]).outcome == "inserted"
            patch.undo()
            assert [record.text for record in memory.list(limit=99)].count(text) == 1
            kept += 1
            if not cut.happened:
                break
    else:
        pytest.fail("there are more statements than expected")
    with Memory(url, embedder="none") as memory:
        assert [finding for finding in memory.doctor() if finding.level == "problem"] == []
    assert kept > 10


def test_who_loses_the_server_waits_a_few_seconds_for_the_next_one(durable: PostgresServer):
    """Who never had it is told at once."""
    with Memory(durable.url(), embedder="none", namespace="waiting") as memory:
        memory.remember("tea before")
        durable.kill()
        with pytest.raises(StoreUnreachable):
            Memory(durable.url(), embedder="none")
        starting = threading.Thread(target=durable.start)
        starting.start()
        try:
            memory.remember("tea after")
        finally:
            starting.join()
        assert {hit.record.text for hit in memory.recall("tea").hits} == {"tea before", "tea after"}


class _Frozen:
    """Stops processes of the server, as on a machine whose disk does not answer."""

    def __init__(self) -> None:
        self._processes: list[int] = []

    def stop(self, session: Session) -> None:
        self._processes.append(session._connection.info.backend_pid)
        os.kill(self._processes[-1], signal.SIGSTOP)

    def stop_all_of(self, memory: Memory) -> None:
        store: Any = memory._services.store
        assert store._pool._idle
        for session in store._pool._idle:
            self.stop(session)

    def go_on(self) -> None:
        for process in self._processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Frozen]:
    monkeypatch.setattr(pool, "MOST_SILENT_SECONDS", 0.2)
    processes = _Frozen()
    yield processes
    processes.go_on()


def test_who_asks_a_server_that_says_nothing_asks_once_more_on_another_connection(
    postgres_stores: EmptyStores, frozen: _Frozen
):
    with Memory(settings=load(store=postgres_stores.new_url(), embedder="none", busy_seconds=0.2)) as memory:
        memory.remember("tea at noon")
        frozen.stop_all_of(memory)
        assert [hit.record.text for hit in memory.recall("tea").hits] == ["tea at noon"]
        frozen.stop_all_of(memory)
        assert memory.remember("milk at noon").outcome == "inserted"


@pytest.mark.parametrize("before", [[], ["tea at noon"]])
def test_nobody_waits_for_ever_for_a_server_that_stops_before_it_commits(
    postgres_stores: EmptyStores, monkeypatch: pytest.MonkeyPatch, frozen: _Frozen, before: list[str]
):
    """It has the lock of the namespace, or has just made it, and commits when it goes on: until then nobody can say."""
    sync = Session.sync

    def stop_and_sync(session: Session) -> None:
        patch.setattr(Session, "sync", sync)
        frozen.stop(session)
        sync(session)

    settings = load(store=postgres_stores.new_url(), embedder="none", busy_seconds=0.2)
    with Memory(settings=settings) as memory, monkeypatch.context() as patch:
        for text in before:
            memory.remember(text)
        patch.setattr(Session, "sync", stop_and_sync)
        with pytest.raises(OutcomeUnknown):
            memory.remember("milk at noon")
        patch.undo()
        frozen.go_on()
    monkeypatch.undo()
    with Memory(settings.store.address, embedder="none") as memory:
        memory.remember("water at noon")
        assert [record.text for record in memory.list(newest=False)] == [*before, "milk at noon", "water at noon"]


def live(memory: Memory, file: Path) -> list[tuple[str, int, int]]:
    """What the log says after a memory was changed in every way, a message stored and a file imported."""
    number = memory.remember("tea at noon", tags=["a"]).record.number
    memory.update(number, text="tea at one")
    memory.forget(number)
    memory.restore(number)
    memory.conversation("talk").add_message("user", "hello")
    memory.undo(memory.update(number, importance=0.9).batch)
    memory.import_(file)
    memory.erase(number, confirm=True)
    return [(line.change.operation, line.number, line.version) for line in reversed(memory.log(limit=99))]


@pytest.mark.parametrize("sent", [False, True])
def test_every_change_is_made_once_however_the_connection_is_cut(
    postgres_stores: EmptyStores, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sent: bool
):
    url, file = postgres_stores.new_url(), tmp_path / "texts.jsonl"
    file.write_text('{"text": "bread"}\n{"text": "butter"}\n', encoding="utf-8")
    with Memory(url, embedder="none", namespace="whole") as memory:
        whole = live(memory, file)
    assert [operation for operation, *_ in whole].count("undo") == 1
    at = 0
    for at in range(2, 999, int(os.environ.get("PERDURE_CUTS", "23"))):
        cut = _Cut(at, sent=sent)
        with Memory(url, embedder="none", namespace=f"cut at {at}") as memory, monkeypatch.context() as patch:
            memory.stats()
            patch.setattr(Session, "send", cut(Session.send))
            patch.setattr(Session, "send_numbered", cut(Session.send_numbered))
            assert live(memory, file) == whole
        if not cut.happened:
            break
    assert at > 50


def test_a_standby_that_lost_lines_answers_from_its_own_log():
    """After a failover the same positions are given out again, for something else: no index is fresh then."""
    from postgres_server import PostgresServer

    primary = PostgresServer(durable=True)
    standby: PostgresServer | None = None
    try:
        location = locate(primary.url())
        migrate(parse_address(location.address, location.shown))
        with Memory(primary.url(), embedder="none") as memory:
            for n in range(5):
                memory.remember(f"tea number {n}")
        standby = PostgresServer(durable=True, copy_of=primary)
        standby.stop()
        both = primary.url().replace(str(primary.folder), f"{primary.folder},{standby.folder}")
        with Memory(both, embedder="none") as memory:
            memory.remember("coffee that is lost")
            memory.remember("milk that is lost")
            assert [hit.record.text for hit in memory.recall("coffee").hits] == ["coffee that is lost"]
            primary.kill()
            standby.start()
            standby.promote()
            memory.remember("water that is kept")
            memory.remember("juice that is kept")
            assert [hit.record.text for hit in memory.recall("coffee milk").hits] == []
            assert [hit.record.text for hit in memory.recall("juice").hits] == ["juice that is kept"]
            assert [finding.sentence for finding in memory.doctor() if finding.level == "problem"] == [GONE]
        # Another process on the machine knows it as well, however much is written meanwhile.
        with Memory(both, embedder="none") as memory:
            for n in range(2 * NOTES):
                memory.remember(f"bread number {n}")
            assert [finding.sentence for finding in memory.doctor() if finding.level == "problem"] == [GONE]
            assert f"The log is accepted as it is now. {GONE}" in {each.sentence for each in memory.doctor(repair=True)}
            assert [finding for finding in memory.doctor() if finding.level == "problem"] == []
    finally:
        primary.remove()
        if standby is not None:
            standby.remove()

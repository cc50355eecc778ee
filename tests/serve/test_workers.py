"""`perdure serve --workers`: several processes behave as one server, and one that dies is replaced."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Generator
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hook.hosts import eventually
from serve.running import WAIT, RunningServer, events

from perdure.http import streams
from perdure.services import open_tokens
from perdure.session.spool import Spool, SpooledMessage
from perdure.settings import load

if TYPE_CHECKING:
    from postgres_stores import EmptyStores

TWO = ("--workers", "2", "--no-work")


@pytest.fixture(scope="module", params=["a file", "a database"])
def several(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[RunningServer]:
    place: Path | str = tmp_path_factory.mktemp("several") / "m.db"
    if request.param == "a database":
        stores: EmptyStores = request.getfixturevalue("postgres_stores")
        place = stores.new_url()
    with RunningServer(place, (*TWO, "--rate", "0")) as server:
        yield server


def workers(server: RunningServer) -> set[int]:
    found = set[int]()
    for task in Path(f"/proc/{server.process.pid}/task").iterdir():
        # A thread may be gone by now, and its children are then those of another.
        with suppress(FileNotFoundError, ProcessLookupError):
            found |= {int(pid) for pid in (task / "children").read_text(encoding="ascii").split()}
    return found


def counted(server: RunningServer, route: str) -> int:
    text = server("GET", "/metrics").body.decode()
    return sum(int(count) for count in re.findall(rf'requests_total{{.*route="{route}".*}} (\d+)', text))


def fresh(server: RunningServer, token: str = "owner") -> int:
    """A request by a connection of its own, which either process may take."""
    server.connection.close()
    return server("GET", "/v1/memories", token=token).status


def test_metrics_are_those_of_all_processes(several: RunningServer):
    assert len(workers(several)) == 2
    before = counted(several, "/v1/memories")
    assert [fresh(several) for _ in range(20)] == [200] * 20
    assert counted(several, "/v1/memories") == before + 20


def test_what_is_written_by_one_process_is_told_by_all(several: RunningServer):
    with ExitStack() as stack:
        following = [events(stack.enter_context(several.stream("/v1/events"))) for _ in range(4)]
        begun = [next(each)["id"] for each in following]
        key = {"Idempotency-Key": "once"}
        for _ in range(6):
            several.connection.close()
            assert several("POST", "/v1/memories", {"text": "Told to all"}, headers=key).status in {200, 201}
        told = [next(event for event in each if "event" in event) for each in following]
        assert {event["event"] for event in told} == {"insert"}
        assert len(set(begun)) == 1
    assert len(several("GET", "/v1/memories").json["records"]) == 1


def test_the_streams_of_a_token_are_counted_over_all_processes(several: RunningServer):
    with open_tokens(load(store=str(several.store))) as tokens:
        token = tokens.create("reader", scopes=("read",), namespaces=("team",))[1]
    # Each process looks at the tokens of a database every two seconds.
    eventually(lambda: [fresh(several, token) for _ in range(12)] == [200] * 12)
    with ExitStack() as stack:
        for _ in range(streams.MOST_OF_A_TOKEN):
            assert stack.enter_context(several.stream("/v1/events", token)).status == 200
        statuses = list[int]()
        for _ in range(6):
            several.connection.close()
            statuses.append(several("GET", "/v1/events", token=token).status)
        assert statuses == [429] * 6


def test_the_rate_of_a_token_holds_over_all_processes(tmp_path: Path):
    with RunningServer(tmp_path / "m.db", (*TWO, "--rate", "0.001")) as server:
        statuses = [fresh(server) for _ in range(6)]
    assert statuses.count(200) == 1
    assert statuses.count(429) == 5


def test_a_process_that_dies_is_replaced_and_what_it_counted_stays(several: RunningServer):
    before, asked = workers(several), counted(several, "/v1/memories")
    os.kill(min(before), signal.SIGKILL)
    eventually(lambda: len(workers(several) - {min(before)}) == 2)
    several.connection.close()
    assert fresh(several) == 200
    assert counted(several, "/v1/memories") == asked + 1


def test_all_are_started_anew_without_a_request_that_fails(several: RunningServer):
    before = workers(several)
    several.process.send_signal(signal.SIGHUP)
    statuses = set[int]()

    def replaced() -> bool:
        statuses.add(fresh(several))
        return len(workers(several)) == 2 and not workers(several) & before

    eventually(replaced)
    assert statuses == {200}


def test_who_keeps_a_connection_loses_no_request_when_all_are_started_anew(several: RunningServer):
    before, statuses = workers(several), list[int]()
    connections = [HTTPConnection(several.address, timeout=WAIT) for _ in range(6)]

    def ask(connection: HTTPConnection) -> None:
        connection.request("GET", "/v1/memories", headers=several.headers("owner", None))
        response = connection.getresponse()
        response.read()
        statuses.append(response.status)

    for connection in connections:
        ask(connection)
    several.process.send_signal(signal.SIGHUP)

    def replaced() -> bool:
        for connection in connections:
            ask(connection)
        return len(workers(several)) == 2 and not workers(several) & before

    eventually(replaced)
    for connection in connections:
        connection.close()
    assert set(statuses) == {200}


def test_what_was_begun_before_all_are_started_anew_is_answered_however_long_it_takes(several: RunningServer):
    before, told = workers(several), json.dumps({"text": "Begun before, and done after"}).encode()
    with closing(HTTPConnection(several.address, timeout=WAIT)) as slow:
        slow.putrequest("POST", "/v1/memories")
        for name, value in several.headers("owner", {"Content-Length": str(len(told))}, has_body=True).items():
            slow.putheader(name, value)
        slow.endheaders(told[:9])
        # Whoever has it has begun with it: a request on a connection of later is answered.
        assert fresh(several) == 200
        several.process.send_signal(signal.SIGHUP)
        # One of before is left, and it has this request.
        eventually(lambda: len(workers(several)) == 3 and len(workers(several) & before) == 1)
        assert slow.sock is not None
        slow.sock.sendall(told[9:])
        assert slow.getresponse().status == 201
    eventually(lambda: len(workers(several)) == 2 and not workers(several) & before)


def test_the_server_ends_at_once_also_while_processes_leave(tmp_path: Path):
    with RunningServer(tmp_path / "m.db", TWO) as server:
        before = workers(server)
        with closing(HTTPConnection(server.address, timeout=WAIT)) as slow:
            slow.putrequest("POST", "/v1/memories")
            for name, value in server.headers("owner", {"Content-Length": "99"}, has_body=True).items():
                slow.putheader(name, value)
            slow.endheaders(b"{")
            assert fresh(server) == 200
            server.process.send_signal(signal.SIGHUP)
            eventually(lambda: len(workers(server)) == 3 and len(workers(server) & before) == 1)
            pids = workers(server)
            assert server.end() == 0
        assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_what_waits_is_stored_by_one_of_the_processes_also_after_all_were_started_anew(tmp_path: Path):
    spool = Spool(tmp_path / "m.db")

    def put(content: str) -> None:
        spool.put(SpooledMessage("default", "s1", "user", content, "2026-03-01T10:00:00Z", f"{content:0>32}"))

    put("before")
    with RunningServer(tmp_path / "m.db", ("--workers", "2", "--rate", "0")) as server:
        eventually(lambda: not spool.waiting())
        before = workers(server)
        put("since")
        server.process.send_signal(signal.SIGHUP)
        eventually(lambda: len(workers(server)) == 2 and not workers(server) & before)
        eventually(lambda: not spool.waiting())


def test_no_process_outlives_the_first(tmp_path: Path):
    with RunningServer(tmp_path / "m.db", TWO) as server:
        pids = workers(server)
        server.end(signal.SIGKILL)
        eventually(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in pids))


def test_it_ends_when_it_is_told_to(tmp_path: Path):
    with RunningServer(tmp_path / "m.db", TWO) as server:
        pids = workers(server)
        assert server.end() == 0
        assert not any(Path(f"/proc/{pid}").exists() for pid in pids)

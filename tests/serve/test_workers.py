"""`perdure serve --workers`: several processes behave as one server, and one that dies is replaced."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hook.hosts import eventually
from serve.running import RunningServer, events

from perdure.auth.token_file import TokenFile
from perdure.http import streams

TWO = ("--workers", "2", "--no-work")


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Generator[RunningServer]:
    with RunningServer(tmp_path_factory.mktemp("several") / "m.db", (*TWO, "--rate", "0")) as server:
        yield server


def workers(server: RunningServer) -> set[int]:
    found = set[int]()
    for task in Path(f"/proc/{server.process.pid}/task").iterdir():
        found |= {int(pid) for pid in (task / "children").read_text(encoding="ascii").split()}
    return found


def counted(server: RunningServer, route: str) -> int:
    text = server("GET", "/metrics").body.decode()
    return sum(int(count) for count in re.findall(rf'requests_total{{.*route="{route}".*}} (\d+)', text))


def fresh(server: RunningServer) -> int:
    """A request by a connection of its own, which either process may take."""
    server.connection.close()
    return server("GET", "/v1/memories").status


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
    token = TokenFile(several.store).create("reader", scopes=("read",), namespaces=("team",))[1]
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

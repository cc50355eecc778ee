"""Streams of changes: how many there may be, that they leave room for others, and that the log is read once for all."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import anyio
from hook.hosts import eventually
from serve.running import RunningServer, events

from perdure import Memory
from perdure.auth.authorise import AccessToken, Action
from perdure.auth.token_file import TokenFile
from perdure.clock import system_clock
from perdure.http import streams
from perdure.http.events import follow
from perdure.http.routing import Caller, Serving

if TYPE_CHECKING:
    import pytest

# As many connections as leave room for three streams.
FEW = "import perdure.http.connections as connections\nconnections.MOST_CONNECTIONS = 7\n"


def readers(server: RunningServer, *names: str) -> list[str]:
    file = TokenFile(server.store)
    return [file.create(name, scopes=("read",), namespaces=("team",))[1] for name in names]


def test_one_reader_cannot_hold_all_streams(shared: RunningServer):
    greedy, other = readers(shared, "greedy", "other")
    with ExitStack() as stack:
        held = [stack.enter_context(shared.stream("/v1/events", greedy)) for _ in range(streams.MOST_OF_A_TOKEN)]
        assert [response.status for response in held] == [200] * 8
        refused = shared("GET", "/v1/events", token=greedy)
        assert (refused.status, refused.code, refused.json["retryable"]) == (429, "rate_limited", True)
        assert int(refused.headers["retry-after"]) >= 1
        assert "'greedy'" in refused.json["detail"]
        following = events(stack.enter_context(shared.stream("/v1/events", other)))
        assert next(following)["id"] == "0"
        assert shared("POST", "/v1/memories", {"text": "Everybody hears of it"}, namespace="team").status == 201
        coming = [events(response) for response in held]
        assert [next(event for event in each if "event" in event)["id"] for each in (*coming, following)] == ["1"] * 9


def test_who_leaves_a_stream_makes_room_for_another(shared: RunningServer):
    (token,) = readers(shared, "leaving")
    for _ in range(3):
        with ExitStack() as stack:
            eventually(lambda: has_room(shared, token))
            for _ in range(streams.MOST_OF_A_TOKEN - 1):
                assert stack.enter_context(shared.stream("/v1/events", token)).status == 200


def has_room(server: RunningServer, token: str) -> bool:
    """Whether all streams of the token but one can be opened; those that were left are noticed a moment later."""
    with ExitStack() as stack:
        opened = [stack.enter_context(server.stream("/v1/events", token)) for _ in range(streams.MOST_OF_A_TOKEN - 1)]
        return all(response.status == 200 for response in opened)


def test_streams_take_at_most_half_of_the_connections_whoever_holds_them(store: Path):
    with RunningServer(store, before=FEW) as server, ExitStack() as stack:
        *holding, late = readers(server, "a", "b", "c", "d")
        for token in holding:
            assert stack.enter_context(server.stream("/v1/events", token)).status == 200
        refused = server("GET", "/v1/events", token=late)
        assert (refused.status, refused.code) == (429, "rate_limited")
        assert int(refused.headers["retry-after"]) >= 1
        assert server("GET", "/v1/stats").status == 200


class CountingMemory:
    """A namespace whose log is counted when it is read."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.reads = 0

    def log(self, **asked: Any) -> Any:
        self.reads += 1
        return self._memory.log(**asked)


def test_the_log_is_read_once_for_all_who_follow_it(memory: Memory):
    counted, now = CountingMemory(memory), 0.0

    async def scenario() -> None:
        nonlocal now
        feed = streams.LogFeed(cast("Memory", counted), clock=lambda: now)
        following = [follow(caller_of(memory), feed, 0) for _ in range(20)]
        for each in following:
            assert (await anext(each)).startswith("retry:")
        assert await feed.lines_after(0) == ()
        memory.remember("one")
        memory.remember("two")
        now, counted.reads = 1.0, 0
        for each in following:
            told = [await anext(each), await anext(each)]
            assert [text.split("\n")[:2] for text in told] == [["id: 1", "event: insert"], ["id: 2", "event: insert"]]

    anyio.run(scenario)
    assert counted.reads <= 2


def test_who_is_far_behind_reads_for_itself_and_misses_nothing(memory: Memory, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(streams, "_MAX_LINES_KEPT", 5)
    now = 0.0
    seen: list[int] = []

    async def scenario() -> None:
        nonlocal now
        feed = streams.LogFeed(memory, clock=lambda: now)
        assert await feed.lines_after(0) == ()
        for start in range(0, 300, 100):
            memory.import_([{"text": f"memory {start + n}"} for n in range(100)])
            now += 1
            await feed.lines_after(start)
        while lines := await feed.lines_after(seen[-1] if seen else 0):
            seen.extend(line.seq for line in lines)

    anyio.run(scenario)
    assert seen == list(range(1, 301))


def caller_of(memory: Memory) -> Caller:
    token = AccessToken("1", "reader", ("read",), None, "model", system_clock())
    action = Action("GET /v1/events", ("read",))
    return Caller(Serving(memory, None, "default"), memory, "default", token, action, None, "model")

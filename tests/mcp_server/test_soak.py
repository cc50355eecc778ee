"""Malformed messages, many servers on one store, and servers whose hosts die: a little in CI, a lot in `make soak`."""

from __future__ import annotations

import os
import random
import threading
from itertools import count
from pathlib import Path
from typing import Any, cast

import pytest
from mcp_server.host import PATIENCE, Host, faults, start, started
from mcp_server.malformed import Malformed

from perdure import Memory

MESSAGES = int(os.environ.get("PERDURE_MESSAGES", "2000"))
CALLS = int(os.environ.get("PERDURE_CALLS", "15"))
# For so long calls go on, and at least so many are made.
SECONDS = int(os.environ.get("PERDURE_SECONDS", "0"))
SERVERS = 8
BETWEEN = 100


@pytest.mark.soak
@pytest.mark.parametrize("seed", [11, 23])
def test_malformed_messages_are_answered_and_nothing_else_happens(store: Path, seed: int):
    with start("--store", str(store), "--tools", "all") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        host = Host(process.stdin, process.stdout, process=process)
        complaints: list[bytes] = []
        listener = threading.Thread(target=lambda: complaints.append(process.stderr.read()) if process.stderr else None)
        listener.start()
        codes: set[int] = set()
        for position, line in enumerate(Malformed(seed).messages(MESSAGES // 2)):
            host.write(line)
            if position % BETWEEN == BETWEEN - 1:
                codes |= drained(host, f"checkpoint {position}")
        drained(host, "the end")
        assert host.end() == 0
        listener.join(PATIENCE)
    assert complaints == [b""]
    assert -32603 not in codes
    assert codes >= {-32700, -32600, -32601, -32602}
    with Memory(store) as memory:
        assert [finding.sentence for finding in memory.doctor() if finding.level == "problem"] == []


def drained(host: Host, id: str) -> set[int]:
    """Wait for the answer to one good request; the codes of all errors before it."""
    host.send({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "memory_stats"}})
    codes: set[int] = set()
    while True:
        message = host.next()
        assert message is not None, "the server ended"
        several = cast("list[dict[str, Any]]", message if isinstance(message, list) else [message])
        for each in several:
            assert each["jsonrpc"] == "2.0"
            assert "Traceback" not in str(each)
            assert "(unexpected)" not in str(each), each
            codes.add(each.get("error", {}).get("code", 0))
            if each.get("id") == id:
                return codes


@pytest.mark.soak
def test_many_servers_on_one_store_lose_nothing_and_answer_as_they_promise(store: Path):
    said: list[list[str]] = [[] for _ in range(SERVERS)]
    failures: list[str] = []
    enough = threading.Event()
    timer = threading.Timer(SECONDS, enough.set)

    def work(number: int) -> None:
        try:
            with started("--store", str(store), "--tools", "all") as host:
                mixed_calls(host, number, said[number], enough)
                assert host.end() == 0
        except BaseException as error:  # noqa: BLE001 - told by the main thread
            failures.append(repr(error))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(SERVERS)]
    for thread in (*threads, timer):
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with Memory(store) as memory:
        stored = {record.text for record in memory.list(limit=sum(map(len, said)))}
        problems = [finding.sentence for finding in memory.doctor() if finding.level == "problem"]
    assert stored == {text for each in said for text in each}
    assert problems == []


def mixed_calls(host: Host, number: int, said: list[str], enough: threading.Event) -> None:
    """Writes and reads by turns; what was acknowledged is noted, and every answer held against its schema."""
    chance = random.Random(number)
    schemas = {name: tool["outputSchema"] for name, tool in host.tools().items()}
    last = 0
    for n in count():
        if n >= CALLS and enough.is_set():
            return
        text = f"Server {number} notes bridge {n} over the river"
        calls: list[tuple[str, dict[str, Any]]] = [
            ("remember", {"text": text, "tags": [f"server-{number}"]}),
            ("recall", {"query": f"bridge {n}"}),
            ("memory_search", {"query": "river", "limit": 3}),
            ("memory_list", {"limit": 5}),
            ("memory_stats", {}),
        ]
        if last:
            calls += [
                ("memory_update", {"id": last, "importanceWeight": 0.6}),
                ("memory_validate", {"id": last, "wasUseful": True}),
                ("recall_detail", {"ids": [last]}),
            ]
        for tool, arguments in [calls[0], *chance.sample(calls[1:], 2)]:
            answer = host.call(tool, **arguments)
            assert faults(schemas[tool], answer) == []
            if tool == "remember":
                last = answer["number"]
                said.append(text)

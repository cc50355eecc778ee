"""The protocol, in both of its eras, over one pipe."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from mcp_server.host import META, STATELESS, Host, Refused, served

from perdure import Memory, __version__
from perdure.mcp.stdio import MAX_MESSAGE


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_handshake_is_answered_in_the_revision_that_was_asked_for(store: Path, version: str):
    with served(store, version=version) as host:
        hello = host.hello()
    assert hello["protocolVersion"] == version
    assert hello["serverInfo"] == {"name": "perdure", "title": "Perdure", "version": __version__}
    assert "tools" in hello["capabilities"]
    assert len(hello["instructions"]) < 2_000


@pytest.mark.parametrize("asked", ["1999-01-01", STATELESS, None, 5])
def test_a_handshake_in_another_revision_is_answered_in_the_newest_that_has_one(host: Host, asked: object):
    host.version = "2025-11-25"
    assert host.request("initialize", protocolVersion=asked)["protocolVersion"] == "2025-11-25"


def test_without_a_handshake_every_result_says_what_it_is_and_from_whom(store: Path):
    with served(store, version=STATELESS) as host:
        discovered, listed = host.request("server/discover"), host.request("tools/list")
        called = host.result("recall", query="anything")
    assert discovered["supportedVersions"] == [STATELESS]
    for result in (discovered, listed, called):
        assert result["resultType"] == "complete"
        assert result["_meta"][f"{META}serverInfo"]["name"] == "perdure"
    for result in (discovered, listed):
        assert result["ttlMs"] >= 0
        assert result["cacheScope"] == "private"


def test_a_revision_that_nobody_knows_is_refused_with_those_that_are_served(host: Host):
    host.version = "2025-11-25"
    with pytest.raises(Refused) as refused:
        host.request("tools/list", _meta={f"{META}protocolVersion": "2099-01-01"})
    assert refused.value.code == -32022
    assert refused.value.data == {"supported": [STATELESS], "requested": "2099-01-01"}


def test_without_a_handshake_a_request_must_say_what_a_handshake_would_have_said(store: Path):
    with served(store, version=STATELESS) as host:
        for method in ("initialize", "ping"):
            with pytest.raises(Refused) as refused:
                host.request(method)
            assert refused.value.code == -32601
        host.version = "2025-11-25"
        incomplete: list[dict[str, Any]] = [
            {},
            {f"{META}clientCapabilities": {}},
            {f"{META}protocolVersion": STATELESS},
        ]
        for meta in incomplete:
            with pytest.raises(Refused) as refused:
                host.request("server/discover", _meta=meta)
            assert refused.value.code == -32602


def test_a_host_may_try_the_new_way_and_fall_back_to_the_old_on_the_same_pipe(store: Path):
    with served(store, version=STATELESS) as host:
        host.version = "2025-11-25"
        assert host.hello()["protocolVersion"] == "2025-11-25"
        assert "resultType" not in host.result("recall", query="anything")
        host.version = STATELESS
        assert host.result("recall", query="anything")["resultType"] == "complete"


def test_a_subscription_is_acknowledged_and_then_silent(host: Host):
    id = host.begin("subscriptions/listen", notifications={"toolsListChanged": True, "resourceSubscriptions": ["x"]})
    acknowledged = host.next()
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    assert acknowledged["params"]["notifications"] == {"toolsListChanged": True}
    assert acknowledged["params"]["_meta"] == {f"{META}subscriptionId": id}
    assert host.request("prompts/list")["prompts"]
    assert host.notifications == []


def test_several_messages_in_one_list_belong_to_one_revision(store: Path):
    batch = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "recall", "arguments": {"query": "x"}}},
        7,
    ]
    with served(store, version="2025-03-26") as host:
        host.send(batch)
        answers = host.next()
        assert [answer["id"] for answer in answers] == [1, 2, None]
        assert answers[1]["result"]["isError"] is False
        assert answers[2]["error"]["code"] == -32600
        host.send([{"jsonrpc": "2.0", "method": "notifications/initialized"}])
        host.send([])
        assert host.next()["error"]["code"] == -32600
    with served(store, version="2025-06-18") as host:
        host.send(batch)
        assert host.next()["error"]["code"] == -32600


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"garbage", -32700),
        (b"\xff\xfe\x00", -32700),
        (b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}', -32700),
        (b"[" * 100_000, -32700),
        (b'{"jsonrpc": "2.0", "id": ' + b"9" * 5_000 + b', "method": "ping"}', -32700),
        (b"7", -32600),
        (b'"ping"', -32600),
        (b"{}", -32600),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 7}', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": "x"}}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage"}', -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "' + b"x" * MAX_MESSAGE + b'"}', -32600),
    ],
)
def test_what_is_no_request_gets_an_error_of_the_protocol_and_the_next_one_an_answer(
    host: Host, line: bytes, code: int
):
    host.write(line)
    assert host.next()["error"]["code"] == code
    assert host.request("tools/list")["tools"]


@pytest.mark.parametrize(
    ("before", "after", "id"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":"', b'"}', 7),
        (b'{"method":"tools/call","params":"', b'","jsonrpc":"2.0","id":"a-8"}', "a-8"),
        (b'{"method":"tools/call","params":{"text":"', b'","id":9}}', None),
    ],
)
def test_whoever_sends_too_much_at_once_is_told_so_by_the_id_of_the_call(
    host: Host, before: bytes, after: bytes, id: int | str | None
):
    host.write(before + b"x" * MAX_MESSAGE + after)
    answer = host.next()
    assert (answer["id"], answer["error"]["code"]) == (id, -32600)
    assert host.request("tools/list")["tools"]


@pytest.mark.parametrize(
    "line",
    [b"", b"  ", b'{"jsonrpc": "2.0", "id": 5, "result": {}}', b'{"jsonrpc": "2.0", "method": "notifications/x"}'],
)
def test_what_wants_no_answer_gets_none(host: Host, line: bytes):
    host.write(line)
    assert host.request("tools/list")["tools"]


def test_a_text_of_a_whole_megabyte_fits_into_one_message(host: Host):
    assert host.call("remember", text="\u00e9" * (1 << 19))["number"] == 1
    assert host.result("remember", text="\u00e9" * (1 << 19) + "e")["isError"]


def test_half_of_a_pair_of_surrogates_is_refused_and_does_no_harm(host: Host):
    host.write(b'{"jsonrpc":"2.0","id":"\\ud800","method":"tools/call","params":{"name":"\\udfff","arguments":{}}}')
    assert host.next()["result"]["isError"] is True
    assert host.result("remember", text="\ud800")["isError"] is True


@pytest.fixture
def busy(store: Path):
    """A store that somebody writes to for as long as the test wants, and the end of it."""
    Memory(store).close()
    writing, enough = threading.Event(), threading.Event()

    def hold() -> None:
        with Memory(store) as memory, memory._services.store.write("default"):
            writing.set()
            enough.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert writing.wait(60)
    yield enough
    enough.set()
    holder.join()


def test_a_slow_call_does_not_keep_a_fast_one_waiting(store: Path, busy: threading.Event):
    with served(store) as host:
        slow = host.begin("tools/call", name="remember", arguments={"text": "waits for the other writer"})
        fast = host.begin("tools/call", name="recall", arguments={"query": "anything"})
        assert host.finish(fast)["isError"] is False
        assert host.request("ping") == {}
        busy.set()
        assert host.finish(slow)["isError"] is False


def test_a_long_call_reports_that_it_goes_on(store: Path, busy: threading.Event):
    with served(store) as host:
        slow = host.begin(
            "tools/call", name="remember", arguments={"text": "waits"}, _meta={"progressToken": "token-1"}
        )
        progress = [host.next() for _ in range(2)]
        busy.set()
        assert host.finish(slow)["isError"] is False
    assert {each["method"] for each in progress} == {"notifications/progress"}
    assert {each["params"]["progressToken"] for each in progress} == {"token-1"}
    assert progress[0]["params"]["progress"] < progress[1]["params"]["progress"]


def test_a_cancelled_call_gets_no_answer_and_one_that_had_not_begun_does_nothing(store: Path, busy: threading.Event):
    with served(store) as host:
        begun = [host.begin("tools/call", name="remember", arguments={"text": f"Memory number {n}"}) for n in range(20)]
        for id in begun:
            host.notify("notifications/cancelled", requestId=id)
        host.notify("notifications/cancelled", requestId=[])
        host.request("ping")
        busy.set()
        last = host.begin("tools/call", name="remember", arguments={"text": "The last"})
        assert host.finish(last)["isError"] is False
    with Memory(store) as memory:
        assert len(memory.list(limit=50)) <= 7


def test_a_request_s_own_client_is_noted_where_there_is_no_handshake(store: Path):
    with served(store, version=STATELESS) as host:
        host.call("remember", text="Said over the new protocol")
    with Memory(store) as memory:
        assert memory.get(1).channel == "test-host"


def test_an_answer_is_one_line_of_ascii(store: Path):
    with served(store) as host:
        host.call("remember", text="caf\u00e9\u2028\u0085 \U0001f600\nnext line")
        host.begin("tools/call", name="recall_detail", arguments={"ids": [1]})
        line = host.lines.get(timeout=60)
    assert line.isascii()
    assert line.endswith(b"\n")
    assert "\U0001f600" in json.loads(line)["result"]["structuredContent"]["memories"][0]["text"]

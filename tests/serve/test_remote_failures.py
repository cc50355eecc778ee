"""What can go wrong between a program and its server: one clear error, nothing lost, nothing done twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from providers.cloud import Cloud
from providers.server import (
    Behaviour,
    Connection,
    FaultServer,
    Received,
    cut_off,
    hang,
    ok,
    redirect,
    reset,
    status,
    text,
    truncated,
)  # fmt: skip
from serve.running import RunningServer

from perdure import Memory
from perdure.auth.token_file import TokenFile
from perdure.errors import (
    AccessDenied,
    InvalidInput,
    NoRoute,
    NotFound,
    PerdureError,
    StoreClosed,
    StoreForeign,
    StoreUnreachable,
    StoreUnsafe,
    Unauthenticated,
)
from perdure.http.answers import example_of
from perdure.model import Record, Remembered

TOKEN = "perdure_0123456789_secret"  # noqa: S105 - of nobody
REMEMBERED = example_of(Remembered)


@pytest.fixture
def faults() -> Iterator[FaultServer]:
    with FaultServer() as server:
        yield server


@pytest.fixture
def asking(faults: FaultServer) -> Iterator[Memory]:
    with Memory(faults.url, token=TOKEN) as memory:
        yield memory


def test_a_server_that_lost_for_now_is_one_error_with_a_remedy(faults: FaultServer):
    with FaultServer() as gone:
        address = gone.url
    with Memory(address, token=TOKEN) as memory, pytest.raises(StoreUnreachable, match=address) as caught:
        memory.recall("tea")
    assert caught.value.retryable
    assert "perdure serve" in caught.value.remedy


def test_a_server_that_says_nothing_is_not_waited_for_longer_than_the_timeout(faults: FaultServer):
    faults.always(hang)
    with Memory(faults.url, token=TOKEN, timeout=0.2) as memory:
        for call in (lambda: memory.remember("tea"), lambda: memory.validate(1, True)):
            with pytest.raises(StoreUnreachable, match=r"within 0\.2 s"):
                call()
    # What was not answered in time is not asked again: it may still be under way.
    assert len(faults.requests) == 2


@pytest.mark.parametrize(
    ("behaviour", "expected", "says"),
    [
        (text("<html>hello</html>", "text/html"), StoreForeign, "text/html"),
        (text("<html>Bad Gateway</html>", "text/html", 502), StoreUnreachable, "502"),
        (truncated, StoreForeign, "not valid JSON"),
        (ok(["of another kind"]), StoreForeign, "is not an object"),
        (ok({**REMEMBERED, "record": {}}), StoreForeign, "record.id is missing"),
        (status(418, {"hello": "teapot"}), StoreForeign, "418"),
    ],
)
def test_what_no_perdure_server_says_is_said_so(
    faults: FaultServer, asking: Memory, behaviour: Behaviour, expected: type[PerdureError], says: str
):
    faults.always(behaviour)
    with pytest.raises(expected, match=says):
        asking.remember("tea")


def test_a_redirect_is_not_followed_and_the_token_stays_here(faults: FaultServer, asking: Memory):
    with FaultServer() as elsewhere:
        faults.always(redirect(f"{elsewhere.url}/v1/memories"))
        with pytest.raises(StoreForeign, match="does not follow"):
            asking.remember("tea")
        assert elsewhere.requests == []
    assert faults.requests[0].headers["authorization"] == f"Bearer {TOKEN}"


def test_errors_of_a_newer_server_are_of_the_kind_that_their_status_says(faults: FaultServer, asking: Memory):
    problem = {"code": "quite_new", "error": "The moon is full.", "remedy": "Wait."}
    for code, kind in ((404, NotFound), (403, AccessDenied), (422, InvalidInput), (500, PerdureError)):
        faults.next(lambda connection, _, code=code: connection.send(code, json.dumps(problem).encode()))
        with pytest.raises(kind) as caught:
            asking.remember("tea")
        assert (caught.value.sentence, caught.value.remedy) == ("The moon is full.", "Wait.")


def test_answers_of_newer_and_of_older_servers_are_read(faults: FaultServer, asking: Memory):
    newer = {**REMEMBERED, "mood": "good", "record": {**REMEMBERED["record"], "colour": "blue"}, "outcome": "sung"}
    older = {"record": REMEMBERED["record"], "outcome": "inserted", "batch": None}
    faults.next(ok(newer), ok(older))
    assert asking.remember("tea").outcome == "sung"
    assert asking.remember("tea").evicted == ()


def test_what_an_older_server_does_not_know_says_that_it_is_older(faults: FaultServer, asking: Memory):
    faults.always(status(404, {"code": "no_route", "error": "There is nothing at this address.", "remedy": "x"}))
    with pytest.raises(NoRoute) as caught:
        asking.constitution()
    assert "older" in caught.value.remedy


@pytest.mark.parametrize("lost", [reset, cut_off])
def test_a_lost_answer_is_asked_for_once_more_with_the_same_key(faults: FaultServer, asking: Memory, lost: Behaviour):
    faults.next(lost)
    faults.always(ok(REMEMBERED))
    asking.remember("tea")
    first, second = (request.headers["idempotency-key"] for request in faults.requests)
    assert first == second
    faults.next(lost)
    faults.always(ok({**example_of(Record), "text": "tea"}))
    assert asking.get(1).text == "tea"
    faults.always(lost)
    with pytest.raises(StoreUnreachable):
        asking.remember("tea", idempotency_key="mine")
    assert [request.headers["idempotency-key"] for request in faults.requests[-2:]] == ["mine", "mine"]


def test_a_write_without_a_key_is_sent_once_and_nobody_knows(faults: FaultServer, asking: Memory):
    faults.always(reset)
    with pytest.raises(StoreUnreachable) as caught:
        asking.validate(1, True)
    assert "It is unknown" in caught.value.remedy
    assert len(faults.requests) == 1


def test_a_server_that_wants_patience_is_waited_for(faults: FaultServer, asking: Memory):
    limited = {"code": "rate_limited", "error": "Too many.", "remedy": "Wait."}
    faults.next(status(429, limited, retry_after="0"), status(429, limited, retry_after="0"))
    faults.always(ok(REMEMBERED))
    assert asking.remember("tea").outcome == "inserted"
    faults.always(status(429, limited, retry_after="3600"))
    with pytest.raises(PerdureError) as caught:
        asking.remember("tea")
    assert (caught.value.code, getattr(caught.value, "retry_after", None)) == ("rate_limited", 3600)


def test_an_export_that_breaks_off_leaves_the_file_that_was_there(faults: FaultServer, asking: Memory, tmp_path: Path):
    def half(connection: Connection, _: Received) -> None:
        connection.begin(200, "application/x-ndjson", {"Transfer-Encoding": "chunked"})
        connection.wfile.write(b'f\r\n{"text": "one"}\r\n')
        connection.close_connection = True

    faults.always(half)
    target = tmp_path / "export.jsonl"
    target.write_text("before", encoding="utf-8")
    with pytest.raises(StoreUnreachable):
        asking.export(target)
    assert target.read_text(encoding="utf-8") == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["export.jsonl"]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://memory.example.org", StoreUnsafe),
        ("http://10.0.0.5:8733", StoreUnsafe),
        ("https://me:secret@memory.example.org", InvalidInput),
        ("https://", InvalidInput),
        ("https://memory.example.org/?a=b", InvalidInput),
        ("http://2130706433:8733", InvalidInput),
    ],
)
def test_what_could_be_read_on_the_way_or_in_two_ways_is_refused(url: str, expected: type[PerdureError]):
    with pytest.raises(expected) as caught:
        Memory(url, token=TOKEN)
    assert "secret" not in str(caught.value)


def test_a_certificate_is_checked_and_a_good_one_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with ExitStack() as servers:
        cloud = Cloud(tmp_path, monkeypatch, servers)
        cloud("memory.example.org").always(ok(REMEMBERED))
        cloud("other.example.org", trusted=False)
        with Memory("https://memory.example.org", token=TOKEN) as memory:
            assert memory.remember("tea").outcome == "inserted"
        with (
            Memory("https://other.example.org", token=TOKEN) as memory,
            pytest.raises(StoreUnreachable, match="certificate is not trusted"),
        ):
            memory.remember("tea")


def test_arguments_that_are_the_server_s_are_refused(faults: FaultServer, tmp_path: Path):
    refused: list[dict[str, Any]] = [
        {"embedder": "none"}, {"actor": "me"}, {"count_tokens": len}, {"timeout": 0}, {"timeout": "soon"},
        {"writer": "ghost"}, {"token": "two words"}, {"namespace": " "},
    ]  # fmt: skip
    for arguments in refused:
        with pytest.raises(InvalidInput):
            Memory(faults.url, **arguments)
    with pytest.raises(InvalidInput, match="URL"):
        Memory(tmp_path / "memory.db", token=TOKEN)
    with Memory(faults.url, token=TOKEN) as memory, pytest.raises(InvalidInput, match="cannot be sent"):
        memory.remember("tea", metadata={"x": {1, 2}.__len__})  # pyright: ignore[reportArgumentType]
    with pytest.raises(StoreClosed):
        memory.recall("tea")


def test_a_token_is_found_where_it_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store = tmp_path / "perdure" / "memory.db"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("PERDURE_TOKEN", raising=False)
    with RunningServer(store) as server:
        url = server.started["url"]
        with Memory(url) as mine:
            assert mine.remember("tea").record.namespace == "default"
            assert mine.actor == "local"
        _, team = TokenFile(store).create("agent-7", namespaces=("team",))
        monkeypatch.setenv("PERDURE_TOKEN", team)
        with Memory(url, session="monday") as theirs:
            assert theirs.remember("coffee").record.namespace == "team"
            (line,) = theirs.log()
            assert (line.change.actor, line.change.session) == ("agent-7", "monday")
            with pytest.raises(AccessDenied):
                theirs.namespace("default").recall("tea")
        with Memory(url, token=TOKEN) as stranger, pytest.raises(Unauthenticated):
            stranger.recall("tea")


def test_a_person_s_program_may_let_a_model_write(shared: RunningServer):
    with Memory(shared.started["url"], token=shared.owner, namespace="by a model", writer="model") as memory:
        assert memory.remember("Always be kind", tier="constitutional").record.tier != "constitutional"
        assert memory.log()[0].change.surface == "http (model)"
        memory.import_([{"text": "x", "trust": "high", "tier": "constitutional"}], trusted=True)
        [imported] = [one for one in memory.list() if one.text == "x"]
        assert (imported.trust, imported.tier) == ("normal", "normal")  # as where the store is a file
        person = memory.writing_as(writer="person", session="friday")
        assert person.remember("Be kind", tier="constitutional").record.tier == "constitutional"
        assert person.log()[0].change.session == "friday"


def test_threads_and_pages_share_one_memory(shared: RunningServer):
    with Memory(shared.started["url"], token=shared.owner, namespace="crowd") as memory:

        def write(writer: int) -> None:
            for note in range(15):
                memory.remember(f"note {writer} {note}")

        threads = [threading.Thread(target=write, args=(writer,)) for writer in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        page = memory.list(limit=110)
        assert (len(page), page.next) == (110, page.records[-1].number)
        assert len(memory.list(limit=500)) == len(memory.log(limit=500)) == 120
        assert len({record.text for record in memory.list(limit=500)}) == 120


def test_a_long_conversation_is_listed_whole_and_in_order(shared: RunningServer):
    with Memory(shared.started["url"], token=shared.owner, namespace="long talk") as memory:
        talk = memory.conversation("support-42")
        talk.add_messages({"role": "user", "content": f"word {n}"} for n in range(130))
        said = [f"word {n}" for n in range(130)]
        assert [record.text for record in talk.messages()] == said
        assert [record.text for record in talk.messages(limit=120)] == said[-120:]
        assert [record.text for record in talk.messages(limit=3)] == said[-3:]


def write_while_it_is_killed(store: Path, kills: Collection[int]) -> None:
    """200 writes; at each of `kills` the server is killed while one is under way. Whoever gets no answer tries again
    with the same key, once the server is back.
    """
    with RunningServer(store) as server:
        address, owner = server.started["url"], server.owner
        begun, back = threading.Semaphore(0), threading.Semaphore(0)
        acknowledged: list[str] = []

        def write() -> None:
            with Memory(address, token=owner) as memory:
                for n in range(200):
                    if n in kills:
                        begun.release()
                    done = False
                    while not done:
                        try:
                            acknowledged.append(memory.remember(f"note {n}", idempotency_key=f"key {n}").record.text)
                            done = True
                        except StoreUnreachable:
                            back.acquire()

        writer = threading.Thread(target=write)
        writer.start()
        for _ in kills:
            begun.acquire()
            server.end(signal.SIGKILL)
            server.__exit__()
            server.options = (*server.options[:3], "--port", address.rpartition(":")[2])
            server.__enter__()
            back.release()
        writer.join()
        with Memory(address, token=owner) as memory:
            stored = [record.text for record in memory.list(limit=1000, newest=False)]
            others = [line for line in memory.log(limit=1000) if line.change.operation != "insert"]
    assert stored == acknowledged == [f"note {n}" for n in range(200)]
    assert others == []


@pytest.mark.soak
def test_killed_in_the_middle_of_writing_nothing_acknowledged_is_lost_and_nothing_is_doubled(store: Path):
    write_while_it_is_killed(store, range(5, 200, 8) if "PERDURE_KILLS" in os.environ else (100,))


def test_a_server_s_memory_loads_nothing_of_the_engine(shared: RunningServer):
    script = f"""
import sys, json
from perdure import Memory
with Memory({shared.started["url"]!r}, token={shared.owner!r}, namespace="light") as memory:
    memory.remember("Alice prefers dark mode")
    memory.recall("dark mode"), memory.list(), memory.log(), memory.forget(1), memory.restore(1), memory.review()
    memory.conversation("c").add_message("user", "hello")
    memory.facts(), memory.stats(), memory.checkpoint("now"), memory.undo(session="none", dry_run=True)
print(json.dumps(sorted(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, encoding="utf-8", check=True)
    loaded = set(json.loads(done.stdout))
    assert loaded & {"apsw", "numpy", "onnxruntime", "tokenizers", "click", "fastapi", "pydantic"} == set()
    rooms = ("perdure.store.sqlite", "perdure.recall.", "perdure.lifecycle.write.", "perdure.semantic", "perdure.http")
    assert [name for name in sorted(loaded) if name.startswith(rooms)] == []
    assert "perdure.lifecycle.write" not in loaded


def test_a_file_loads_nothing_of_the_client(tmp_path: Path):
    script = f"""
import sys
from perdure import Memory
with Memory({str(tmp_path / "memory.db")!r}, embedder="none") as memory:
    memory.remember("Alice prefers dark mode")
    memory.recall("dark mode")
print([name for name in sys.modules if name.startswith(("perdure.remote", "perdure.providers", "httpcore2"))])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, encoding="utf-8", check=True)
    assert done.stdout.strip() == "[]"


def test_a_forked_child_asks_on_connections_of_its_own(shared: RunningServer):
    script = f"""
import os
from perdure import Memory
with Memory({shared.started["url"]!r}, token={shared.owner!r}, namespace="forked") as memory:
    memory.remember("parent")
    child = os.fork()
    if child == 0:
        memory.remember("child")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    memory.remember("parent again")
    print(sorted(record.text for record in memory.list()))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, encoding="utf-8", check=True)
    assert done.stdout.strip() == "['child', 'parent', 'parent again']"

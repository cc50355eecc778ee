"""`perdure mcp` as hosts run it: how it starts, what it does when something is wrong, and how it ends."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from fcntl import F_SETPIPE_SZ, fcntl
from itertools import product
from pathlib import Path

import pytest
from mcp_server.host import PATIENCE, STATELESS, Host, Refused, ToolFailed, start, started

from perdure import Memory
from perdure.session.origin import Origin, find_origin

# How many servers lose their host at once; the soak takes 50.
ORPHANS = int(os.environ.get("PERDURE_ORPHANS", "5"))
# Seconds: how soon a server ends, and how soon many do.
SOON = 2
ALL_GONE = 10
HELLO = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}\n'


@pytest.fixture
def options(store: Path) -> tuple[str, ...]:
    return ("--store", str(store))


def test_the_first_answer_needs_nothing_of_the_engine():
    """Modules are counted, not time: hosts give a server two seconds, on whatever machine."""
    script = """
import json, sys
sys.argv = ["perdure", "mcp"]
import perdure.mcp.stdio as stdio
def serve(protocol):
    from perdure.mcp.protocol import Request
    about = "io.modelcontextprotocol/"
    stateless = {"_meta": {about + "protocolVersion": "2026-07-28", about + "clientCapabilities": {}}}
    for method, params in (("initialize", {}), ("server/discover", stateless), ("tools/list", stateless)):
        assert "result" in protocol.answer(Request(method, params, 1))
    print(json.dumps(sorted(sys.modules)))
stdio.serve = serve
from perdure.cli.app import main
main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, encoding="utf-8", check=True)
    loaded = set(json.loads(done.stdout))
    heavy = {"perdure.memory", "perdure.model", "perdure.settings", "apsw", "numpy", "rich", "asyncio", "logging"}
    assert loaded & heavy == set()
    assert len(loaded) < 200


@pytest.mark.parametrize("version", ["2025-06-18", STATELESS])
def test_a_real_process_serves_both_eras(options: tuple[str, ...], version: str):
    with started(*options, version=version) as host:
        host.call("remember", text="Alice prefers dark mode")
        assert host.call("recall", query="dark mode")["memories"][0]["number"] == 1
        assert host.end() == 0


def test_nothing_but_protocol_is_on_standard_output(options: tuple[str, ...], tmp_path: Path):
    """Whatever a library prints, in Python or below it, goes to standard error."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, threading\n"
        "started = threading.Thread.start\n"
        "def start(self):\n"
        "    print('stray print', flush=True) if os.environ.get('STRAY') and __import__('sys').argv[1:2] == ['mcp']"
        " and __import__('sys').stdout is __import__('sys').stderr else None\n"
        "    os.system('echo stray echo') if __import__('sys').stdout is __import__('sys').stderr else None\n"
        "    started(self)\n"
        "threading.Thread.start = start\n",
        encoding="utf-8",
    )
    with started(*options, environment={"PYTHONPATH": str(tmp_path), "STRAY": "1"}) as host:
        host.call("remember", text="Alice prefers dark mode")
        assert host.end() == 0
        assert host.process is not None
        assert host.process.stderr is not None
        stray = host.process.stderr.read()
        assert host.next() is None
    assert b"stray print" in stray
    assert b"stray echo" in stray


@pytest.mark.parametrize("version", ["2025-06-18", STATELESS])
def test_a_store_that_cannot_be_opened_is_said_by_the_tools_and_used_once_it_is_mended(
    store: Path, options: tuple[str, ...], version: str
):
    store.write_bytes(b"this is no database at all, and that is that" * 100)
    with started(*options, version=version) as host:
        assert host.tools()
        with pytest.raises(ToolFailed) as failed:
            host.call("recall", query="anything")
        assert failed.value.code in {"store_foreign", "store_damaged", "store_unreadable"}
        store.unlink()
        assert host.call("remember", text="It works again")["number"] == 1


@pytest.mark.parametrize(
    ("environment", "code"),
    [
        ({"PERDURE_RECIPE": "none-such"}, "unknown_choice"),
        ({"PERDURE_DECAY_EXEMPT": "platinum"}, "bad_settings"),
        ({"PERDURE_CONFIG": "/nowhere/perdure.toml"}, "bad_settings"),
    ],
)
def test_bad_settings_are_said_by_the_tools(options: tuple[str, ...], environment: dict[str, str], code: str):
    with started(*options, environment=environment) as host, pytest.raises(ToolFailed) as failed:
        host.call("recall", query="anything")
    assert failed.value.code == code


@pytest.mark.parametrize("mistake", [("--tools", "nonsense"), ("--tolls",), ("nonsense",)])
def test_a_mistake_in_the_configuration_of_a_host_is_said_by_the_tools(mistake: tuple[str, ...]):
    with started(*mistake) as host:
        assert host.tools()
        with pytest.raises(ToolFailed, match="was started with a mistake") as failed:
            host.call("recall", query="anything")
        assert mistake[-1] in str(failed.value)
        assert host.end() == 0


def test_a_store_that_was_replaced_is_opened_again(store: Path, options: tuple[str, ...], tmp_path: Path):
    with Memory(tmp_path / "other.db") as memory:
        memory.remember("From the backup")
    with started(*options) as host:
        host.call("remember", text="From before")
        for path in [*tmp_path.glob("memory.db*")]:
            path.unlink()
        (tmp_path / "other.db").rename(store)
        assert "From the backup" in host.text("recall_detail", ids=[1])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_what_was_acknowledged_on_disk(
    store: Path, options: tuple[str, ...], number: signal.Signals
):
    with started(*options) as host:
        host.call("remember", text="Alice prefers dark mode")
        assert host.process is not None
        host.process.send_signal(number)
        assert host.process.wait(SOON) == 0
        assert host.process.stderr is not None
        assert host.process.stderr.read() == b""
    with Memory(store) as memory:
        assert memory.get(1).text == "Alice prefers dark mode"


# What a server does when its end comes: the function stands still, and says so. The model is loaded before anything can
# be written, so that another process has to.
STANDSTILLS: dict[str, tuple[str, str, dict[str, str]]] = {
    "loading the model": ("perdure.embed.local", "load_model", {"PERDURE_EMBEDDER": "local"}),
    "a recall": ("perdure.recall.pack", "pack", {}),
    "an import": ("perdure.bank.memory_files", "scan_memory_files", {"PERDURE_BACKGROUND": "false"}),
}
ENDS = ("eof", "SIGINT", "SIGTERM", "death of the host")
STANDS_STILL = """
import os, sys, threading
import {module} as module
def stand_still(*_, **__):
    os.write(2, b"it stands still\\n")
    threading.Event().wait()
module.{function} = stand_still
os.write(2, f"{{os.getpid()}}\\n".encode())
from perdure.cli.app import main
sys.argv[0] = "perdure"
main()
"""
# A host that starts the server and is not between the two of us.
HOST = "import subprocess, sys; subprocess.Popen(sys.argv[1:]).wait()"


@pytest.mark.parametrize(
    ("doing", "end"),
    [*product(("loading the model", "a recall"), ENDS), ("an import", "eof"), ("an import", "SIGTERM")],
)
def test_it_ends_soon_whatever_it_is_doing(store: Path, options: tuple[str, ...], doing: str, end: str):
    module, function, environment = STANDSTILLS[doing]
    server = [
        sys.executable,
        "-c",
        STANDS_STILL.format(module=module, function=function),
        "mcp",
        "--tools",
        "all",
        *options,
    ]
    pipe = subprocess.PIPE
    environ = {**os.environ, **environment}
    with subprocess.Popen(
        [sys.executable, "-c", HOST, *server], stdin=pipe, stdout=pipe, stderr=pipe, env=environ, bufsize=0
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        host = Host(process.stdin, process.stdout, process=process)
        assert select.select([process.stderr], [], [], PATIENCE)[0]
        running = os.pidfd_open(int(process.stderr.readline()))
        if doing == "loading the model":
            with Memory(store, embedder="none") as memory:
                memory.remember("Alice prefers dark mode")
        host.hello()
        if doing != "loading the model":
            host.call("remember", text="Alice prefers dark mode")
        tool, arguments = ("memory_index_scan", {}) if doing == "an import" else ("recall", {"query": "Alice"})
        waiting = host.begin("tools/call", name=tool, arguments=arguments)
        assert select.select([process.stderr], [], [], PATIENCE)[0]
        assert process.stderr.readline() == b"it stands still\n"
        if end == "eof":
            host.target.close()
        elif end == "death of the host":
            process.kill()
        else:
            signal.pidfd_send_signal(running, signal.Signals[end])
        assert select.select([running], [], [], SOON)[0]
        os.close(running)
        # Whoever waits is told; a host that died does not.
        with pytest.raises(Refused, match="The server ended"):
            host.finish(waiting)
        process.kill()
    with Memory(store, embedder="none") as memory:
        assert memory.get(1).text == "Alice prefers dark mode"
        assert [finding for finding in memory.doctor() if finding.level == "problem"] == []


def test_no_call_waits_for_one_that_takes_long(options: tuple[str, ...]):
    module, function, _ = STANDSTILLS["a recall"]
    server = [sys.executable, "-c", STANDS_STILL.format(module=module, function=function), "mcp", *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(server, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        host = Host(process.stdin, process.stdout, process=process)
        host.hello()
        for _ in range(3):
            host.begin("tools/call", name="recall", arguments={"query": "Alice"})
        assert host.call("remember", text="Alice prefers dark mode")["outcome"] == "inserted"
        process.terminate()
        while host.next():
            pass


def test_calls_that_came_before_the_end_are_still_answered(options: tuple[str, ...]):
    with started(*options) as host:
        host.call("recall", query="anything")
        ids = [host.begin("tools/call", name="remember", arguments={"text": f"Memory number {n}"}) for n in range(10)]
        assert host.end() == 0
        answered: list[int] = []
        while message := host.next():
            answered.append(message["id"])
        assert sorted(answered) == ids


def test_a_process_that_is_told_nothing_ends_at_once():
    with start() as process:
        out, err = process.communicate(b"", timeout=PATIENCE)
    assert (process.returncode, out, err) == (0, b"", b"")


def test_half_a_message_at_the_end_is_an_error_and_the_end():
    with start() as process:
        out, _ = process.communicate(HELLO + b'{"jsonrpc":"2.0","id":2,"meth', timeout=PATIENCE)
    assert process.returncode == 0
    assert [json.loads(line).get("error", {}).get("code") for line in out.splitlines()] == [None, -32700]


def test_a_host_that_no_longer_reads_ends_it(options: tuple[str, ...]):
    with start(*options) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.close()
        process.stdin.write(HELLO)
        process.stdin.flush()
        assert process.wait(PATIENCE) == 0
        process.stdin.close()


def test_a_script_that_sends_all_at_once_and_ends_gets_every_answer(options: tuple[str, ...]):
    calls = [{"name": "remember", "arguments": {"text": f"Memory number {n}"}} for n in range(40)]
    asked = [{"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": call} for n, call in enumerate(calls, 2)]
    with start(*options) as process:
        out, _ = process.communicate(HELLO + b"".join(json.dumps(each).encode() + b"\n" for each in asked))
    assert sorted(json.loads(line)["id"] for line in out.splitlines()) == list(range(1, len(asked) + 2))


def test_a_host_that_closes_its_end_without_reading_its_answers_ends_it(options: tuple[str, ...]):
    """The list of tools is more than the pipe holds, so that the server waits for a reader."""
    with start(*options) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        fcntl(process.stdout, F_SETPIPE_SZ, 4096)
        process.stdin.write(HELLO + b'{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n' * 9)
        process.stdin.flush()
        assert select.select([process.stdout], [], [], PATIENCE)[0]
        process.stdin.close()
        assert process.wait(SOON) == 0


@pytest.mark.soak
def test_a_host_that_sends_without_reading_is_not_read_without_end(options: tuple[str, ...]):
    line = b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"remember","arguments":{"text":"%s"}}}\n'
    with start(*options) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        fcntl(process.stdout, F_SETPIPE_SZ, 4096)
        process.stdin.write(HELLO)
        process.stdin.flush()
        os.set_blocking(process.stdin.fileno(), False)
        flood = memoryview(line % (b"x" * (7 << 20)) * 24)
        # As much as it takes; enough is when it has taken nothing for a while.
        while flood and select.select([], [process.stdin], [], SOON / 2)[1]:
            flood = flood[os.write(process.stdin.fileno(), flood[: 1 << 20]) :]
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
        assert int(status.split("VmRSS:")[1].split()[0]) < 150_000
        process.stdin.close()
        assert process.wait(SOON) == 0


@pytest.mark.soak
def test_servers_whose_host_died_end_though_their_pipe_stays_open(options: tuple[str, ...]):
    """The host's end of each pipe is held by us, so that only its death can tell them."""
    command = [sys.executable, "-m", "perdure", "mcp", *options]
    pipes = [os.pipe() for _ in range(ORPHANS)]
    sources = [source for source, _ in pipes]
    script = f"""
import subprocess, sys
servers = [subprocess.Popen({command!r}, stdin=source, stdout=subprocess.PIPE) for source in {sources!r}]
for server in servers:
    server.stdout.readline()
print(*[server.pid for server in servers], flush=True)
sys.stdin.read()
"""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", script], stdin=pipe, stdout=pipe, pass_fds=sources) as parent:
        for _, target in pipes:
            os.write(target, HELLO)
        assert parent.stdout is not None
        servers = [os.pidfd_open(int(pid)) for pid in parent.stdout.readline().split()]
        parent.kill()
    assert len(servers) == ORPHANS
    wait = f"import select; [select.select([server], [], []) for server in {servers!r}]"
    subprocess.run([sys.executable, "-c", wait], pass_fds=servers, timeout=ALL_GONE, check=True)
    for descriptor in (*servers, *(end for ends in pipes for end in ends)):
        os.close(descriptor)


def test_the_project_and_the_session_are_those_that_the_host_names(
    store: Path, options: tuple[str, ...], tmp_path: Path
):
    project = tmp_path / "website"
    (project / ".git").mkdir(parents=True)
    (project / "src").mkdir()
    claude = {"CLAUDE_PROJECT_DIR": str(tmp_path / "shop"), "CLAUDE_CODE_SESSION_ID": "abc"}
    runs: list[tuple[tuple[str, ...], dict[str, str], Path]]
    runs = [(options, {}, project / "src"), ((*options, "--project", "mine", "--session", "s1"), claude, project)]
    for n, (given, environment, folder) in enumerate(runs):
        with started(*given, environment=environment, folder=folder) as host:
            host.call("remember", text=f"Memory number {n}")
    with Memory(store) as memory:
        records = [memory.get(n + 1) for n in range(len(runs))]
    assert [(record.source_project, record.session_id) for record in records] == [("website", None), ("mine", "s1")]
    assert find_origin(claude) == Origin("shop", "abc")
    assert find_origin({**claude, "PERDURE_PROJECT": "x", "PERDURE_SESSION": "y"}) == Origin("x", "y")


def test_a_namespace_of_its_own_is_kept_apart(options: tuple[str, ...]):
    with started(*options, "--namespace", "alice") as alice, started(*options, "--namespace", "bob") as bob:
        alice.call("remember", text="Alice likes tea")
        assert bob.call("recall", query="who likes tea?")["memories"] == []
        with pytest.raises(ToolFailed):
            bob.call("recall_detail", ids=[1])

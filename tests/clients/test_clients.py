"""Clients that others wrote, and the judges of the protocol, against `perdure mcp` and `perdure serve`.
`make test-clients` installs them and says where they are. All of them are started at once, as many as there are cores:
the tests wait for what each has seen.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from serve.running import RunningServer

from perdure.mcp.tools import tools_of

HERE = Path(__file__).parent
CLIENTS = Path(os.environ.get("PERDURE_CLIENTS", "none")).absolute()
PACKAGES = CLIENTS / "node" / "node_modules"
SERVER = [sys.executable, "-m", "perdure", "mcp"]
TRANSPORTS = ("stdio", "http")
ERAS = ("legacy", "auto", "modern")
CORE = ["remember", "store_memory", "recall", "recall_detail", "memory_update", "forget", "consolidate"]
# In which modes each program is asked to talk.
MODES = {
    "python": ("auto", "legacy", "2026-07-28"),
    "python-1": ("legacy",),
    "node": ("auto", "legacy", "2026-07-28", "1"),
}
INSPECTED = {
    "call": ("--method", "tools/call", "--tool-name", "remember", "--tool-arg", "text=Alice likes tea"),
    "read": ("--method", "resources/read", "--uri", "perdure://context"),
    "prompts": ("--method", "prompts/list"),
}
SUITES = {
    "stable": ("@modelcontextprotocol/conformance", "handshake"),
    "alpha": ("conformance-alpha", "handshake"),
    "2026-07-28": ("conformance-alpha", "2026-07-28", "--requirements", "2026-07-28"),
}

Runs: TypeAlias = dict[tuple[str, ...], Future[subprocess.CompletedProcess[str]]]

pytestmark = pytest.mark.skipif("PERDURE_CLIENTS" not in os.environ, reason="`make test-clients` runs these")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """Everything that is run, by its name."""
    home = tmp_path_factory.mktemp("clients")
    # Node comes from the clients' own environment, and nothing of the user's is in reach.
    environ = {
        "PATH": f"{CLIENTS / 'bin'}:/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PERDURE_EMBEDDER": "none",
    }
    open_to_all = ("--rate", "0", "--no-work", "--no-auth")
    beside = {**environ, "PYTHONPATH": str(HERE.parent)}
    with ExitStack() as stack:
        server = stack.enter_context(RunningServer(home / "http.db", environment=environ))
        fixtures = stack.enter_context(
            RunningServer(home / "fixtures.db", open_to_all, beside, ("clients.conformance_server",))
        )
        told = {**environ, "PERDURE_STORE": str(home / "stdio.db"), "PERDURE_TOKEN": server.owner}
        commands = {
            **clients(home, f"{server.address}/mcp"),
            **inspections(f"{server.address}/mcp?tools=all", server.owner),
            **conformance(f"{fixtures.address}/mcp"),
        }
        pool = stack.enter_context(ThreadPoolExecutor(os.cpu_count() or 2))
        run = partial(subprocess.run, env=told, cwd=home, capture_output=True, text=True, timeout=300, check=False)
        yield {name: pool.submit(run, command) for name, command in commands.items()}


def clients(home: Path, address: str) -> dict[tuple[str, ...], list[str]]:
    # Node looks for packages beside the script.
    shutil.copy(HERE / "node_client.mjs", home)
    (home / "node_modules").symlink_to(PACKAGES)
    programs = {
        "python": [str(CLIENTS / "bin" / "python"), str(HERE / "python_client.py")],
        "python-1": [str(CLIENTS / "1" / "bin" / "python"), str(HERE / "python_client_1.py")],
        "node": [str(CLIENTS / "bin" / "node"), str(home / "node_client.mjs")],
    }
    where = {"stdio": SERVER, "http": [f"http://{address}"]}
    return {
        (name, transport): [*programs[name], ",".join(modes), *where[transport]]
        for (name, modes), transport in product(MODES.items(), TRANSPORTS)
    }


def inspections(address: str, token: str) -> dict[tuple[str, ...], list[str]]:
    inspector = [str(PACKAGES / ".bin" / "mcp-inspector"), "--cli"]
    header = f"Authorization: Bearer {token}"
    where = {
        "stdio": [*inspector, *SERVER, "--tools", "all"],
        "http": [*inspector, f"http://{address}", "--transport", "http", "--header", header],
    }
    lists = {
        ("list", transport, era): [*where[transport], "--protocol-era", era, "--method", "tools/list", "--strict"]
        for transport, era in product(TRANSPORTS, ERAS)
    }
    others = {
        (name, transport): [*where[transport], "--protocol-era", "auto", *options]
        for transport, (name, options) in product(TRANSPORTS, INSPECTED.items())
    }
    return {**lists, **others}


def conformance(address: str) -> dict[tuple[str, ...], list[str]]:
    return {
        ("conformance", name): [
            str(CLIENTS / "bin" / "node"),
            str(PACKAGES / package / "dist" / "index.js"),
            *("server", "--url", f"http://{address}", *options),
            *("--expected-failures", str(HERE / f"expected_failures_{expected}.yml")),
        ]
        for name, (package, expected, *options) in SUITES.items()
    }


def output_of(runs: Runs, *name: str) -> str:
    done = runs[name].result()
    assert done.returncode == 0, f"{done.stdout[-4_000:]}\n{done.stderr[-4_000:]}"
    return done.stdout


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(("client", "mode"), [(client, mode) for client, modes in MODES.items() for mode in modes])
def test_a_client_of_others_does_what_it_does_with_any_server(runs: Runs, client: str, mode: str, transport: str):
    saw = json.loads(output_of(runs, client, transport))[mode]
    assert saw["tools"] == CORE
    assert saw["stored"]["number"] >= 1
    assert "Alice prefers dark mode" in {each["text"] for each in saw["recalled"]["memories"]}
    assert "Alice prefers dark mode" in saw["text"]
    assert saw["failed"][0] is True
    assert "recall needs query" in saw["failed"][1]
    assert "tags: ui" in saw["resource"]
    assert "Alice prefers dark mode" in saw["prompt"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_inspector_finds_nothing_to_complain_about(runs: Runs, transport: str, era: str):
    assert len(json.loads(output_of(runs, "list", transport, era))["tools"]) == len(tools_of("all"))


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_inspector_calls_reads_and_lists(runs: Runs, transport: str):
    def saw(name: str) -> Any:
        return json.loads(output_of(runs, name, transport))

    assert saw("call")["structuredContent"]["number"] >= 1
    assert "perdure://context" in str(saw("read"))
    assert len(saw("prompts")["prompts"]) == 3


@pytest.mark.parametrize("suite", SUITES)
def test_the_conformance_suite_finds_only_what_is_listed_with_a_reason(runs: Runs, suite: str):
    assert "Total:" in output_of(runs, "conformance", suite)

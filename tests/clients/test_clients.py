"""Clients that others wrote, against `perdure mcp`. `make test-clients` installs them and says where they are."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from serve.running import RunningServer

HERE = Path(__file__).parent
CLIENTS = Path(os.environ.get("PERDURE_CLIENTS", "none")).absolute()
SERVER = [sys.executable, "-m", "perdure", "mcp"]
CORE = ["remember", "store_memory", "recall", "recall_detail", "memory_update", "forget", "consolidate"]

pytestmark = pytest.mark.skipif("PERDURE_CLIENTS" not in os.environ, reason="`make test-clients` runs these")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Node comes from the clients' own environment, and nothing of the user's is in reach."""
    return {
        "PATH": f"{CLIENTS / 'bin'}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "PERDURE_STORE": str(tmp_path / "memory.db"),
        "PERDURE_EMBEDDER": "none",
    }


def output_of(command: list[str], environment: dict[str, str]) -> Any:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("client", "mode"),
    [
        ("python", "auto"),
        ("python", "legacy"),
        ("python", "2026-07-28"),
        ("python-1", "legacy"),
        ("node", "auto"),
        ("node", "legacy"),
        ("node", "2026-07-28"),
        ("node", "1"),
    ],
)
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_client_of_others_does_what_it_does_with_any_server(
    client: str, mode: str, transport: str, environment: dict[str, str], tmp_path: Path
):
    programs = {
        "python": [str(CLIENTS / "bin" / "python"), str(HERE / "python_client.py")],
        "python-1": [str(CLIENTS / "1" / "bin" / "python"), str(HERE / "python_client_1.py")],
        "node": [str(CLIENTS / "bin" / "node"), str(tmp_path / "node_client.mjs")],
    }
    # Node looks for packages beside the script.
    shutil.copy(HERE / "node_client.mjs", tmp_path)
    (tmp_path / "node_modules").symlink_to(CLIENTS / "node" / "node_modules")
    if transport == "http":
        with RunningServer(tmp_path / "memory.db") as server:
            environment = {**environment, "PERDURE_TOKEN": server.owner}
            saw = output_of([*programs[client], mode, f"{server.started['url']}/mcp"], environment)
    else:
        saw = output_of([*programs[client], mode, *SERVER], environment)
    assert saw["tools"] == CORE
    assert saw["stored"]["number"] == 1
    assert saw["recalled"]["memories"][0]["text"] == "Alice prefers dark mode"
    assert "Alice prefers dark mode" in saw["text"]
    assert saw["failed"][0] is True
    assert "recall needs query" in saw["failed"][1]
    assert "tags: ui" in saw["resource"]
    assert "Alice prefers dark mode" in saw["prompt"]


@pytest.mark.parametrize("era", ["legacy", "auto", "modern"])
def test_the_inspector_finds_nothing_to_complain_about(era: str, environment: dict[str, str]):
    inspector = [str(CLIENTS / "node" / "node_modules" / ".bin" / "mcp-inspector"), "--cli"]

    def inspect(*options: str) -> Any:
        return output_of([*inspector, *SERVER, "--tools", "all", "--protocol-era", era, *options], environment)

    check_inspected(inspect)


@pytest.mark.parametrize("era", ["legacy", "auto", "modern"])
def test_nor_does_it_over_http(era: str, environment: dict[str, str], tmp_path: Path):
    inspector = str(CLIENTS / "node" / "node_modules" / ".bin" / "mcp-inspector")
    with RunningServer(tmp_path / "memory.db") as server:
        where = ["--transport", "http", "--header", f"Authorization: Bearer {server.owner}"]
        url = f"{server.started['url']}/mcp?tools=all"

        def inspect(*options: str) -> Any:
            return output_of([inspector, "--cli", url, *where, "--protocol-era", era, *options], environment)

        check_inspected(inspect)


def check_inspected(inspect: Callable[..., Any]) -> None:
    assert len(inspect("--method", "tools/list", "--strict")["tools"]) == 18
    arguments = ("--method", "tools/call", "--tool-name", "remember", "--tool-arg", "text=Alice likes tea")
    assert inspect(*arguments)["structuredContent"]["number"] == 1
    assert "Alice likes tea" in str(inspect("--method", "resources/read", "--uri", "perdure://context"))
    assert len(inspect("--method", "prompts/list")["prompts"]) == 3

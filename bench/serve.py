"""`python -m bench.serve`: how soon `perdure mcp` answers after it was started, and how many calls it answers in a
second, beside a bare interpreter, the smallest server on the official SDK, and the official memory server in Node.

All hold the same thousand texts. Everything is measured in turns within one run, so that a busy machine hits all alike:
read the ratios. Calls are counted by the Inspector's load tester, which nobody here wrote.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from perdure import Memory

CLIENTS: Final = Path(".venv-clients").absolute()
START_GOAL: Final = 0.25
_TEXTS: Final = 1_000
_ROUNDS: Final = 9
_ENV: Final = "/usr/bin/env"
_REQUESTS: Final = 300
_AT_ONCE: Final = 8
_QUERY: Final = "which bridge crosses the river near Osaka?"
_THINGS: Final = ("bridge", "river", "parser", "deploy", "theme", "invoice", "garden", "kettle")
_NAMES: Final = ("Alice", "Bob", "Carol", "Osaka", "Porto")
_HELLO: Final = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


@dataclass(frozen=True)
class Server:
    """`tool` is what stands for a recall; a bare interpreter has none, and answers a line with a line."""

    name: str
    command: Sequence[str]
    tool: str = "recall"


def main(arguments: Sequence[str]) -> int:
    options = argparse.ArgumentParser(prog="bench.serve", description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    options.add_argument("--rounds", type=int, default=_ROUNDS, help="How often each server is started.")
    rounds = options.parse_args(arguments).rounds
    with tempfile.TemporaryDirectory() as folder:
        servers = prepare(Path(folder))
        starts: dict[str, list[tuple[float, float]]] = {server.name: [] for server in servers}
        # The first round is not counted: it compiles what was never run.
        for turn in range(rounds + 1):
            for server in servers:
                taken = started(server)
                if turn:
                    starts[server.name].append(taken)
        calls = {server.name: [load(server, Path(folder)) for _ in range(3)] for server in servers if server.tool}
    print(f"{rounds} starts each, in turns; calls: {_REQUESTS}, {_AT_ONCE} at once, best of three")
    print(f"{'':<28}{'first answer':>14}{'first recall':>14}{'calls/s':>10}")
    for server in servers:
        first = median(answer for answer, _ in starts[server.name])
        recall = median(recall for _, recall in starts[server.name]) if server.tool else None
        shown = f"{recall:>12.3f} s" if recall is not None else f"{'':>14}"
        rate = f"{max(calls[server.name]):>10.0f}" if server.name in calls else ""
        print(f"{server.name:<28}{first:>12.3f} s{shown}{rate}")
    ours, sdk = (median(answer for answer, _ in starts[name]) for name in ("perdure mcp", "smallest SDK server"))
    print(f"first answer: {ours / sdk:.2f} of the SDK server's (goal: {START_GOAL})")
    rate = max(calls["perdure mcp"]) / max(calls["Node memory server"])
    print(f"calls/s: {rate:.2f} of the Node memory server's (goal: more than 1)")
    return 0 if ours <= START_GOAL * sdk else 1


def prepare(folder: Path) -> list[Server]:
    """The servers, each with the texts in its own form."""
    texts = [
        f"Note {n}: the {_THINGS[n % len(_THINGS)]} near {_NAMES[n % len(_NAMES)]} has number {n * 7}"
        for n in range(_TEXTS)
    ]
    lines, graph = folder / "texts.txt", folder / "graph.jsonl"
    lines.write_text("\n".join(texts), encoding="utf-8")
    entities = ({"type": "entity", "name": f"n{n}", "entityType": "note", "observations": [text]}
                for n, text in enumerate(texts))  # fmt: skip
    graph.write_text("\n".join(map(json.dumps, entities)), encoding="utf-8")
    servers: list[Server] = [Server("bare interpreter", [sys.executable, "-c", "print(input())"], "")]
    for name, embedder in (("perdure mcp", "local"), ("perdure mcp, no model", "none")):
        store = folder / f"{embedder}.db"
        with Memory(store, embedder=embedder) as memory, memory.batch():
            for text in texts:
                memory.remember(text)
        # By `env`, because the Inspector passes on next to nothing of its own environment.
        program = str(Path(sys.executable).parent / "perdure")
        servers.append(Server(name, [_ENV, f"PERDURE_EMBEDDER={embedder}", program, "mcp", "--store", str(store)]))
    sdk = [str(CLIENTS / "bin" / "python"), "-P", str(Path(__file__).parent / "sdk_server.py"), str(lines)]
    node = [
        _ENV,
        f"MEMORY_FILE_PATH={graph}",
        str(CLIENTS / "bin" / "node"),
        str(CLIENTS / "node" / "node_modules" / ".bin" / "mcp-server-memory"),
    ]
    servers.append(Server("smallest SDK server", sdk))
    servers.append(Server("Node memory server", node, "search_nodes"))
    return servers


def started(server: Server) -> tuple[float, float]:
    """Seconds from the start of the process to its first answer, and to the answer of the first recall."""
    pipe = subprocess.PIPE
    begin = time.perf_counter()
    with subprocess.Popen(  # noqa: S603 - our own servers
        server.command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
    ) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("no pipes")
        recall = {"name": server.tool, "arguments": {"query": _QUERY}}
        messages: list[Mapping[str, Any]] = [
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _HELLO},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": recall},
        ]
        answered: list[float] = []
        for message in messages if server.tool else messages[:1]:
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
            if "id" in message:
                if not process.stdout.readline():
                    raise RuntimeError(f"{server.name} said nothing")
                answered.append(time.perf_counter() - begin)
        process.stdin.close()
    return answered[0], answered[-1]


def load(server: Server, folder: Path) -> float:
    """Calls in a second, by the Inspector. It counts the start of the server as well, as a host does."""
    inspector = [str(CLIENTS / "bin" / "node"), str(CLIENTS / "node" / "node_modules" / ".bin" / "mcp-inspector")]
    options = f"--method tools/call --tool-name {server.tool} --load --load-requests {_REQUESTS}"
    options += f" --load-concurrency {_AT_ONCE} -q --format json --tool-arg"
    path = f"{CLIENTS / 'bin'}:{os.environ.get('PATH', '')}"
    environment = {**os.environ, "PATH": path, "HOME": str(folder)}
    command = [*inspector, "--cli", *server.command, *options.split(), f"query={_QUERY}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)  # noqa: S603 - as above
    result = json.loads(done.stdout)["result"]
    if result["ok"] != _REQUESTS:
        raise RuntimeError(f"{server.name}: {result}")
    return result["throughput"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

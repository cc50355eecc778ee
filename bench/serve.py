"""`python -m bench.serve`: how soon `perdure mcp` answers after it was started, and how many calls it answers in a
second, beside a bare interpreter, the smallest server on the official SDK, and the official memory server in Node; and
how many requests `perdure serve` answers, beside calls in one process, and over MCP beside the SDK's server.

All hold the same texts. Everything is measured in turns within one run, so that a busy machine hits all alike: read the
ratios. Calls are counted by the Inspector's load tester, which nobody here wrote; it asks the same question each time,
so a small client of our own asks different ones.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.machine import description
from bench.report import table
from bench.serve_http import CONNECTIONS, http_rates, mcp_rates
from perdure import Memory

CLIENTS: Final = Path(".venv-clients").absolute()
PAGE: Final = Path(__file__).parent / "serve.md"
START_GOAL: Final = 0.25
OURS: Final = "perdure mcp"
NO_MODEL: Final = f"{OURS}, no model"
NODE: Final = "Node memory server"
PING: Final = "a ping, which no memory is asked for"
SDK: Final = "smallest SDK server"
_SIZES: Final = (1_000, 3_000, 10_000)
_ROUNDS: Final = 5
_CALL_ROUNDS: Final = 2
_ENV: Final = "/usr/bin/env"
_BEGAN: Final = time.monotonic()
_CALLS: Final = 300
_WARM: Final = 100
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


@dataclass(frozen=True)
class Found:
    """`starts` are medians of seconds to the first answer and the first recall; `calls` are the best rates of each
    server by the number of texts and the way of asking; `http` the rates over HTTP and inside one process, `mcp` those
    of tools over HTTP, ours and the SDK's; `model` are the seconds that the model takes for a question.
    """

    starts: Mapping[str, tuple[float, float]]
    calls: Mapping[tuple[int, str], Mapping[str, float]]
    http: Mapping[str, tuple[float, float]]
    mcp: tuple[float, float] | None
    model: float
    machine: Mapping[str, str]


def main(arguments: Sequence[str]) -> int:
    options = argparse.ArgumentParser(prog="bench.serve", description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    options.add_argument("--rounds", type=int, default=_ROUNDS, help="How often each server is started.")
    options.add_argument("--calls", type=int, default=_CALLS, help="How many calls are counted.")
    options.add_argument("--save", action="store_true", help=f"Write {PAGE.name}.")
    chosen = options.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        machine = description(folder)
        starts: Mapping[str, tuple[float, float]] = {}
        calls: dict[tuple[int, str], Mapping[str, float]] = {}
        model = model_seconds()
        sdk: Sequence[str] = ()
        for size in _SIZES:
            note(f"{size:,} texts are stored")
            servers = prepare(folder, size)
            sdk = sdk or next(server.command for server in servers if server.name == SDK)
            starts = starts or all_starts(servers, chosen.rounds)
            # The way without a model is looked at once.
            asked = [each for each in servers if each.tool and (size == _SIZES[0] or each.name != NO_MODEL)]
            calls |= {(size, way): rates for way, rates in all_calls(asked, folder, chosen.calls, size).items()}
        store = folder / f"{_SIZES[0]}-local.db"
        found = Found(starts, calls, http_rates(store, note), mcp_rates(store, sdk, note), model, machine)
    text = "\n".join(page(found, chosen.rounds)) + "\n"
    print(text)
    if chosen.save:
        PAGE.write_text(text, encoding="utf-8")
    return 0 if found.starts[OURS][0] <= START_GOAL * found.starts[SDK][0] else 1


def all_starts(servers: Sequence[Server], rounds: int) -> dict[str, tuple[float, float]]:
    taken: dict[str, list[tuple[float, float]]] = {server.name: [] for server in servers}
    # The first round is not counted: it compiles what was never run.
    for turn in range(rounds + 1):
        note(f"starts, {turn} of {rounds}")
        for server in servers:
            one = started(server)
            if turn:
                taken[server.name].append(one)
    return {
        name: (median(first for first, _ in each), median(last for _, last in each)) for name, each in taken.items()
    }


def all_calls(servers: Sequence[Server], folder: Path, calls: int, size: int) -> dict[str, dict[str, float]]:
    """The best rate of each server, by the way of asking."""
    ways: dict[str, Callable[[Server], float]] = {
        PING: lambda server: drive(server, 4 * calls, None),
        "the Inspector, one question, loading included": lambda server: load(server, folder, calls),
        "one question": lambda server: drive(server, calls, lambda _: question(3)),
        "different questions": lambda server: drive(server, calls, question),
    }
    if size != _SIZES[0]:
        del ways[PING]  # It is the same however many texts there are.
    best: dict[str, dict[str, float]] = {way: {} for way in ways}
    for turn in range(_CALL_ROUNDS):
        for way, measure in ways.items():
            note(f"{size:,} texts, {way}, {turn + 1} of {_CALL_ROUNDS}")
            for server in servers:
                best[way][server.name] = max(best[way].get(server.name, 0), measure(server))
    return best


def note(what: str) -> None:
    """Say on standard error what is measured now, and since when."""
    print(f"{time.monotonic() - _BEGAN:4.0f} s  {what}", file=sys.stderr, flush=True)


def model_seconds() -> float:
    """How long the model takes for one question, in one thread that does nothing else; the best of a few rounds."""
    from perdure.embed.local import LocalEmbedder

    note("the model alone")
    embedder, times = LocalEmbedder(), list[float]()
    for turn in range(6):
        began = time.perf_counter()
        for number in range(50):
            embedder.embed_query(question(turn * 50 + number))
        times.append((time.perf_counter() - began) / 50)
    return min(times)


def page(found: Found, rounds: int) -> Iterator[str]:
    where = ", ".join(f"{name} {value}" for name, value in found.machine.items())
    yield from ("# How soon and how often the servers answer", "")
    yield f"Written by `python -m bench.serve --save` (`make bench-serve SERVE=--save`). Machine: {where}."
    yield "Everything was measured in turns in one run: read the ratios."
    yield from ("", f"## Start, {_SIZES[0]:,} texts, medians of {rounds} starts", "")
    rows = [(name, f"{one:.3f} s", f"{two:.3f} s" if two != one else "") for name, (one, two) in found.starts.items()]
    yield from table(("", "first answer", "first recall"), rows)
    ratio = found.starts[OURS][0] / found.starts[SDK][0]
    yield from ("", f"First answer: {ratio:.2f} of the SDK server's (goal: {START_GOAL}).")
    yield from (
        "",
        f"## Calls in a second over MCP, {_AT_ONCE} at once, best of {_CALL_ROUNDS}",
        "",
    )
    names = list(next(iter(found.calls.values())))
    head = ("texts", "asked by", *names, f"{OURS} / {NODE}")
    lines = [
        (
            f"{size:,}",
            way,
            *(f"{rates[name]:.0f}" if name in rates else "" for name in names),
            f"{rates[OURS] / rates[NODE]:.2f}",
        )
        for (size, way), rates in found.calls.items()
    ]
    yield from table(head, lines)
    yield ""
    yield "The Node server reads its whole file for each call and looks for the question as a substring of names and"
    yield "observations; the SDK server looks for its words in a list. Ours embeds the question, unless it was asked"
    yield "lately, searches by words and by meaning, ranks, packs into a budget of tokens, and notes what was used."
    yield from _compared(found)
    yield from ("", f"## Requests in a second, {CONNECTIONS} connections, different questions and texts", "")
    if not found.http:
        yield "Not measured: wrk is not installed."
        return
    rates = [
        (verb, f"{over:.0f}", f"{inside:.0f}", f"{over / inside:.2f}") for verb, (over, inside) in found.http.items()
    ]
    yield from table(("", "`perdure serve`", f"{CONNECTIONS} threads in one process", "ratio"), rates)
    if found.mcp is not None:
        ours, theirs = found.mcp
        yield from ("", f"## Calls of a tool in a second over streamable HTTP, {CONNECTIONS} connections", "")
        row = ("`recall`, different questions", f"{ours:.0f}", f"{theirs:.0f}", f"{ours / theirs:.2f}")
        yield from table(("", "`perdure serve`", SDK, "ratio"), [row])
        yield ""
        yield "Ours embeds each question, searches and checks a token; the SDK's server looks for words in a list,"
        yield "without sessions and streams, which is its quickest way. The conformance suites find nothing in ours"
        yield "that they do not find in the SDK's server (`make test-clients`; docs/design.md has the counts)."


def _compared(found: Found) -> Iterator[str]:
    """Where we stand against the Node server, in sentences."""
    node = {way: rates[NODE] for (size, way), rates in found.calls.items() if size == _SIZES[0]}
    least = min(node["one question"], node["different questions"])
    share = found.model * least
    yield ""
    yield f"The model alone takes {found.model * 1e3:.2f} ms for a new question, in one thread that does nothing else:"
    yield f"{share:.1f} times what the Node server takes for a whole answer among {_SIZES[0]:,} texts,"
    yield f"which is {1e3 / least:.2f} ms."
    yield ""
    for way in node:
        if way != PING:
            sizes = [size for size, each in found.calls if each == way and _ahead(found, size, way)]
            where = (
                f"from {min(sizes):,} texts on" if sizes else f"at none of {', '.join(f'{n:,}' for n in _SIZES)} texts"
            )
            yield f"- {way}: ours answers more calls than the Node server {where}."


def _ahead(found: Found, size: int, way: str) -> bool:
    rates = found.calls[size, way]
    return rates[OURS] > rates[NODE]


def question(number: int) -> str:
    """A substring of one of the texts, so that every server finds it."""
    return f"near {_NAMES[number % len(_NAMES)]} has number {number * 7}"


def prepare(folder: Path, size: int) -> list[Server]:
    """The servers, each with the texts in its own form."""
    texts = [
        f"Note {n}: the {_THINGS[n % len(_THINGS)]} near {_NAMES[n % len(_NAMES)]} has number {n * 7}"
        for n in range(size)
    ]
    lines, graph = folder / f"{size}.txt", folder / f"{size}.jsonl"
    lines.write_text("\n".join(texts), encoding="utf-8")
    entities = ({"type": "entity", "name": f"n{n}", "entityType": "note", "observations": [text]}
                for n, text in enumerate(texts))  # fmt: skip
    graph.write_text("\n".join(map(json.dumps, entities)), encoding="utf-8")
    servers: list[Server] = [Server("bare interpreter", [sys.executable, "-c", "print(input())"], "")]
    for name, embedder in ((OURS, "local"), (NO_MODEL, "none")):
        store = folder / f"{size}-{embedder}.db"
        with Memory(store, embedder=embedder) as memory, memory.batch():
            memory.import_({"text": text} for text in texts)
            memory.work()
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
    servers.append(Server(SDK, sdk))
    servers.append(Server(NODE, node, "search_nodes"))
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


def drive(server: Server, calls: int, asked: Callable[[int], str] | None) -> float:
    """Calls in a second of a server that is warm, some at once, by a client that does nothing else. Without a question
    they are pings.
    """
    pipe = subprocess.PIPE
    with subprocess.Popen(  # noqa: S603 - our own servers
        server.command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
    ) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("no pipes")
        source, target = process.stdout, process.stdin

        def send(method: str, id: int, **params: Any) -> None:
            target.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode() + b"\n")
            target.flush()

        def call(number: int) -> None:
            if asked is None:
                send("ping", number + 1)
                return
            send("tools/call", number + 1, name=server.tool, arguments={"query": asked(number)})

        send("initialize", 0, **_HELLO)
        source.readline()
        target.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        began = 0.0
        for number in range(_AT_ONCE):
            call(number)
        for number in range(_AT_ONCE, _WARM + calls + _AT_ONCE):
            if b'"result"' not in source.readline():
                raise RuntimeError(f"{server.name} failed")
            if number == _WARM:
                began = time.perf_counter()
            call(number)
        taken = time.perf_counter() - began
        target.close()
        source.read()
    return (calls + _AT_ONCE) / taken


def load(server: Server, folder: Path, calls: int) -> float:
    """Calls in a second, by the Inspector. It counts the start of the server as well, as a host does."""
    inspector = [str(CLIENTS / "bin" / "node"), str(CLIENTS / "node" / "node_modules" / ".bin" / "mcp-inspector")]
    options = f"--method tools/call --tool-name {server.tool} --load --load-requests {calls}"
    options += f" --load-concurrency {_AT_ONCE} -q --format json --tool-arg"
    path = f"{CLIENTS / 'bin'}:{os.environ.get('PATH', '')}"
    environment = {**os.environ, "PATH": path, "HOME": str(folder)}
    command = [*inspector, "--cli", *server.command, *options.split(), f"query={question(3)}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)  # noqa: S603 - as above
    result = json.loads(done.stdout)["result"]
    if result["ok"] != calls:
        raise RuntimeError(f"{server.name}: {result}")
    return result["throughput"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

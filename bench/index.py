"""`python -m bench.index`: what the index file gives, as ratios within one run.

Texts and vectors are made up (`bench/synthetic.py`); every second question has an answer among them, and nothing is
left out of an answer because it fits too little.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field
from http.client import HTTPConnection
from itertools import count
from json import dumps, loads
from pathlib import Path
from statistics import median
from typing import Any, Final, cast

import numpy as np

from bench import machine
from bench.cold import BARE, COMMAND, cold_recall
from bench.contender import Contender
from bench.goals import Verdict
from bench.measure import Timing
from bench.ours import KnownVectors, Perdure
from bench.report import table
from bench.run import told
from bench.synthetic import synthetic
from perdure import Memory
from perdure.recall.index import NamespaceIndex
from perdure.store.sqlite.store import SqliteStore

COLD_GOAL: Final = {100_000: 0.35, 1_000_000: 1.0}
OWN_GOAL: Final = 60
MAPPED_GOAL: Final = 900
WARM_GOAL: Final = 10.0
EXACT_GOAL: Final = 0.99
WORKERS_GOAL: Final = 1.7
_HERE: Final = Path(__file__).parent
_DIMENSIONS: Final = 384
_ROUNDS: Final = 7
_QUESTIONS: Final = 100
_NEAREST: Final = 10
_PROCESSES: Final = 10
_SECONDS: Final = 5.0
_CLIENTS: Final = 8
_LARGE: Final = 300_000


@dataclass(slots=True)
class AtSize:
    """Processor seconds of whole processes, medians; milliseconds of processor time of a warm recall; megabytes."""

    size: int
    bare: float = 0.0
    with_file: float = 0.0
    without_file: float = 0.0
    wall: float = 0.0
    warm: float = 0.0
    resident: float = 0.0
    tenth_server: float = 0.0
    tenth_program: float = 0.0
    exact: float = 0.0
    file: float = 0.0
    peers: dict[str, Timing] = field(default_factory=dict[str, Timing])
    # Of each system, milliseconds of processor time for a question, and megabytes of the tenth process.
    beside: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    # What is made up contradicts itself, and nobody asks about it here.
    os.environ["PERDURE_LEARN"] = "off"
    found: dict[int, AtSize] = {}
    workers: dict[int, float] = {}
    if options.pieces and options.pieces.exists():
        found, workers = _read(options.pieces)
    with tempfile.TemporaryDirectory(prefix="perdure-bench-") as place:
        directory = options.stores or Path(place)
        where = machine.description(directory)
        for size in options.sizes:
            known = found.get(size, AtSize(size))
            found[size] = measure(directory / str(size), known, peers=options.peers, only_peers=options.only_peers)
        if options.workers:
            store = Perdure(directory / str(options.store) / Perdure.name).file
            workers = {number: _rate(store, number) for number in (1, 2)}
    at_sizes = [found[size] for size in sorted(found)]
    if options.pieces:
        kept = {"sizes": [asdict(at) for at in at_sizes], "workers": workers}
        options.pieces.write_text(dumps(kept, indent=1) + "\n", encoding="utf-8")
    lines = list(page(where, at_sizes, workers))
    print("\n".join(lines))
    if options.save:
        (_HERE / "index.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 1 if any(verdict.met is False for verdict in verdicts(at_sizes, workers)) else 0


def _read(pieces: Path) -> tuple[dict[int, AtSize], dict[int, float]]:
    kept: dict[str, Any] = loads(pieces.read_text(encoding="utf-8"))
    found = {at["size"]: AtSize(**at) for at in kept["sizes"]}
    for at in found.values():
        at.peers = {name: Timing(**timing) for name, timing in cast("dict[str, Any]", at.peers).items()}
        at.beside = {name: (warm, own) for name, (warm, own) in at.beside.items()}
    return found, {int(number): rate for number, rate in kept["workers"].items()}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.index", description=__doc__)
    parser.add_argument("--sizes", type=_numbers, default=(10_000, 100_000), help="default: 10000,100000")
    parser.add_argument("--stores", type=Path, help="a folder for the stores, which are made once and used again")
    parser.add_argument("--peers", action="store_true", help="beside lancedb, chromadb, sqlite-vec and txtai")
    parser.add_argument("--only-peers", action="store_true", help="beside the others, and nothing else")
    parser.add_argument("--workers", action="store_true", help="also `perdure serve` with one and two processes")
    parser.add_argument("--store", type=int, default=10_000, help="whose size is served (default: %(default)s)")
    parser.add_argument("--pieces", type=Path, help="a file with the figures of earlier runs, to which these are added")
    parser.add_argument("--save", action="store_true", help="write bench/index.md")
    return parser


def _numbers(value: str) -> tuple[int, ...]:
    return tuple(int(size.replace("_", "")) for size in value.split(",") if size)


def measure(directory: Path, at: AtSize, *, peers: bool, only_peers: bool) -> AtSize:
    corpus, size = synthetic(_DIMENSIONS), at.size
    ours = Perdure(directory / Perdure.name)
    with told(f"{size:,}: building"):
        if not ours.file.exists():
            ours.file.parent.mkdir(parents=True, exist_ok=True)
            ours.build(corpus.batches(size))
    if not only_peers:
        _measure_ours(ours, at, corpus.questions[0])
    if peers or only_peers:
        from bench.peers import PEERS

        with told(f"{size:,}: others"):
            for peer in PEERS:
                place = directory / (peer.store or peer.name)
                if not place.exists() and size <= _LARGE:
                    peer(place).build(corpus.batches(size))
            there = [peer for peer in PEERS if (directory / (peer.store or peer.name)).exists()]
            at.peers = cold_recall(directory, there, corpus, _ROUNDS, 60.0)
        with told(f"{size:,}: others, warm, and the tenth process of each"):
            at.beside = {each.name: _beside(each, directory) for each in (Perdure, *there)}
    return at


def _measure_ours(ours: Perdure, at: AtSize, question: str) -> None:
    size, folder = at.size, ours.file.with_name(f"{ours.file.name}-index")
    recall = [sys.executable, "-m", "perdure", "recall", "--store", str(ours.file), question]
    with told(f"{size:,}: new processes"):
        without: list[float] = []
        for _ in range(1 if size > _LARGE else 3):
            shutil.rmtree(folder, ignore_errors=True)
            # It leaves a file behind, as any first one does; that is part of what it costs.
            without.append(_processor_seconds(recall)[0])
        rounds = [
            (_processor_seconds([sys.executable, "-c", "pass"]), _processor_seconds(recall)) for _ in range(_ROUNDS)
        ]
    at.without_file = median(without)
    at.bare, at.with_file = median(each[0][0] for each in rounds), median(each[1][0] for each in rounds)
    at.wall = median(each[1][1] for each in rounds)
    at.file = sum(path.stat().st_size for path in folder.iterdir()) / (1 << 20)
    with told(f"{size:,}: warm, and the tenth process"):
        _warm(ours, at)
        at.tenth_server, at.tenth_program = _tenth_server(ours.file, question), _tenth_program(ours.file, question)


def _processor_seconds(command: Sequence[str]) -> tuple[float, float]:
    """Of a whole process, and of the clock."""
    begun = time.perf_counter()
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=_HERE.parent, env=environ)  # noqa: S603
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{' '.join(command)} failed")
    return used.ru_utime + used.ru_stime, time.perf_counter() - begun


def _warm(ours: Perdure, at: AtSize) -> None:
    corpus, known = synthetic(_DIMENSIONS), KnownVectors()
    with Memory(ours.file, embedder=known) as memory:
        before = most = _kilobytes(os.getpid(), "Rss")
        taken: list[float] = []
        for turn in range(2 * _QUESTIONS):
            question = turn % _QUESTIONS
            known.know((corpus.questions[question],), corpus.question_vectors[question][np.newaxis])
            begun = time.thread_time()
            memory.recall(corpus.questions[question], min_relevance=0)
            taken.append((time.thread_time() - begun) * 1000)
            # What is mapped is let go now and then.
            most = max(most, _kilobytes(os.getpid(), "Rss") if turn % 3 == 0 else 0)
        at.warm = median(taken[_QUESTIONS:])
        at.resident = (most - before) / 1024
    with closing(SqliteStore.open(ours.file)) as store:
        vectors, hits = NamespaceIndex("default", known.generation).current(store).vectors, 0
        for vector in corpus.question_vectors[:_QUESTIONS]:
            near, every = vectors.nearest(vector, None, _NEAREST), vectors.matrix @ vector
            exact = np.argpartition(every, -_NEAREST)[-_NEAREST:]
            hits += len(set(exact.tolist()) & set(near.best(_NEAREST).rows.tolist()[:_NEAREST]))
        at.exact = hits / (_NEAREST * _QUESTIONS)


def _beside(contender: type[Contender], directory: Path) -> tuple[float, float]:
    place = directory / (contender.store or contender.name)
    command = [sys.executable, "-m", "bench.asks_many", contender.name, str(place)]
    alone = subprocess.run(  # noqa: S603 - our own command
        command, stdin=subprocess.DEVNULL, capture_output=True, check=True, cwd=_HERE.parent, encoding="utf-8"
    )
    return float(alone.stdout), _tenth(command, (), 1)


def _tenth(command: Sequence[str], said: Sequence[str], lines: int) -> float:
    """What one more of ten processes costs that have asked something: its proportional share, in megabytes, the median
    of all but the first. Each is told something, and has asked when it has answered so many lines.
    """
    with ExitStack() as stack:
        children = list[subprocess.Popen[bytes]]()
        # Whoever else has the model loaded on this machine is none of the ten.
        caches = stack.enter_context(tempfile.TemporaryDirectory(prefix="perdure-bench-"))
        environ = {**os.environ, "XDG_CACHE_HOME": caches}
        for _ in range(_PROCESSES):
            child = subprocess.Popen(  # noqa: S603
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=_HERE.parent, env=environ
            )
            stack.callback(child.wait)
            if child.stdin is None or child.stdout is None:
                raise RuntimeError("a process has no pipes")
            stack.callback(child.stdin.close)
            child.stdin.write("".join(f"{each}\n" for each in said).encode())
            child.stdin.flush()
            for _ in range(lines):
                child.stdout.readline()
            children.append(child)
        return median(_kilobytes(child.pid, "Pss") for child in children[1:]) / 1024


def _tenth_program(file: Path, question: str) -> float:
    """Of ten programs in Python that each have a model of their own."""
    return _tenth([sys.executable, "-m", "bench.asks_once", str(file), question], (), 1)


def _tenth_server(file: Path, question: str) -> float:
    """Of ten MCP servers, as many as a host has windows: those that come later ask the first for vectors."""
    return _tenth([sys.executable, "-m", "perdure", "mcp", "--store", str(file)], questions_of_host(question), 2)


def questions_of_host(question: str) -> list[str]:
    """What a host says that greets an MCP server and has it recall something; the server answers two lines."""
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    messages = (
        {"id": 1, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "recall", "arguments": {"query": question}}},
    )
    return [dumps({"jsonrpc": "2.0", **message}) for message in messages]


def _kilobytes(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def _rate(store: Path, number: int) -> float:
    """Recalls a second of a server with so many processes."""
    command = [sys.executable, "-m", "perdure", "serve", "--store", str(store), "--port", "0", "--json", "--no-auth"]
    command += ["--rate", "0", "--no-work", "--workers", str(number)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        lines: list[bytes] = []
        while process.stdout is not None and (line := process.stdout.readline()) and line != b"}\n":
            lines.append(line)
        address: str = loads(b"".join(lines) + b"}")["url"].removeprefix("http://")
        asked, numbers, questions = [0] * _CLIENTS, count(), synthetic(_DIMENSIONS).questions
        end = 0.0

        def ask(client: int) -> None:
            connection = HTTPConnection(address)
            while time.monotonic() < end:
                body = dumps({"query": questions[next(numbers) % len(questions)], "min_relevance": 0})
                connection.request("POST", "/v1/recall", body, {"Content-Type": "application/json"})
                answer: Any = connection.getresponse()
                answer.read()
                asked[client] += 1

        for seconds in (2.0, _SECONDS):
            asked[:] = [0] * _CLIENTS
            end = time.monotonic() + seconds
            clients = [threading.Thread(target=ask, args=(client,)) for client in range(_CLIENTS)]
            for each in clients:
                each.start()
            for each in clients:
                each.join()
        return sum(asked) / _SECONDS
    finally:
        process.terminate()
        process.wait()


def verdicts(found: Sequence[AtSize], workers: dict[int, float]) -> Iterator[Verdict]:
    for at in _with_ours(found):
        if at.size in COLD_GOAL:
            goal = f"{at.size:,}: a cold `perdure recall` in at most {COLD_GOAL[at.size]} s of processor time"
            yield Verdict(goal, f"{at.with_file:.2f} s", at.with_file <= COLD_GOAL[at.size])
        if at.size == 100_000:  # noqa: PLR2004 - the size that the goal names
            for what, found_mb in (("MCP server", at.tenth_server), ("program in Python", at.tenth_program)):
                yield Verdict(f"the tenth {what}: at most {OWN_GOAL} MB", f"{found_mb:.0f} MB", found_mb <= OWN_GOAL)
        if at.size == 1_000_000:  # noqa: PLR2004 - the same
            yield Verdict(
                f"1,000,000: at most {MAPPED_GOAL} MB mapped", f"{at.resident:.0f}", at.resident <= MAPPED_GOAL
            )
            yield Verdict(f"1,000,000: warm in at most {WARM_GOAL:.0f} ms", f"{at.warm:.1f}", at.warm <= WARM_GOAL)
        yield Verdict(
            f"{at.size:,}: at least {EXACT_GOAL} of the exact ten nearest", f"{at.exact:.3f}", at.exact >= EXACT_GOAL
        )
    if workers:
        ratio = workers[2] / workers[1]
        yield Verdict(f"two processes: at least {WORKERS_GOAL} times one", f"{ratio:.2f}", ratio >= WORKERS_GOAL)


def _with_ours(found: Sequence[AtSize]) -> list[AtSize]:
    return [at for at in found if at.bare]


def page(where: dict[str, str], found: Sequence[AtSize], workers: dict[int, float]) -> Iterator[str]:
    yield from ("# One index for all processes", "")
    told_where = ", ".join(f"{name} {value}" for name, value in where.items())
    yield f"Written by `python -m bench.index` (`make bench-index`). Machine: {told_where}."
    yield "Texts and vectors are made up. Times are processor time, of whole processes or of the thread that asks: the"
    yield "clock tells how busy a machine is. Multiples are those of `python -c pass` in the same run."
    yield "What a process costs is its proportional share of memory. An MCP server, as hosts start one for each window,"
    yield "asks the first one for vectors; one that gets none within 0.1 s, on a busy machine, loads a model. A program"
    yield "in Python has a model of its own, with 10 MB of weights that the runtime rearranges for itself."
    yield from ("", "## Goals", "")
    marks = {True: "met", False: "missed", None: ""}
    rows = [(one.goal, one.found, marks[one.met]) for one in verdicts(found, workers)]
    yield from table(("goal", "found", ""), rows)
    yield from ("", "## New processes", "")
    head = (
        "memories",
        "bare s",
        "recall with the file",
        "without it",
        "file MB",
        "tenth server MB",
        "tenth program MB",
    )
    yield from table(
        head,
        [
            (
                f"{at.size:,}", f"{at.bare:.3f}", f"{at.with_file:.2f} s, {at.with_file / at.bare:.0f} x",
                f"{at.without_file:.2f} s, {at.without_file / at.bare:.0f} x", f"{at.file:.0f}",
                f"{at.tenth_server:.0f}", f"{at.tenth_program:.0f}",
            )
            for at in _with_ours(found)
        ],
    )  # fmt: skip
    yield from ("", "## A process that lives on", "")
    head = ("memories", "recall ms", "most resident MB in 200 questions", "of the exact ten nearest")
    yield from table(
        head, [(f"{at.size:,}", f"{at.warm:.2f}", f"{at.resident:.0f}", f"{at.exact:.3f}") for at in _with_ours(found)]
    )
    for at in (each for each in found if each.peers):
        yield from ("", f"## New processes beside others, {at.size:,} memories, milliseconds of the clock", "")
        bare = at.peers[BARE].p50
        rows = [(name, f"{taken.p50:.0f}", f"{taken.p50 / bare:.1f}") for name, taken in at.peers.items()]
        yield from table(("", "ms", "x bare"), rows)
        yield f"`{COMMAND}` embeds the question; the others are given its vector."
    for at in (each for each in found if each.beside):
        yield from ("", f"## Processes that live on beside others, {at.size:,} memories", "")
        yield from table(
            ("", "ms of processor time for a question", "the tenth process, MB"),
            [(name, f"{warm:.2f}", f"{own:.0f}") for name, (warm, own) in at.beside.items()],
        )
        yield "Vectors are given, and no process has a model."
    if workers:
        yield from ("", "## `perdure serve`, recalls a second", "")
        yield from table(("processes", "a second"), [(str(number), f"{rate:.0f}") for number, rate in workers.items()])


if __name__ == "__main__":
    sys.exit(main())

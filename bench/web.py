"""What the page costs: the screens and a search in a large store, beside the route behind them, and the memory of a
server with it beside one without. `make bench-web` prints it; with PAGE_BENCH=--save it becomes bench/web.md.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from bench.machine import description
from bench.report import table
from perdure import Memory

PAGE = Path(__file__).parent / "web.md"

WORDS = (
    "river bridge harbour market tower garden library station tram boat square mill bakery school park canal".split()
)
REPEATS = 15
STARTS = 5
# Each is asked once for the route and once on the page: an answer may be remembered for a while.
QUESTIONS = [" ".join(random.Random(n).sample(WORDS, 6)) for n in range(200)]  # noqa: S311
HITS = 20
MOST_FIRST_PAGE, MOST_OVER_RECALL, MOST_MEGABYTES = 100, 30, 20


def fill(memory: Memory, count: int) -> None:
    chance = random.Random(7)  # noqa: S311 - seeded, so that it can be repeated
    lines = (
        {"text": f"{' '.join(chance.choices(WORDS, k=9))} number {n}", "tags": [chance.choice(WORDS)]}
        for n in range(count)
    )
    memory.import_(lines)


class Cost(NamedTuple):
    """Milliseconds by the clock, and of the server's processor."""

    clock: float
    processor: float


class Server:
    """`perdure serve`, with the page or without it."""

    def __init__(self, store: Path, *options: str) -> None:
        environ = {**os.environ, "PERDURE_STORE": str(store), "PERDURE_EMBEDDER": "none"}
        command = [
            sys.executable,
            "-m",
            "perdure",
            "serve",
            "--port",
            "0",
            "--json",
            "--rate",
            "0",
            "--no-work",
            *options,
        ]
        self.process = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE)  # noqa: S603 - our own
        lines: list[bytes] = []
        while self.process.stdout and (line := self.process.stdout.readline()) != b"}\n":
            lines.append(line)
        self.started: dict[str, Any] = json.loads(b"".join(lines) + b"}")
        self.connection = HTTPConnection(urlsplit(str(self.started["url"])).netloc)

    def ask(self, method: str, path: str, headers: dict[str, str], body: bytes | None = None) -> Any:
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        self.said = answer.read()
        if answer.status != HTTPStatus.OK:
            raise RuntimeError(f"{path}: {answer.status}")
        return answer

    def recall(self, question: str, bearer: dict[str, str]) -> None:
        self.ask("POST", "/v1/recall", bearer, json.dumps({"query": question, "limit": HITS}).encode())
        if len(json.loads(self.said)["hits"]) != HITS:
            raise RuntimeError(f"{question}: too few memories answer it")

    def cost(self, call: Callable[[], object], repeats: int = REPEATS) -> Cost:
        """The median by the clock; of the processor the mean, because it is counted in hundredths of a second."""
        times: list[float] = []
        before = self._processor_seconds
        for _ in range(repeats):
            begun = perf_counter()
            call()
            times.append(perf_counter() - begun)
        return Cost(1000 * median(times), 1000 * (self._processor_seconds - before) / repeats)

    @property
    def _processor_seconds(self) -> float:
        figures = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(figures[11]) + int(figures[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def megabytes(self) -> float:
        """What is this process's own; pages of mapped files that others share are not."""
        lines = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024

    def visit(self) -> dict[str, str]:
        """The cookie of somebody who followed the link."""
        link = urlsplit(str(self.started["page"]))
        opened = self.ask("GET", f"{link.path}?{link.query}", {})
        return {"Cookie": str(opened.getheader("Set-Cookie")).partition(";")[0]}

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


SCREENS = (
    ("Today", ""), ("Memories", "memories"), ("a later page", "memories?after={half}"), ("Log", "log"),
    ("Memory", "memory?n={half}"), ("known then", "memories?known_at=yesterday"), ("Health", "health"),
    ("Review", "review"), ("Sessions", "sessions"), ("Facts", "facts"),
)  # fmt: skip


class Figures(NamedTuple):
    memories: int
    first: list[Cost]
    recall: Cost
    search: Cost
    screens: dict[str, Cost]
    megabytes_with: float
    megabytes_without: float


def measure(store: Path, count: int) -> Figures:
    bearer: dict[str, str] = {}
    without = 0.0
    # The first process makes the files of the index, which others only map.
    for _ in range(2):
        plain = Server(store)
        token = Path(f"{store}-local-token").read_text(encoding="utf-8").strip()
        bearer = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        for question in QUESTIONS[: 6 * REPEATS]:
            plain.recall(question, bearer)
        without = plain.megabytes
        plain.end()
    first: list[Cost] = []
    for _ in range(STARTS - 1):
        server = Server(store, "--ui")
        cookie = server.visit()
        first.append(server.cost(lambda server=server, cookie=cookie: server.ask("GET", "/ui/", cookie), 1))
        server.end()
    server = Server(store, "--ui")
    cookie = server.visit()
    first.append(server.cost(lambda: server.ask("GET", "/ui/", cookie), 1))
    for question in QUESTIONS[: 4 * REPEATS]:
        server.recall(question, bearer)
    asked, searched = iter(QUESTIONS[-REPEATS:]), iter(QUESTIONS[-2 * REPEATS : -REPEATS])
    recall = server.cost(lambda: server.recall(next(asked), bearer))
    search = server.cost(lambda: server.ask("GET", f"/ui/search?q={quote(next(searched))}", cookie))
    screens = {
        name: server.cost(lambda path=path: server.ask("GET", f"/ui/{path.format(half=count // 2)}", cookie))
        for name, path in SCREENS
    }
    megabytes = server.megabytes
    server.end()
    return Figures(count, first, recall, search, screens, megabytes, without)


def page(figures: Figures, machine: dict[str, str]) -> Iterator[str]:
    where = ", ".join(f"{name} {value}" for name, value in machine.items())
    first = median(cost.clock for cost in figures.first)
    more, over = figures.megabytes_with - figures.megabytes_without, figures.search.clock - figures.recall.clock
    yield from ("# What the page costs", "")
    yield f"Written by `python -m bench.web --save` (`make bench-web PAGE_BENCH=--save`). Machine: {where}."
    yield f"{figures.memories:,} memories, found by their words, asked over HTTP on this machine; medians of {REPEATS},"
    yield f"for the first page of a process of {STARTS} processes. The processor's time is that of the server alone."
    yield from ("", "## Goals", "")
    goals = (
        (f"the first page of a process: at most {MOST_FIRST_PAGE} ms", first, MOST_FIRST_PAGE, "ms"),
        (f"a search: at most recall + {MOST_OVER_RECALL} ms", over, MOST_OVER_RECALL, "ms"),
        (f"memory of the server: at most {MOST_MEGABYTES} MB more than without the page", more, MOST_MEGABYTES, "MB"),
    )
    yield from table(
        ("goal", "found", ""),
        [(goal, f"{found:.1f} {unit}", "met" if found <= most else "missed") for goal, found, most, unit in goals],
    )
    yield from ("", "## Milliseconds", "")
    rows = {
        "the first page of a process": Cost(first, median(cost.processor for cost in figures.first)),
        "`POST /v1/recall`": figures.recall,
        "the same kind of question on the page": figures.search,
        **figures.screens,
    }
    yield from table(
        ("", "by the clock", "of the processor"),
        [(name, f"{cost.clock:.1f}", f"{cost.processor:.1f}") for name, cost in rows.items()],
    )
    yield ""
    yield f"Memory of its own after all of that: {figures.megabytes_with:.0f} MB with the page, after as many recalls"
    yield f"{figures.megabytes_without:.0f} MB without it."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=100_000, help="number of memories")
    parser.add_argument("--store", type=Path, help="a store that an earlier run filled, or that this one fills")
    parser.add_argument("--save", action="store_true", help=f"write bench/{PAGE.name}")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        store = options.store or Path(folder) / "memory.db"
        machine = description(store.parent)
        if not store.exists():
            with Memory(store, embedder="none") as memory:
                fill(memory, options.count)
        lines = list(page(measure(store, options.count), machine))
    print("\n".join(lines))
    if options.save:
        PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""What a store in PostgreSQL costs beside one in a file: `python -m bench.postgres` prints ratios of one run.

Both stores are on this machine, and the server shares its processors with the clients: figures are worth something only
beside each other. Both take turns in every round, and what counts is the median of the rounds' ratios. The server is
the one of the tests, with everything on that makes a write durable.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from bench import machine
from bench.report import table
from perdure import Memory
from perdure.embed.port import Generation
from perdure.location import locate
from perdure.store.postgres.address import parse_address
from perdure.store.postgres.migrate import migrate
from tests.postgres_server import PostgresServer

PAGE: Final = Path(__file__).with_name("postgres.md")
_DIMENSIONS: Final = 384
_WORDS: Final = [f"word{n}" for n in range(3000)]
_SECONDS: Final = 4.0
_ROUNDS: Final = 5
_CLIENTS: Final = 32
_NAMESPACES: Final = 64
# How many of them one client writes to, each by chance.
_OF_A_CLIENT: Final = 4
_RECALLS: Final = 400
# A disk that takes its time: each call that flushes waits so long first.
_FLUSH_MICROSECONDS: Final = 2000
_SLOW_DISK: Final = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
static int slow(const char *name, int file) {
    int (*flush)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    usleep(%d);
    return flush(file);
}
int fsync(int file) { return slow("fsync", file); }
int fdatasync(int file) { return slow("fdatasync", file); }
"""


class Measured(NamedTuple):
    """Medians of both stores, and that of the ratios. `at_least`: whether the goal is a floor."""

    name: str
    file: float
    database: float
    ratio: float
    goal: float
    at_least: bool

    @property
    def met(self) -> bool:
        return self.ratio >= self.goal if self.at_least else self.ratio <= self.goal


class RandomEmbedder:
    """As quick as an embedder can be: the vector of a text is drawn by chance from the text itself."""

    generation = Generation("bench", "random", _DIMENSIONS, "1")

    def embed_query(self, text: str) -> Any:
        return self.embed_passages([text])[0]

    def embed_passages(self, texts: Sequence[str], progress: object = None) -> Any:  # noqa: ARG002
        drawn = [np.random.default_rng(hash(text) & 0xFFFF_FFFF).standard_normal(_DIMENSIONS) for text in texts]
        vectors = np.array(drawn, np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def sentence(source: random.Random) -> str:
    return " ".join(source.choices(_WORDS, k=20))


def opened(store: str, namespace: str = "default") -> Memory:
    return Memory(store, embedder=RandomEmbedder(), namespace=namespace)


def write_for(store: str, names: Sequence[str], seed: int, begin: Callable[[], object] = lambda: None) -> list[float]:
    """How long each write of one client took, in seconds. It begins when everybody is ready."""
    source, took = random.Random(seed), list[float]()  # noqa: S311
    with opened(store) as memory:
        namespaces = [memory.namespace(name) for name in names]
        for namespace in namespaces:
            namespace.remember(sentence(source))
        begin()
        until = time.perf_counter() + _SECONDS
        while (start := time.perf_counter()) < until:
            source.choice(namespaces).remember(sentence(source))
            took.append(time.perf_counter() - start)
    return took


def many_clients(store: str, seed: int) -> list[float]:
    """Each client is a process of its own."""
    context = multiprocessing.get_context("fork")
    barrier, answers = context.Barrier(_CLIENTS), context.SimpleQueue()
    names = [f"n{n}" for n in range(_NAMESPACES)]

    def client(n: int, barrier: Barrier) -> None:
        own = random.Random(n).sample(names, _OF_A_CLIENT)  # noqa: S311
        answers.put(write_for(store, own, (seed + 1) * _CLIENTS + n, barrier.wait))

    processes = [context.Process(target=client, args=(n, barrier)) for n in range(_CLIENTS)]
    for process in processes:
        process.start()
    took = [second for _ in processes for second in answers.get()]
    for process in processes:
        process.join()
    return took


def percentile(took: Sequence[float], share: float) -> float:
    return sorted(took)[int(len(took) * share)]


def timed(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def in_turns(act: Callable[[str], list[float]], stores: Sequence[str]) -> list[list[list[float]]]:
    """What each round found for the file, and for the database: both begin equally often."""
    rounds: list[list[list[float]]] = []
    for n in range(_ROUNDS):
        found = [act(store) for store in (stores if n % 2 else stores[::-1])]
        rounds.append(found if n % 2 else found[::-1])
    return rounds


def compared(name: str, goal: float, pairs: Sequence[Sequence[float]], *, at_least: bool) -> Measured:
    files, databases = zip(*pairs, strict=True)
    ratio = statistics.median(database / file for file, database in pairs)
    return Measured(name, statistics.median(files), statistics.median(databases), ratio, goal, at_least)


def one_client(stores: Sequence[str], _folder: Path, _size: int) -> Iterator[Measured]:
    seeds = iter(range(1_000_000))
    rounds = in_turns(lambda store: write_for(store, ["one"], next(seeds)), stores)
    rates = [[len(took) / sum(took) for took in pair] for pair in rounds]
    yield compared("remember, one client: writes a second", 0.55, rates, at_least=True)


def clients(stores: Sequence[str], goal: float) -> Iterator[Measured]:
    seeds = iter(range(1_000_000))
    rounds = in_turns(lambda store: many_clients(store, next(seeds)), stores)
    rates = [[len(took) / _SECONDS for took in pair] for pair in rounds]
    slow = [[percentile(took, 0.95) for took in pair] for pair in rounds]
    name = f"remember, {_CLIENTS} clients on {_NAMESPACES} namespaces"
    yield compared(f"{name}: writes a second", goal, rates, at_least=True)
    yield compared(f"{name}: p95 seconds", 0.6, slow, at_least=False)


def quick_disk(stores: Sequence[str], _folder: Path, _size: int) -> Iterator[Measured]:
    return clients(stores, 1.0)


def slow_disk(stores: Sequence[str], _folder: Path, _size: int) -> Iterator[Measured]:
    return clients(stores, 2.0)


def reading(stores: Sequence[str], folder: Path, size: int) -> Iterator[Measured]:
    source, file = random.Random(5), folder / "import.jsonl"  # noqa: S311
    lines = (json.dumps({"text": sentence(source)}) for _ in range(size))
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    imported: list[float] = []
    for store in stores:
        with opened(store, "large") as memory:
            imported.append(size / timed(lambda memory=memory: memory.import_(file)))
            memory.work()
    yield compared(f"import of {size:,}: records a second", 0.5, [imported], at_least=True)
    questions = [sentence(source) for _ in range(_RECALLS)]

    def first_recall(store: str) -> list[float]:
        # What earlier processes left in files for later ones is there for neither.
        shutil.rmtree(locate(store).beside("index"), ignore_errors=True)
        with opened(store, "large") as memory:
            return [timed(lambda: memory.recall(questions[0]))]

    cold = [[took[0] for took in pair] for pair in in_turns(first_recall, stores)]
    yield compared(f"first recall at {size:,}, no index anywhere: seconds", 1.5, cold, at_least=False)
    memories = [opened(store, "large") for store in stores]
    for memory in memories:
        for question in questions[:10]:
            memory.recall(question)
    asked = len(questions) // _ROUNDS
    warm: list[list[float]] = []
    for n in range(_ROUNDS):
        took: list[list[float]] = [[], []]
        for question in questions[n * asked : (n + 1) * asked]:
            for memory, times in zip(memories, took, strict=True):
                times.append(timed(lambda memory=memory, question=question: memory.recall(question)))
        warm.append([percentile(times, 0.95) for times in took])
    for memory in memories:
        memory.close()
    yield compared(f"warm recall at {size:,}: p95 seconds", 2.0, warm, at_least=False)


SLOW: Final = "slow-disk"
PARTS: Final = {"one": one_client, "clients": quick_disk, SLOW: slow_disk, "recall": reading}


def measured_on_a_slow_disk(part: str, size: int) -> list[Measured]:
    """In a process of its own, because a library that waits at each flush must be there when a program starts. So the
    clients of the file wait as the server does.
    """
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        folder.chmod(0o755)
        source, library = folder / "slow_disk.c", folder / "slow_disk.so"
        source.write_text(_SLOW_DISK % _FLUSH_MICROSECONDS, encoding="utf-8")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)  # noqa: S603, S607
        library.chmod(0o755)
        command = [sys.executable, "-m", "bench.postgres", "--json", "--parts", part, "--size", str(size)]
        environment = {**os.environ, "LD_PRELOAD": str(library)}
        done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)  # noqa: S603
    return [Measured(*each) for each in json.loads(done.stdout)]


def measure(part: str, size: int) -> list[Measured]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        folder.chmod(0o755)
        # The index files of the database's clients are put there as well.
        os.environ["XDG_DATA_HOME"] = str(folder / "data")
        server = PostgresServer(durable=True, settings=("shared_buffers=256MB", "max_wal_size=4GB"))
        try:
            location = locate(server.url())
            migrate(parse_address(location.address, location.shown))
            return list(PARTS[part]((str(folder / "memory.db"), server.url()), folder, size))
        finally:
            server.remove()


def page(part: str, found: Sequence[Measured]) -> str:
    """The section of one part."""
    where = ", ".join(f"{name} {value}" for name, value in machine.description(Path.cwd()).items())
    rows = [
        (
            each.name, f"{each.file:.4g}", f"{each.database:.4g}", f"{each.ratio:.2f}",
            f"{'≥' if each.at_least else '≤'} {each.goal:g}", "met" if each.met else "missed",
        )
        for each in found
    ]  # fmt: skip
    head = ("", "file", "database", "ratio", "goal", "")
    return "\n".join((f"## {part}", "", *table(head, rows), "", f"Machine: {where}.", ""))


def saved(sections: dict[str, str], earlier: str) -> str:
    """The page with these sections in the place of earlier ones."""
    kept = {section.partition("\n")[0]: f"## {section}" for section in re.split("(?m)^## ", earlier)[1:]}
    intro = (
        "# What a store in PostgreSQL costs beside one in a file\n\n"
        "Written by `python -m bench.postgres --save`, part by part (`--parts`). Both stores take turns on one\n"
        "machine, which the server shares with its clients. The columns of the stores are medians of five rounds, the\n"
        f"ratio is the median of the rounds' ratios; a round of writing takes {_SECONDS:g} seconds. At a slow disk\n"
        f"each flush waits {_FLUSH_MICROSECONDS / 1000:g} ms first, for both.\n"
    )
    every = {**kept, **sections}
    return "\n".join([intro, *(every[part].rstrip() + "\n" for part in PARTS if part in every)])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.postgres", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", type=int, default=100_000, help="how many memories recall has to look through")
    parser.add_argument("--parts", nargs="+", choices=[*PARTS], default=[*PARTS], help="what is measured")
    parser.add_argument("--save", action="store_true", help="write the figures into bench/postgres.md")
    parser.add_argument("--json", action="store_true", help="print what was measured of one part, and judge nothing")
    options = parser.parse_args(arguments)
    if options.json:
        print(json.dumps(measure(options.parts[0], options.size)))
        return 0
    sections: dict[str, str] = {}
    missed = False
    for part in options.parts:
        found = (measured_on_a_slow_disk if part == SLOW else measure)(part, options.size)
        sections[part] = page(part, found)
        missed = missed or not all(each.met for each in found)
        print(sections[part], flush=True)
    if options.save:
        PAGE.write_text(saved(sections, PAGE.read_text("utf-8") if PAGE.exists() else ""), encoding="utf-8")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())

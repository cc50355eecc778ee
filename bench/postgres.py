"""What a store in PostgreSQL costs beside one in a file: `python -m bench.postgres` prints ratios of one run.

Both stores are on this machine, and the server shares its processors with the clients: figures are worth something only
beside each other. The server is the one of the tests, with everything on that makes a write durable.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from perdure import Memory
from perdure.embed.port import Generation
from perdure.location import locate
from perdure.store.postgres.address import parse_address
from perdure.store.postgres.migrate import migrate
from tests.postgres_server import PostgresServer

_DIMENSIONS: Final = 384
_WORDS: Final = [f"word{n}" for n in range(3000)]
_SECONDS: Final = 5.0
_CLIENTS: Final = 32
_NAMESPACES: Final = 64
_RECALLS: Final = 60


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


def write_for(store: str, namespaces: Sequence[str], seconds: float, seed: int) -> list[float]:
    """How long each write took, in seconds."""
    source, took = random.Random(seed), list[float]()  # noqa: S311
    memories = [opened(store, name) for name in namespaces]
    until = time.perf_counter() + seconds
    while (start := time.perf_counter()) < until:
        source.choice(memories).remember(sentence(source))
        took.append(time.perf_counter() - start)
    for memory in memories:
        memory.close()
    return took


def many_clients(store: str) -> list[float]:
    names = [f"n{n}" for n in range(_NAMESPACES)]
    jobs = [(store, random.Random(n).sample(names, 4), _SECONDS, n) for n in range(_CLIENTS)]  # noqa: S311
    with multiprocessing.get_context("fork").Pool(_CLIENTS) as processes:
        return [took for client in processes.starmap(write_for, jobs) for took in client]


def percentile(took: Sequence[float], share: float) -> float:
    return sorted(took)[int(len(took) * share)]


def timed(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def measure(store: str, folder: Path, size: int) -> dict[str, float]:
    source = random.Random(5)  # noqa: S311
    found: dict[str, float] = {}
    took = write_for(store, ["one"], _SECONDS, 1)
    found["remember, one client: writes a second"] = len(took) / sum(took)
    took = many_clients(store)
    found[f"remember, {_CLIENTS} clients on {_NAMESPACES} namespaces: writes a second"] = len(took) / _SECONDS
    found[f"remember, {_CLIENTS} clients: p95 seconds"] = percentile(took, 0.95)
    file = folder / "import.jsonl"
    lines = (json.dumps({"text": sentence(source)}) for _ in range(size))
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    with opened(store, "large") as memory:
        found["import: records a second"] = size / timed(lambda: memory.import_(file))
        memory.work()
    with opened(store, "large") as memory:
        found[f"first recall at {size:,}: seconds"] = timed(lambda: memory.recall(sentence(source)))
        warm = [timed(lambda: memory.recall(sentence(source))) for _ in range(_RECALLS)]
    found[f"warm recall at {size:,}: p95 seconds"] = percentile(warm, 0.95)
    found[f"warm recall at {size:,}: median seconds"] = statistics.median(warm)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.postgres", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", type=int, default=10_000, help="how many memories recall has to look through")
    options = parser.parse_args(arguments)
    server = PostgresServer(durable=True, settings=("shared_buffers=256MB", "max_wal_size=4GB"))
    try:
        location = locate(server.url())
        migrate(parse_address(location.address, location.shown))
        with tempfile.TemporaryDirectory() as folder:
            in_file = measure(str(Path(folder) / "memory.db"), Path(folder), options.size)
            in_database = measure(server.url(), Path(folder), options.size)
    finally:
        server.remove()
    print(f"{'':62} {'file':>10} {'database':>10} {'ratio':>7}")
    for name, first in in_file.items():
        second = in_database[name]
        print(f"{name:62} {first:10.4g} {second:10.4g} {second / first:7.2f}")


if __name__ == "__main__":
    main()

"""`python -m bench.lives`: what correcting, undoing and checkpoints cost, as ratios within one run.

The texts are made up, and so are their vectors: how long a model thinks is not what is measured here.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from bench.corpus import Vectors
from perdure import Memory
from perdure.embed.port import Generation, Progress

UPSERT_GOAL: Final = 1.5
UNDO_GOAL: Final = 1.0
_ROUNDS: Final = 200
_BATCH: Final = 1000
_WORDS: Final = tuple(f"{a}{b}" for a in ("ka", "mo", "ri", "ten", "su", "val") for b in ("dor", "lin", "mar", "net"))


class InstantVectors:
    """An embedder that costs next to nothing: a direction drawn from the text's hash."""

    def __init__(self, dimensions: int = 384) -> None:
        self.generation = Generation("bench", "instant", dimensions, "1")

    def embed_query(self, text: str) -> Vectors:
        return self.embed_passages([text])[0]

    def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:  # noqa: ARG002
        seeds = [int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) for text in texts]
        drawn = np.stack([np.random.default_rng(seed).standard_normal(self.generation.dimensions) for seed in seeds])
        return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Costs:
    """Milliseconds, medians; `checkpoint_bytes` is what one checkpoint adds to the write-ahead log."""

    size: int
    insert: float
    upsert: float
    write_batch: float
    undo_batch: float
    checkpoint: float
    checkpoint_bytes: int


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.lives", description=__doc__)
    parser.add_argument("--sizes", default="1000,100000", help="how many memories (default: %(default)s)")
    options = parser.parse_args(arguments)
    print("| memories | insert | upsert | ratio | write 1,000 | undo 1,000 | ratio | checkpoint | bytes logged |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    met = True
    for size in map(int, options.sizes.split(",")):
        with tempfile.TemporaryDirectory(prefix="perdure-bench-") as directory:
            costs = measure(Path(directory), size)
        met &= costs.upsert / costs.insert <= UPSERT_GOAL and costs.undo_batch / costs.write_batch <= UNDO_GOAL
        print(
            f"| {size:,} | {costs.insert:.2f} ms | {costs.upsert:.2f} ms | **{costs.upsert / costs.insert:.2f}** "
            f"| {costs.write_batch:.0f} ms | {costs.undo_batch:.0f} ms "
            f"| **{costs.undo_batch / costs.write_batch:.2f}** | {costs.checkpoint:.2f} ms "
            f"| {costs.checkpoint_bytes:,} |",
            flush=True,
        )
    print(
        f"\nGoals: upsert at most {UPSERT_GOAL} inserts, undo at most what writing took: {'met' if met else 'MISSED'}."
    )
    return 0 if met else 1


def measure(directory: Path, size: int) -> Costs:
    source = random.Random(size)  # noqa: S311
    with Memory(directory / "memory.db", embedder=InstantVectors()) as memory:
        memory.import_({"text": text, "key": f"fact:{n}"} for n, text in enumerate(_texts(source, size)))
        memory.work()
        insert, upsert = _singles(memory, source, size)
        write, undo = _batches(memory, source)
        checkpoint = median(_took(lambda turn=turn: memory.checkpoint(f"bench {turn}")) for turn in range(20))
    return Costs(size, insert, upsert, write, undo, checkpoint, _logged(directory))


def _singles(memory: Memory, source: random.Random, size: int) -> tuple[float, float]:
    """Turn by turn, so that whatever else the machine does concerns both alike."""
    inserts: list[float] = []
    upserts: list[float] = []
    for turn, (first, second) in enumerate(zip(_texts(source, _ROUNDS), _texts(source, _ROUNDS), strict=True)):
        known = f"fact:{source.randrange(size)}"
        inserts.append(_took(lambda turn=turn, text=first: memory.upsert(f"new:{turn}", text)))
        upserts.append(_took(lambda known=known, text=second: memory.upsert(known, text)))
    return median(inserts), median(upserts)


def _batches(memory: Memory, source: random.Random) -> tuple[float, float]:
    writes: list[float] = []
    undos: list[float] = []
    for _ in range(3):
        texts = [{"text": text} for text in _texts(source, _BATCH)]
        batch = [""]

        def write(texts: list[dict[str, str]] = texts, batch: list[str] = batch) -> None:
            batch[0] = memory.import_(texts).batch or ""

        writes.append(_took(write))
        undos.append(_took(lambda batch=batch: memory.undo(batch[0])))
    return median(writes), median(undos)


def _logged(directory: Path) -> int:
    """In a store just opened: its log is empty, and grows by what is written."""
    with Memory(directory / "memory.db", embedder="none") as memory:
        memory.checkpoint("logged")
        return (directory / "memory.db-wal").stat().st_size


def _texts(source: random.Random, number: int) -> Iterator[str]:
    return (" ".join(source.choices(_WORDS, k=20)) + f" {source.getrandbits(64):x}" for _ in range(number))


def _took(job: Callable[[], object]) -> float:
    start = time.perf_counter()
    job()
    return (time.perf_counter() - start) * 1000


if __name__ == "__main__":
    sys.exit(main())

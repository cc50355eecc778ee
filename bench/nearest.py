"""`python -m bench.nearest`: how many of the exact ten nearest a search by meaning finds in a large index file, and
what it costs, on vectors of several kinds: made up in clusters, and real ones, recombined with noise to any number.

The arrays are written and mapped as those of an index file are. Filters let through a part that has nothing to do with
the question, or a topic: the eighth of all that is nearest to the question, or to the one before it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bench.corpus import Vectors, load, mixed
from bench.report import table
from bench.run import told
from bench.synthetic import synthetic
from perdure.embed.local import LocalEmbedder
from perdure.recall.array_file import open_arrays, write_arrays
from perdure.recall.vectors import VectorBuilder
from perdure.recall.vectors import Vectors as Rows
from perdure.store.index_folder import IndexFolder

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DIMENSIONS: Final = 384
_QUESTIONS: Final = 150
_NEAREST: Final = 10
_WANTED: Final = 100
_AT_ONCE: Final = 10_000
_SEED: Final = 20261119
_SHARES: Final = {"a half": 0.5, "a tenth": 0.1}
_FILTERS: Final = ("none", *_SHARES, "its topic", "another topic")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    lines: list[tuple[str, ...]] = []
    for name, vectors, questions in _kinds(options):
        for size in options.sizes:
            with told(f"{name}, {size:,}: writing"), tempfile.TemporaryDirectory(prefix="perdure-bench-") as place:
                rows = _mapped(Path(place), _grown(vectors, size))
            with told(f"{name}, {size:,}: asking"):
                lines += [(name, f"{size:,}", *found) for found in _measured(rows, questions[:_QUESTIONS])]
    head = ("vectors", "memories", "filter", "of the exact ten", "worst question", "ms", "best ms")
    print("\n".join(table(head, lines)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.nearest", description=__doc__)
    parser.add_argument("--sizes", type=_numbers, default=(1_000_000,), help="default: 1000000")
    parser.add_argument("--locomo", type=Path, help="locomo10.json, for real vectors")
    parser.add_argument("--scifact", type=Path, help="the folder of SciFact's corpus.jsonl, for more of them")
    parser.add_argument("--cache", type=Path, default=Path("bench/cache"), help="where their vectors are kept")
    parser.add_argument("--vectors", type=Path, nargs=2, help="two .npy files of your own: vectors and questions")
    parser.add_argument("--no-made-up", action="store_true", help="without the clusters that are made up")
    return parser


def _numbers(value: str) -> tuple[int, ...]:
    return tuple(int(size.replace("_", "")) for size in value.split(",") if size)


def _kinds(options: argparse.Namespace) -> Iterator[tuple[str, Vectors, Vectors]]:
    if not options.no_made_up:
        made = synthetic(_DIMENSIONS)
        yield "made up", made.vectors, made.question_vectors
    if options.locomo:
        scifact = options.scifact and options.scifact / "corpus.jsonl"
        corpus = load(options.locomo, scifact, LocalEmbedder(), options.cache, lambda _done, _of: None)
        yield "LoCoMo and SciFact" if scifact else "LoCoMo", corpus.vectors, corpus.question_vectors
    if options.vectors:
        yield options.vectors[0].stem, np.load(options.vectors[0]), np.load(options.vectors[1])


def _grown(vectors: Vectors, size: int) -> Vectors:
    rng, grown = np.random.default_rng(_SEED), np.empty((size, vectors.shape[1]), np.float32)
    own = min(size, len(vectors))
    grown[:own] = vectors[:own]
    for start in range(own, size, _AT_ONCE):
        first, second = rng.integers(len(vectors), size=(2, min(_AT_ONCE, size - start)))
        grown[start : start + len(first)] = mixed(rng, vectors, first, second)
    return grown


def _mapped(place: Path, matrix: Vectors) -> Rows:
    """As a process sees them that has opened an index file."""
    builder, path = VectorBuilder(matrix.shape[1]), place / "nearest.index"
    builder.extend(matrix, np.ones(len(matrix), np.bool_))
    builder.view()
    begun = time.process_time()
    arrays = builder.arrays(np.arange(len(matrix)))
    folder = IndexFolder(place)
    with folder.writing() as turn:
        if turn is not None:
            write_arrays(folder, turn, path, {}, arrays)
    print(f"written in {time.process_time() - begun:.1f} s of processor time", file=sys.stderr)
    return VectorBuilder.over(open_arrays(path, arrays).arrays, len(matrix), matrix.shape[1]).view()


def _measured(rows: Rows, questions: Vectors) -> Iterator[tuple[str, ...]]:
    rng, size = np.random.default_rng(_SEED), len(rows.matrix)
    given = {name: rng.random(size) < share for name, share in _SHARES.items()}
    found: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in _FILTERS}
    before = _topic(_cosines(rows.matrix, questions[-1]))
    for question in questions:
        every = _cosines(rows.matrix, question)
        topics = {"its topic": _topic(every), "another topic": before}
        before = topics["its topic"]
        for name, (shares, taken) in found.items():
            allowed = topics.get(name, given.get(name))
            begun = time.thread_time()
            near = rows.nearest(question, allowed, _WANTED)
            taken.append((time.thread_time() - begun) * 1000)
            best = every if allowed is None else np.where(allowed, every, np.float32(-2))
            exact = np.argpartition(best, -_NEAREST)[-_NEAREST:]
            mine = near.rows[np.argsort(-near.cosines, kind="stable")[:_NEAREST]]
            shares.append(len(set(exact.tolist()) & set(mine.tolist())) / _NEAREST)
    for name, (shares, taken) in found.items():
        times = (f"{median(taken):.2f}", f"{min(taken):.2f}")
        yield name, f"{sum(shares) / len(shares):.4f}", f"{min(shares):.1f}", *times


def _topic(nearness: Vectors) -> NDArray[np.bool_]:
    return nearness > np.quantile(nearness[::97], 1 - 1 / 8)


def _cosines(matrix: NDArray[Any], question: Vectors) -> Vectors:
    pieces = [matrix[start : start + _AT_ONCE] @ question for start in range(0, len(matrix), _AT_ONCE)]
    return np.concatenate(pieces)


if __name__ == "__main__":
    sys.exit(main())

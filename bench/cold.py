"""A new process, one question, its answer, the end: what a hook or a shell script pays.

`python -m bench.cold CONTENDER DIRECTORY QUESTION VECTOR.npy` is such a process of a peer.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from bench.contender import Contender
from bench.corpus import Corpus
from bench.measure import Timing
from bench.ours import Perdure
from bench.shuffle import shuffled

BARE = "python -c pass"
COMMAND = "perdure recall"
_LEAST_ROUNDS: Final = 3


def cold_recall(
    directory: Path, peers: Sequence[type[Contender]], corpus: Corpus, rounds: int, seconds: float
) -> dict[str, Timing]:
    """Whole processes, in turn, in random order. Ours embeds the question; a peer is given its vector."""
    vector = directory / "question.npy"
    np.save(vector, corpus.question_vectors[0])
    question = corpus.questions[0]
    store = Perdure(directory / Perdure.name).file
    python = sys.executable
    commands = {
        BARE: [python, "-c", "pass"],
        COMMAND: [python, "-m", "perdure", "recall", "--store", str(store), question],
    }
    for peer in peers:
        place = directory / (peer.store or peer.name)
        commands[peer.name] = [python, "-m", "bench.cold", peer.name, str(place), question, str(vector)]
    samples: dict[str, list[float]] = {name: [] for name in commands}
    chosen = np.random.default_rng(0)
    end = time.monotonic() + seconds
    for number in range(rounds):
        if number >= _LEAST_ROUNDS and time.monotonic() > end:
            break
        for name in shuffled(list(commands), chosen):
            samples[name].append(_run(commands[name]))
    return {name: Timing.of(taken) for name, taken in samples.items()}


def _run(command: Sequence[str]) -> float:
    start = time.perf_counter()
    done = subprocess.run(  # noqa: S603 - our own commands
        command, cwd=Path(__file__).parent.parent, capture_output=True, check=False, text=True, encoding="utf-8"
    )
    taken = (time.perf_counter() - start) * 1000
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr}")
    return taken


def _answer(name: str, directory: str, question: str, vector: str) -> None:
    from bench.peers import PEERS

    contender = next(peer for peer in PEERS if peer.name == name)(Path(directory))
    contender.open()
    print("\n".join(contender.hybrid(question, np.load(vector), 10)))


if __name__ == "__main__":
    _answer(*sys.argv[1:])

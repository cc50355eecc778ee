"""Processes that write memories and say so only after the store said so, for tests that take them down."""

from __future__ import annotations

import os
import random
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from perdure import Memory
from perdure.testing.embedder import WordEmbedder


def sentence(seed: str) -> str:
    """A text that can be computed again from its name alone: up to a few pages long, with odd characters in it."""
    source = random.Random(seed)
    words = source.choices(
        ("naïve", "parseFile", "漢字", "🧠", "tea", "quo'te", '"', "ẞ", "deploy"), k=source.randint(3, 400)
    )
    return f"{seed} {' '.join(words)} {sha256(seed.encode()).hexdigest()}"


@dataclass(slots=True)
class Child:
    """A forked process; what it acknowledged can be read after it is gone."""

    pid: int
    acknowledgements: int

    def kill(self) -> list[str]:
        os.kill(self.pid, signal.SIGKILL)
        return self.finish()[0]

    def finish(self) -> tuple[list[str], int]:
        """Everything it said, up to its last whole line, and how it ended."""
        with os.fdopen(self.acknowledgements, "rb") as pipe:
            said = pipe.read().decode()
        status = os.waitpid(self.pid, 0)[1]
        return said.split("\n")[:-1], status


def start(job: Callable[[Callable[[str], None]], None]) -> Child:
    """Fork: the parent has everything imported, so that hundreds of processes cost seconds, not minutes."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Newer Pythons warn of forking beside threads; the test runner's own are harmless.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        os.close(writing)
        return Child(pid, reading)
    try:
        os.close(reading)
        job(lambda line: void(os.write(writing, f"{line}\n".encode())))
        os._exit(0)
    except BaseException:  # noqa: BLE001 - whatever it is, this process ends here
        traceback.print_exc(file=sys.stderr)
        os._exit(1)


def void(_: object) -> None: ...


def write_for_ever(path: Path, name: str) -> Callable[[Callable[[str], None]], None]:
    """Remember one memory after the other, correcting and forgetting some, acknowledging each."""

    def job(acknowledge: Callable[[str], None]) -> None:
        memory = Memory(path, embedder=WordEmbedder(), actor=name)
        for n in range(1_000_000):
            seed = f"{name}-{n}"
            number = memory.remember(sentence(seed), tags=[name]).record.number
            acknowledge(f"remembered {number} {seed}")
            if n % 5 == 3:
                memory.update(number, text=sentence(f"{seed}-corrected"))
                acknowledge(f"corrected {number} {seed}-corrected")
            if n % 7 == 5:
                memory.forget(number)
                acknowledge(f"forgotten {number} {seed}")

    return job

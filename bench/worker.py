"""Each contender in a process of its own: no threads of another slow it down, and its memory is its own."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
import traceback
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from bench.contender import Contender
from bench.corpus import Batch, Corpus, Vectors
from bench.ours import Perdure, PerdureEmbedding
from bench.peers import PEERS

OURS: Final[tuple[type[Contender], ...]] = (Perdure, PerdureEmbedding)
ALL: Final = {contender.name: contender for contender in (*OURS, *PEERS)}


class WorkerFailed(Exception):
    """A contender raised; the message is its traceback."""


class Worker:
    """A contender elsewhere. Its calls answer how many milliseconds they took there, and what came of them."""

    def __init__(self, contender: type[Contender], directory: Path) -> None:
        self.contender = contender
        context = multiprocessing.get_context("spawn")
        self._pipe, far = context.Pipe()
        self._process = context.Process(target=_serve, args=(far, contender.name, directory), daemon=True)
        self._process.start()
        far.close()

    @property
    def name(self) -> str:
        return self.contender.name

    def build(self, corpus: Corpus, size: int) -> float:
        return self._call("build", corpus, size)[0]

    def open(self) -> float:
        return self._call("open")[0]

    def hybrid(self, query: str, vector: Vectors, limit: int = 10) -> tuple[float, list[str]]:
        return self._call("hybrid", query, vector, limit)

    def add(self, text: str, vector: Vectors) -> float:
        return self._call("add", text, vector)[0]

    def resident(self) -> int:
        """Bytes of memory that the process holds."""
        return self._call("resident")[1]

    def close(self) -> None:
        """Close the store, and end the process."""
        if self._process.is_alive():
            self._call("close")
        self.end()

    def end(self) -> None:
        self._pipe.close()
        self._process.join()

    def _call(self, verb: str, *arguments: object) -> tuple[float, Any]:
        self._pipe.send((verb, arguments))
        try:
            milliseconds, answer, failure = self._pipe.recv()
        except EOFError:
            raise WorkerFailed(f"{self.name} ended during {verb}.") from None
        if failure:
            raise WorkerFailed(f"{self.name} failed to {verb}:\n{failure}")
        return milliseconds, answer


class _Session:
    """The far side: the verbs a worker understands."""

    def __init__(self, contender: Contender) -> None:
        self._contender = contender
        self.open = contender.open
        self.hybrid = contender.hybrid
        self.add = contender.add
        self.close = contender.close

    def build(self, corpus: Corpus, size: int) -> None:
        self._contender.build(_told(corpus.batches(size), self._contender.name, size))

    def resident(self) -> int:
        status = Path("/proc/self/status")
        if status.exists():
            lines = status.read_text(encoding="utf-8").splitlines()
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024


def _serve(pipe: Connection, name: str, directory: Path) -> None:
    session = _Session(ALL[name](directory))
    while True:
        try:
            verb, arguments = pipe.recv()
        except EOFError:
            # Some peers keep threads that never end.
            os._exit(0)
        answer: object = None
        failure = ""
        start = time.perf_counter()
        try:
            answer = getattr(session, verb)(*arguments)
        except Exception:  # noqa: BLE001 - the near side raises it again
            failure = traceback.format_exc()
        pipe.send(((time.perf_counter() - start) * 1000, answer, failure))


def _told(batches: Iterator[Batch], name: str, size: int) -> Iterator[Batch]:
    done = 0
    for texts, vectors in batches:
        yield texts, vectors
        done += len(texts)
        print(f"\r  {name}: {done:,} of {size:,} rows", end="", file=sys.stderr, flush=True)
    print(f"\r  {name}: {size:,} rows, finishing   ", end="", file=sys.stderr, flush=True)

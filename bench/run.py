"""The whole measurement, one size after the other."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench import machine
from bench.cold import cold_recall
from bench.contender import Contender
from bench.corpus import Corpus
from bench.disk import bytes_below, bytes_by_table
from bench.ingest import Ingest, ingest
from bench.measure import Adds, Timing, common_recall, durable_adds, exactness, first_recall, warm_recall
from bench.ours import Perdure
from bench.worker import OURS, Worker

_ROUNDS: Final = 100
_SECONDS: Final = 60.0
_ADDS: Final = 60
_COLD_ROUNDS: Final = 11
_INGESTED: Final = 8000


@dataclass(slots=True)
class AtSize:
    """Everything measured at one number of memories; by contender's name."""

    size: int
    built: dict[str, float] = field(default_factory=dict[str, float])
    opened: dict[str, float] = field(default_factory=dict[str, float])
    first: dict[str, float] = field(default_factory=dict[str, float])
    disk: dict[str, int] = field(default_factory=dict[str, int])
    tables: dict[str, int] = field(default_factory=dict[str, int])
    recall: dict[str, Timing] = field(default_factory=dict[str, Timing])
    common: dict[str, Timing] = field(default_factory=dict[str, Timing])
    exact: dict[str, float] = field(default_factory=dict[str, float])
    resident: dict[str, int] = field(default_factory=dict[str, int])
    adds: Adds = field(default_factory=lambda: Adds({}, {}, {}))
    cold: dict[str, Timing] = field(default_factory=dict[str, Timing])


@dataclass(slots=True)
class Results:
    machine: dict[str, str]
    packages: dict[str, str]
    real_texts: int
    common_words: str
    sizes: list[AtSize] = field(default_factory=list[AtSize])
    ingest: Ingest | None = None


def run(corpus: Corpus, sizes: Sequence[int], peers: Sequence[type[Contender]], peer_limit: int, work: Path) -> Results:
    everyone = (*OURS, *peers)
    packages = machine.versions(name for contender in everyone for name in contender.packages)
    results = Results(machine.description(work), packages, len(corpus.texts), corpus.common)
    with tempfile.TemporaryDirectory(dir=work, prefix="stores-") as place:
        for size in sizes:
            taking_part = everyone if size <= peer_limit else OURS
            directory = Path(place) / str(size)
            directory.mkdir()
            results.sizes.append(_at(size, corpus, taking_part, directory))
            shutil.rmtree(directory)
        with told(f"ingest of {_INGESTED:,} texts beside the bare embedder"):
            results.ingest = ingest(corpus.texts[:_INGESTED], Path(place))
    return results


def _at(size: int, corpus: Corpus, contenders: Sequence[type[Contender]], directory: Path) -> AtSize:
    found = AtSize(size)
    for contender in contenders:
        if not contender.store:
            _build(contender, corpus, directory, found)
    found.tables = bytes_by_table(Perdure(directory / Perdure.name).file)
    workers = [Worker(contender, directory / (contender.store or contender.name)) for contender in contenders]
    builders = [worker for worker in workers if not worker.contender.store]
    adding = [worker for worker in workers if worker.contender.adds]
    try:
        with told(f"{size:,}: opening"):
            found.opened = {worker.name: worker.open() for worker in workers}
        with told(f"{size:,}: first recall"):
            found.first = first_recall(workers, corpus)
        with told(f"{size:,}: recall"):
            found.recall = warm_recall(workers, corpus, _ROUNDS, _SECONDS)
        with told(f"{size:,}: recall of five common words"):
            found.common = common_recall(builders, corpus, _ROUNDS, _SECONDS / 2)
        found.resident = {worker.name: worker.resident() for worker in workers}
        with told(f"{size:,}: exactness against brute force"):
            found.exact = exactness(builders, corpus, size)
        with told(f"{size:,}: durable adds"):
            found.adds = durable_adds(adding, corpus, corpus.unseen(_ADDS), _SECONDS)
    finally:
        for worker in workers:
            worker.close()
    with told(f"{size:,}: cold processes"):
        peers = [contender for contender in contenders if contender not in OURS and not contender.store]
        found.cold = cold_recall(directory, peers, corpus, _COLD_ROUNDS, _SECONDS)
    return found


def _build(contender: type[Contender], corpus: Corpus, directory: Path, found: AtSize) -> None:
    place = directory / contender.name
    with told(f"{found.size:,}: building {contender.name}"):
        worker = Worker(contender, place)
        found.built[contender.name] = worker.build(corpus, found.size) / 1000
        worker.end()
    found.disk[contender.name] = bytes_below(place)


@contextmanager
def told(what: str) -> Generator[None]:
    """Progress on standard error: what, and how long it took."""
    start = time.monotonic()
    print(what, "…", file=sys.stderr, flush=True)
    yield
    print(f"{what}: {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)

"""F12: an embedder on a server that fails in every way costs no memory, stores no bad vector and is asked seldom."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from embed.wires import openai
from providers.server import TRANSPORT_FAULTS, VECTOR_FAULTS, Behaviour, FaultServer, Received, answering, ok

from perdure import Memory
from perdure.embed.port import Generation
from perdure.lifecycle import vectors
from perdure.providers.breaker import Breaker
from perdure.store.port import Pending
from perdure.testing.embedder import WordEmbedder
from perdure.testing.records import read_once

DIMENSIONS = 8
GENERATION = Generation("openai", "m", DIMENSIONS, "1")
TRANSPORT = (
    "429", "429 with Retry-After", "500", "hang", "slow drip", "reset", "100 MB", "truncated JSON", "prose around JSON",
)  # fmt: skip
VECTORS = ("one too few", "wrong dimension", "NaN", "infinite", "zero")
# `make soak` does it in full.
WRITES = 200 if os.environ.get("PERDURE_KILLS") else 40
RECOVERY_SECONDS = 60


class HandSeconds:
    """Seconds that pass when somebody waits."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> HandSeconds:
    seconds = HandSeconds()
    monkeypatch.setattr("perdure.providers.client.Breaker", partial(Breaker, clock=seconds, chance=lambda: 0.0))
    monkeypatch.setattr("perdure.providers.options.BATCH_SECONDS", 0.2)
    monkeypatch.setattr(vectors, "wait", seconds.wait)
    return seconds


def bad(fault: str) -> Behaviour:
    def answer(received: Received) -> Any:
        said = openai(received)
        made = VECTOR_FAULTS[fault]([item["embedding"] for item in said["data"]])
        data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(made)]
        return {**said, "data": data}

    return answering(answer)


FAULTS: dict[str, Behaviour] = {
    **{name: TRANSPORT_FAULTS[name] for name in TRANSPORT},
    **{name: bad(name) for name in VECTORS},
    "wrong keys": ok({"vectors": [[1.0] * DIMENSIONS]}),
}


def opened(path: Path, server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> Memory:
    for name, value in {
        "EMBEDDER_URL": f"{server.url}/v1", "EMBEDDER_DIMENSIONS": str(DIMENSIONS), "PROVIDER_SECONDS": "0.2",
        "CACHE": str(path.parent),
    }.items():  # fmt: skip
        monkeypatch.setenv(f"PERDURE_{name}", value)
    return Memory(path, embedder="openai:m")


def stored(memory: Memory, rows: list[Pending]) -> list[np.ndarray[Any, Any]]:
    found = read_once(memory._services.store).passage_vectors(GENERATION, [row.passage_hash for row in rows])
    return [np.frombuffer(found[row.passage_hash], np.float32) for row in rows]


@pytest.mark.soak
@pytest.mark.parametrize("fault", FAULTS)
def test_no_fault_of_an_embedder_loses_a_memory(
    tmp_path: Path, server: FaultServer, seconds: HandSeconds, monkeypatch: pytest.MonkeyPatch, fault: str
):
    path = tmp_path / "memory.db"
    texts = [f"note{n} about tea and rain" for n in range(WRITES)]
    with opened(path, server, monkeypatch) as memory, Memory(path, embedder="none") as by_words:
        server.always(FAULTS[fault])
        done = [memory.remember(text) for text in texts]
        assert {answer.outcome for answer in done} == {"inserted"}
        assert all(answer.vector_pending for answer in done)
        assert all(by_words.recall(f"note{n}")[0].record.number == n + 1 for n in range(WRITES))
        store = memory._services.store
        rows = store.pending(GENERATION, WRITES)
        assert len(rows) == WRITES
        assert [stats.vectors for stats in store.generations()] in ([], [0])
        while_down = len(server.requests)
        # A server that answers nonsense costs nobody time, so only what costs time is left alone.
        assert while_down == 1 if fault in TRANSPORT else while_down <= WRITES
        stuck = memory.work()
        assert (stuck.embedded, stuck.vectors_pending) == (0, WRITES)
        assert stuck.notes
        server.always(answering(openai))
        server.release()
        began, runs = seconds.now, 0
        while memory.work().vectors_pending:
            runs += 1
            seconds.wait(5)
            assert runs < 20
        assert seconds.now - began <= RECOVERY_SECONDS
        assert len(server.requests) <= 1.5 * WRITES + 10
        expected = WordEmbedder(DIMENSIONS).embed_passages(["".join(row.passage) for row in rows])
        assert np.allclose(stored(memory, rows), expected, atol=1e-6)
        assert memory.recall("note3 rain").mode == "hybrid"
        assert [finding for finding in memory.doctor() if finding.level == "problem"] == []

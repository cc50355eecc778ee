"""F13: the model is changed and changed back while processes are killed, and every search is answered by meaning."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from embed.wires import require, require_fields, require_texts, vectors_of
from providers.server import Connection, FaultServer, Received, answering

from perdure import Memory
from perdure.embed.port import Generation
from perdure.testing.embedder import WordEmbedder
from perdure.testing.records import read_once

SIZES = {"small": 384, "large": 768}
SEED = 13
SEARCHER = """
import sys
from perdure import Memory

with Memory(sys.argv[1]) as memory:
    print("ready", flush=True)
    for line in sys.stdin:
        answer = memory.recall(line.strip())
        print(answer.mode, len(answer), flush=True)
"""


class Provider:
    """OpenAI's wire format (see `embed.wires.openai`) with two models. It can take down who asks it."""

    def __init__(self, server: FaultServer) -> None:
        self.batches: Counter[str] = Counter()
        self.largest = 0
        self._victim: subprocess.Popen[bytes] | None = None
        self._left = 0
        self._before = False
        server.always(self._answer)

    def kill_at(self, victim: subprocess.Popen[bytes], batch: int, *, before: bool) -> None:
        """Kill this process with its nth batch, before or right after it is answered."""
        self._victim, self._left, self._before = victim, batch, before

    def _answer(self, connection: Connection, received: Received) -> None:
        body = received.json
        texts = require_texts(body["input"], 2048)
        last = False
        if "searching for" not in texts[0]:
            self.batches[body["model"]] += 1
            self.largest = max(self.largest, len(texts))
            self._left -= 1
            last = self._victim is not None and self._left == 0
        if last and self._before and self._victim:
            self._victim.kill()
        answering(openai_of_two_models)(connection, received)
        if last and not self._before and self._victim:
            self._victim.kill()


def openai_of_two_models(received: Received) -> Any:
    body = received.json
    require_fields(body, {"model", "input", "encoding_format"})
    require(body["model"] in SIZES, "model")
    made = vectors_of(body["input"], SIZES[body["model"]])
    data = [{"object": "embedding", "index": n, "embedding": one} for n, one in enumerate(made)]
    return {"object": "list", "data": data, "model": body["model"], "usage": {"prompt_tokens": 8, "total_tokens": 8}}


class Searcher:
    """Another process that searches all the time, with the settings it was started with."""

    def __init__(self, path: Path, environment: dict[str, str]) -> None:
        self.modes: Counter[str] = Counter()
        self.empty = 0
        self._process = subprocess.Popen(
            [sys.executable, "-c", SEARCHER, str(path)],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
        )  # fmt: skip
        self._ended = threading.Event()
        self._line()
        self._thread = threading.Thread(target=self._search)
        self._thread.start()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def _search(self) -> None:
        assert self._process.stdin is not None
        number = 0
        while not self._ended.is_set():
            number += 1
            self._process.stdin.write(f"searching for note{number % 100} about tea\n")
            self._process.stdin.flush()
            mode, _, count = self._line().strip().partition(" ")
            self.modes[mode] += 1
            self.empty += count == "0"

    def end(self) -> None:
        self._ended.set()
        self._thread.join()
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait() == 0
        assert self._process.stdout is not None
        self._process.stdout.close()


def environment(tmp_path: Path, server: FaultServer, model: str) -> dict[str, str]:
    return {
        **os.environ,
        "PERDURE_STORE": str(tmp_path / "memory.db"),
        "PERDURE_CACHE": str(tmp_path / "cache"),
        "PERDURE_EMBEDDER": f"openai:{model}",
        "PERDURE_EMBEDDER_URL": f"{server.url}/v1",
        "PERDURE_PROVIDER_SECONDS": "60",
    }


def working(settings: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "perdure", "work"], env=settings, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def vectors_are_right(memory: Memory, model: str, count: int) -> bool:
    generation = Generation("openai", model, SIZES[model], "1")
    store = memory._services.store
    unknown = Generation("none", "none", 1, "1")
    rows = store.pending(unknown, count + 1)
    found = read_once(store).passage_vectors(generation, [row.passage_hash for row in rows])
    made = np.array([np.frombuffer(found[row.passage_hash], np.float32) for row in rows])
    expected = WordEmbedder(SIZES[model]).embed_passages(["".join(row.passage) for row in rows])
    return len(rows) == count and bool(np.allclose(made, expected, atol=1e-6))


def change_twice(tmp_path: Path, server: FaultServer, memories: int, kills: int) -> None:
    source, provider = random.Random(SEED), Provider(server)
    path = tmp_path / "memory.db"
    first = environment(tmp_path, server, "small")
    with Memory(path, embedder="none") as memory:
        memory.import_({"text": f"note{n} about tea and {n * 7} things"} for n in range(memories))
    assert working(first).wait() == 0
    with Memory(path, embedder="none") as memory:
        assert vectors_are_right(memory, "small", memories)
    killed = 0
    for model in ("large", "small"):
        if model == "small":
            # What was made before the first change would make the way back free.
            with Memory(path, embedder="none") as memory:
                assert memory.work(drop_old_vectors=True).notes
        settings = environment(tmp_path, server, model)
        searcher = Searcher(path, settings)
        for _ in range(kills // 2):
            process = working(settings)
            provider.kill_at(process, source.randint(1, max(1, memories // 50 // kills)), before=source.random() < 0.5)
            killed += process.wait() == -signal.SIGKILL
        assert working(settings).wait() == 0
        searcher.end()
        assert set(searcher.modes) == {"hybrid"}
        assert searcher.empty == 0
        with Memory(path, embedder="none") as memory:
            assert memory._services.store.serving_generation() == Generation("openai", model, SIZES[model], "1")
            assert vectors_are_right(memory, model, memories)
            assert memory.stats().namespaces[0].states == {"active": memories}
            assert [finding for finding in memory.doctor() if finding.level == "problem"] == []
        searches, batches = searcher.modes.total(), dict(provider.batches)
        sys.stdout.write(f"To {model}: {searches:,} searches while it went on, all by meaning; batches {batches}.\n")
    assert killed == kills // 2 * 2
    assert provider.largest == 50


@pytest.mark.soak
def test_a_change_of_the_model_and_back_survives_being_killed(tmp_path: Path, server: FaultServer):
    """`make soak` does it with 10,000 memories and 20 kills."""
    memories, kills = (10_000, 20) if os.environ.get("PERDURE_KILLS") else (600, 4)
    change_twice(tmp_path, server, memories, kills)

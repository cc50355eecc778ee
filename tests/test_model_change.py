"""Changing the model: the old vectors answer until the new ones are complete, whoever works and whoever is away."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from embed.wires import vectors_of
from providers.server import Behaviour, FaultServer, Received, answering, hang, status

from perdure import Memory
from perdure.embed import calibration
from perdure.embed.local import GENERATION, UNTRAINED, LocalEmbedder, unavailable
from perdure.embed.port import Generation, Progress, Vectors
from perdure.errors import Conflict
from perdure.lifecycle import vectors
from perdure.testing.embedder import WordEmbedder

SIZES = {"small": 16, "large": 32}
TEXTS = [f"{what} on {day} number {n}" for n in range(20) for what in ("tea", "rain") for day in ("monday", "friday")]
Open = Callable[[str], Memory]


@pytest.fixture
def server() -> Iterator[FaultServer]:
    """OpenAI's wire format; `embed.wires.openai` has its source."""

    def answer(received: Received) -> Any:
        body = received.json
        made = vectors_of(body["input"], SIZES[body["model"]])
        data = [{"index": n, "embedding": vector} for n, vector in enumerate(made)]
        return {"data": data, "usage": {"prompt_tokens": 8}}

    with FaultServer() as server:
        server.always(answering(answer))
        yield server


@pytest.fixture
def opened(tmp_path: Path, server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> Open:
    monkeypatch.setenv("PERDURE_EMBEDDER_URL", f"{server.url}/v1")
    monkeypatch.setenv("PERDURE_CACHE", str(tmp_path / "cache"))

    def open_it(model: str) -> Memory:
        return Memory(tmp_path / "memory.db", embedder=f"openai:{model}")

    return open_it


def serving(memory: Memory) -> str | None:
    generation = memory._services.store.serving_generation()
    return generation and generation.model


def asked(server: FaultServer) -> list[tuple[str, int]]:
    """The model and the number of texts of each request."""
    bodies = [each.json for each in server.requests]
    return [(body["model"], len(body["input"])) for body in bodies if not body["input"][0].startswith("How long are")]


def finding(memory: Memory, check: str) -> str | None:
    return next((str(each.sentence) for each in memory.doctor() if each.check == check), None)


def censored(server: FaultServer) -> Behaviour:
    """What the server does now, but for texts with a certain word."""
    good = server._usual

    def behave(connection: Any, received: Received) -> None:
        bad = any("forbidden" in text for text in received.json["input"])
        (status(400) if bad else good)(connection, received)

    return behave


def test_until_the_new_vectors_are_complete_the_old_model_is_asked(opened: Open, server: FaultServer):
    with opened("small") as memory:
        for text in TEXTS:
            memory.remember(text)
    with opened("large") as memory:
        server.requests.clear()
        found = memory.recall("tea friday")
        assert (found.mode, found.notes) == ("hybrid", ())
        assert not memory.remember("a new one about tea").vector_pending
        assert {model for model, _ in asked(server)} == {"small"}
        assert "0 of 81 memories done" in str(finding(memory, "generation"))
        part = memory.work(limit=50)
        assert (part.embedded, part.vectors_pending) == (50, 31)
        assert "50 of 81 memories done" in str(finding(memory, "generation"))
        assert (memory.recall("tea friday").mode, serving(memory)) == ("hybrid", "small")
        memory.work()
        server.requests.clear()
        found = memory.recall("tea friday")
        assert (found.mode, found.notes, serving(memory)) == ("hybrid", (), "large")
        assert {model for model, _ in asked(server)} == {"large"}
        assert finding(memory, "generation") is None


def test_texts_are_sent_in_batches_of_fifty(opened: Open, server: FaultServer):
    with opened("small") as memory:
        memory.import_({"text": text} for text in TEXTS)
        server.requests.clear()
        memory.work()
        # The last one measures the model.
        assert sorted(count for _, count in asked(server)) == [len(calibration.TEXTS), 30, 50]


def test_a_running_process_learns_that_another_model_answers(opened: Open):
    with opened("small") as memory, opened("large") as other:
        for text in TEXTS:
            memory.remember(text)
        assert memory.recall("tea").mode == "hybrid"
        other.work()
        other.work(drop_old_vectors=True)
        found = memory.recall("tea")
        assert (found.mode, found.notes) == ("hybrid", ())
        assert not memory.remember("one more about tea").vector_pending
        assert memory._services.store.pending_count(Generation("openai", "large", 32, "1")) == 0


def test_two_processes_with_different_settings_both_go_on(opened: Open):
    with opened("small") as first, opened("large") as second:
        for n, text in enumerate(TEXTS):
            (first, second)[n % 2].remember(text)
        for _ in range(2):
            for memory in (first, second):
                memory.work()
                assert {each.recall("rain").mode for each in (first, second)} == {"hybrid"}
                assert first.recall("rain").notes == second.recall("rain").notes == ()


def test_two_at_once_share_the_work(opened: Open, server: FaultServer):
    with opened("small") as memory:
        memory.import_({"text": f"note {n} about tea"} for n in range(2000))
    with ExitStack() as stack, ThreadPoolExecutor(2) as threads:
        workers = [stack.enter_context(opened("small")) for _ in range(2)]
        done = [future.result() for future in [threads.submit(worker.work) for worker in workers]]
        assert sum(each.embedded for each in done) == 2000
        assert {each.vectors_pending for each in done} == {0}
    sent = sum(count for _, count in asked(server))
    assert sent <= 1.5 * 2000


def test_when_the_old_model_is_gone_the_new_one_answers_with_what_it_has(opened: Open, tmp_path: Path):
    with Memory(tmp_path / "memory.db", embedder=WordEmbedder()) as memory:
        for text in TEXTS:
            memory.remember(text)
    with opened("small") as memory:
        found = memory.recall("tea")
        assert found.mode == "keyword"
        assert memory.remember("green tea").vector_pending is False
        found = memory.recall("green tea")
        assert found.mode == "hybrid"
        assert any("testing:words made the vectors until now" in note for note in found.notes)
        memory.work()
        assert memory.recall("green tea").notes == ()


def test_while_the_old_model_answers_nobody_waits_for_the_new_one(opened: Open, server: FaultServer, tmp_path: Path):
    with Memory(tmp_path / "memory.db", embedder="local") as memory:
        memory.remember("green tea on monday")
    server.always(hang)
    with opened("large") as memory:
        assert memory.recall("a hot drink").mode == "hybrid"
        assert not memory.remember("black coffee on friday").vector_pending
        assert server.requests == []


@pytest.mark.skipif(unavailable() is not None, reason="the local model is not installed")
def test_vectors_of_the_model_that_ours_was_trained_from_answer_until_there_are_new_ones(tmp_path: Path):
    said = ("Deploy the payment service on Tuesdays only", "Melanie painted a sunrise over the lake", "Bob drinks tea")
    question = "When may we release the billing system?"
    with Memory(tmp_path / "memory.db", embedder=LocalEmbedder(generation=UNTRAINED)) as memory:
        for text in said:
            memory.remember(text)
    with Memory(tmp_path / "memory.db", embedder="local") as memory:
        answer = memory.recall(question)
        assert (answer.mode, answer.notes, answer[0].record.text) == ("hybrid", (), said[0])
        assert serving(memory) == UNTRAINED.model
        assert f"0 of {len(said)} memories done" in str(finding(memory, "generation"))
        done = memory.work()
        assert (done.embedded, done.vectors_pending, serving(memory)) == (len(said), 0, GENERATION.model)
        answer = memory.recall(question)
        assert (answer.mode, answer.notes, answer[0].record.text) == ("hybrid", (), said[0])
        assert finding(memory, "generation") is None


def test_one_model_with_other_dimensions_is_told_apart(
    opened: Open, server: FaultServer, monkeypatch: pytest.MonkeyPatch
):
    with opened("small") as memory:
        memory.remember("green tea on monday")
        monkeypatch.setitem(SIZES, "small", 24)
    with opened("small") as memory:
        memory.recall("tea")
    with opened("small") as memory:
        assert finding(memory, "generation") == "Re-embedding for openai/small/24/1: 0 of 1 memories done."
        note = next(note for note in memory.recall("tea").notes if "until now" in note)
        assert note.startswith("openai/small/16/1 made the vectors until now")
        assert "Those of openai/small/24/1 answer" in note


@pytest.mark.parametrize(
    ("generation", "why"),
    [
        (Generation("gemini", "gemini-embedding-001", 64, "1"), "do not let texts go to generativelanguage"),
        (Generation("local", "all-MiniLM-L6-v2", 64, "of another day"), "vectors of another kind now"),
    ],
    ids=["not allowed", "another version"],
)
def test_an_old_model_that_cannot_be_asked_any_more_is_not_even_tried(
    opened: Open, tmp_path: Path, generation: Generation, why: str
):
    embedder = WordEmbedder()
    embedder.generation = generation
    with Memory(tmp_path / "memory.db", embedder=embedder) as memory:
        memory.remember("black coffee")
    with opened("small") as memory:
        assert memory.remember("green tea").vector_pending is False
        found = memory.recall("green tea")
        assert found.mode == "hybrid"
        assert any(why in note for note in found.notes)


def test_when_the_old_model_fails_the_new_one_answers_with_what_it_has(opened: Open, server: FaultServer):
    with opened("small") as memory:
        for text in TEXTS:
            memory.remember(text)
    with opened("large") as memory:
        memory.work(limit=60)
        good = server._usual

        def only_large(connection: Any, received: Received) -> None:
            (good if received.json["model"] == "large" else status(404))(connection, received)

        server.always(only_large)
        found = memory.recall("tea friday")
        assert found.mode == "hybrid"
        assert any("openai:small made the vectors until now and cannot be asked" in note for note in found.notes)


def test_too_many_requests_stop_the_work_which_says_when_and_goes_on_later(
    opened: Open, server: FaultServer, monkeypatch: pytest.MonkeyPatch
):
    waited: list[float] = []
    monkeypatch.setattr(vectors, "wait", waited.append)
    with opened("small") as memory:
        memory.import_({"text": text} for text in TEXTS)
        memory._services.embedders.target()
        server.next(status(429, retry_after="40"))
        stopped = memory.work()
        assert (stopped.embedded, stopped.vectors_pending) == (0, len(TEXTS))
        assert "It can be asked again from" in stopped.notes[0]
        assert waited == []
    with opened("small") as memory:
        assert memory.recall("tea on monday").mode == "keyword"
        assert memory.work().vectors_pending == 0


def test_a_provider_that_goes_on_asking_for_short_pauses_gets_three(
    opened: Open, server: FaultServer, monkeypatch: pytest.MonkeyPatch
):
    waited: list[float] = []

    def wait(seconds: float) -> None:
        assert len(waited) < 10
        waited.append(seconds)

    monkeypatch.setattr(vectors, "wait", wait)
    with opened("small") as memory:
        memory.import_({"text": text} for text in TEXTS)
        memory.recall("tea")
        server.always(status(429, retry_after="3"))
        done = memory.work()
    assert (done.embedded, done.vectors_pending, len(waited)) == (0, len(TEXTS), 3)


def test_a_model_that_refuses_more_than_one_text_in_a_hundred_does_not_answer(opened: Open, server: FaultServer):
    with opened("small") as memory:
        memory.import_({"text": f"{n} about {('tea', 'forbidden')[n % 20 == 0]}"} for n in range(120))
        memory.work()
    with opened("large") as memory:
        server.always(censored(server))
        done = memory.work()
        assert (done.vectors_pending, serving(memory)) == (6, "small")
        found = memory.recall("about tea")
        assert (found.mode, found.notes) == ("hybrid", ())


def test_a_text_that_the_model_refuses_does_not_hold_up_the_others(opened: Open, server: FaultServer):
    with opened("small") as memory:
        memory.import_({"text": f"{n} about tea"} for n in range(120))
        memory.remember("the word forbidden")
        memory.work()
    with opened("large") as memory:
        server.always(censored(server))
        done = memory.work()
        assert (done.vectors_pending, serving(memory)) == (1, "large")
        assert memory.recall("forbidden")[0].record.text == "the word forbidden"


def test_vectors_that_answer_no_more_are_kept_until_somebody_drops_them(opened: Open):
    with opened("small") as memory:
        for text in TEXTS:
            memory.remember(text)
    with opened("large") as memory:
        store = memory._services.store
        small, large = (Generation("openai", model, SIZES[model], "1") for model in ("small", "large"))
        memory.work(limit=10, drop_old_vectors=True)
        assert {each.generation: each.vectors for each in store.generations()} == {small: 80, large: 10}
        with pytest.raises(Conflict):
            store.drop_vectors(small, 1)
        memory.work()
        assert "80 vectors of openai:small (0.0 MiB)" in str(finding(memory, "old_vectors"))
        done = memory.work(drop_old_vectors=True)
        assert any("Deleted 80 vectors of openai:small" in note for note in done.notes)
        assert [each.generation for each in store.generations()] == [large]
        assert finding(memory, "old_vectors") is None
        assert memory.recall("tea").mode == "hybrid"


def test_the_command_deletes_old_vectors(opened: Open, tmp_path: Path):
    for model in ("small", "large"):
        with opened(model) as memory:
            memory.remember(f"tea with {model}")
            memory.work()
    settings = {**os.environ, "PERDURE_STORE": str(tmp_path / "memory.db"), "PERDURE_EMBEDDER": "openai:large"}
    command = [sys.executable, "-m", "perdure", "work", "--drop-old-vectors"]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, encoding="utf-8", check=True)
    assert "Deleted 2 vectors of openai:small" in done.stdout + done.stderr


def test_nothing_is_asked_of_anybody_when_a_memory_is_only_opened(opened: Open, server: FaultServer):
    with opened("small") as memory:
        assert memory.list().records == ()
    assert server.requests == []


class Crowded(WordEmbedder):
    """Vectors that all point in about the same direction, as those of some models do."""

    def __init__(self, share: float) -> None:
        super().__init__(1024)
        self.generation = Generation("testing", f"crowded-{share}", 1025, "1")
        self.share = share

    def embed_passages(self, texts: Any, progress: Progress | None = None) -> Vectors:
        narrow = replace(self.generation, dimensions=1024)
        whole, self.generation = self.generation, narrow
        made = super().embed_passages(texts, progress)
        self.generation = whole
        constant = np.full((len(made), 1), self.share**0.5, np.float32)
        return np.hstack([made * np.float32((1 - self.share) ** 0.5), constant])


@pytest.mark.parametrize("share", [0.3, 0.6, 0.8])
def test_with_a_model_that_crowds_its_vectors_the_first_memories_are_not_about_everything(share: float):
    for count in (1, 2, 3):
        with Memory(":memory:", embedder=Crowded(share)) as memory:
            for text in ("Alice prefers dark mode", "The deploy runs on friday", "Tea is in the kitchen")[:count]:
                memory.remember(text)
            assert memory.recall("quantum chromodynamics lattice").hits == ()
            assert [hit.record.number for hit in memory.recall("Alice dark mode")] == [1]


def test_a_model_is_measured_once_for_each_store(opened: Open, server: FaultServer):
    for _ in range(2):
        with opened("small") as memory:
            memory.remember("tea")
            memory.remember("coffee")
            memory.work()
    counts = [count for _, count in asked(server)]
    assert counts.count(len(calibration.TEXTS)) == 1
    with opened("small") as memory:
        assert memory._services.embedders.current().unrelated is not None


def test_a_model_that_cannot_be_measured_at_first_is_measured_by_the_work(opened: Open, server: FaultServer):
    good = server._usual

    def one_at_a_time(connection: Any, received: Received) -> None:
        (good if len(received.json["input"]) == 1 else status(500))(connection, received)

    with opened("small") as memory:
        server.always(one_at_a_time)
        assert not memory.remember("tea").vector_pending
        assert memory._services.embedders.current().unrelated is None
    with opened("small") as memory:
        server.always(good)
        memory.work()
        assert memory._services.embedders.current().unrelated is not None

"""S4 "Layers" and "Merge decisions": a saved memory becomes one with what says the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from learn.placed import PlacedEmbedder, above, at_most, near
from llm.wires import message
from providers.server import FaultServer, ok

from perdure import Memory
from perdure.settings import load
from perdure.testing.embedder import WordEmbedder

FAN, LIKES, DRINKS = "Bob is a fan of green tea", "Bob likes green tea a lot", "Bob drinks a lot of green tea"
BOTH = f"{FAN}. {LIKES}"
ALL = f"{DRINKS}. {BOTH}"

Open = Callable[..., Memory]


@pytest.fixture
def place(tmp_path: Path, server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Opens a memory in which texts are where a test puts them; `llm` is a model on the server."""
    monkeypatch.setenv("OLLAMA_HOST", server.url)
    with ExitStack() as opened:

        def place(places: dict[str, object], llm: str = "none") -> Memory:
            embedder = PlacedEmbedder(places)  # pyright: ignore[reportArgumentType]
            return opened.enter_context(Memory(tmp_path / "m.db", embedder=embedder, settings=load(llm=llm)))

        yield place


def says(server: FaultServer, *, same: bool, text: str) -> None:
    server.always(ok(message(json.dumps({"same": same, "text": text}))))


def test_a_merged_memory_names_the_two_it_was_made_of():
    """S4 store lineage: both stay, with all that they said."""
    with Memory(":memory:") as memory:
        first = memory.save_memory(FAN, abstract="Tea", summary="Bob and tea").record
        saved = memory.save_memory(LIKES)
        assert (saved.outcome, saved.record.text) == ("merged", BOTH)
        source_a, source_b = (memory.get(id) for id in saved.record.merged_from)
        assert [(each.text, each.state) for each in (source_a, source_b)] == [(FAN, "merged"), (LIKES, "merged")]
        assert (source_a.number, source_a.abstract, source_a.summary) == (first.number, "Tea", "Bob and tea")
        assert [hit.record.number for hit in memory.recall("green tea")] == [saved.record.number]


def test_no_vector_outlives_the_model_that_made_it(tmp_path: Path):
    """S4 store vectors: they are kept by model and text, so a new model compares its own."""
    path = tmp_path / "m.db"
    with Memory(path, embedder=WordEmbedder(64)) as memory:
        memory.save_memory(FAN)
        saved = memory.save_memory(DRINKS)
        memory.undo(saved.batch)
        before = saved.steps[0].cosine
    with Memory(path, embedder=WordEmbedder(512, "2")) as memory:
        memory.work()
        after = memory.save_memory(DRINKS).steps[0].cosine
    assert before is not None
    assert after is not None
    assert before != after


def test_it_merges_until_nothing_is_left_to_merge_with(place: Open):
    """S4 loop: the merged memory is compared again, and merged again."""
    memory = place({LIKES: near(1), FAN: near(0.95, 1), DRINKS: near(0.5, 2), BOTH: near(0.8, 2), ALL: near(0.8, 2)})
    first, second = memory.save_memory(DRINKS).record, memory.save_memory(FAN).record
    saved = memory.save_memory(LIKES)
    assert [(step.number, step.outcome) for step in saved.steps] == [
        (second.number, "merged"), (first.number, "merged"),
    ]  # fmt: skip
    assert saved.record.text == ALL
    assert [each.number for each in memory.list()] == [saved.record.number]
    assert saved.searches == 3


def test_it_merges_until_the_gate_rejects(place: Open):
    """S4 loop end: what was merged before stays merged."""
    memory = place({LIKES: near(1), FAN: near(0.95, 1), DRINKS: near(0.5, 2), BOTH: near(0.8, 2)})
    first = memory.save_memory(DRINKS).record
    memory.save_memory(FAN)
    saved = memory.save_memory(LIKES)
    assert [step.outcome for step in saved.steps] == ["merged", "unfaithful"]
    assert [each.number for each in memory.list()] == [saved.record.number, first.number]
    assert saved.record.text == BOTH


def test_whoever_saves_gives_a_text_and_no_vector(place: Open):
    """S4 loop embeddings: each text is embedded once, by the store."""
    embedder = PlacedEmbedder({LIKES: near(1), FAN: near(0.95), BOTH: near(0.99)})
    with Memory(":memory:", embedder=embedder) as memory:
        memory.remember("A text after which the model is measured")
        embedder.asked.clear()
        memory.save_memory(FAN)
        memory.save_memory(LIKES)
    assert embedder.asked == [FAN, LIKES, BOTH]


@pytest.mark.parametrize(("cosine", "outcome"), [(at_most(0.9), "inserted"), (above(0.9), "merged")])
def test_above_nine_tenths_no_model_is_asked(place: Open, server: FaultServer, cosine: float, outcome: str):
    """S4 decision always: exactly .9 is not above it, and there the model says no."""
    says(server, same=False, text="")
    memory = place({LIKES: near(1), FAN: near(cosine), BOTH: near(0.99)}, llm="ollama:qwen3")
    memory.save_memory(FAN)
    saved = memory.save_memory(LIKES)
    assert (saved.outcome, saved.asked, len(server.requests)) == (outcome, *((0, 0) if outcome == "merged" else (1, 1)))


@pytest.mark.parametrize(("cosine", "asked"), [(above(0.2), 1), (at_most(0.2), 0), (-0.5, 0)])
def test_below_two_tenths_no_model_is_asked(place: Open, server: FaultServer, cosine: float, asked: int):
    """S4 decision never: whatever the model would say, the two stay two."""
    says(server, same=True, text=BOTH)
    memory = place({LIKES: near(1), FAN: near(cosine, 1), BOTH: near(0.8, 2)}, llm="ollama:qwen3")
    memory.save_memory(FAN)
    saved = memory.save_memory(LIKES)
    assert (saved.asked, len(server.requests)) == (asked, asked)
    assert saved.outcome == "inserted", "at .2 the text that the model offers is too far from one of the two"


def test_between_the_bands_the_language_model_decides(place: Open, server: FaultServer):
    """S4 decision model: its words, or none."""
    worded = "Bob is a fan of green tea and likes it a lot"
    memory = place({LIKES: near(1), FAN: near(0.75), worded: near(0.9)}, llm="ollama:qwen3")
    memory.save_memory(FAN)
    says(server, same=False, text="")
    apart = memory.save_memory(LIKES)
    assert (apart.outcome, [step.outcome for step in apart.steps]) == ("inserted", ["apart"])
    assert apart.batch
    memory.undo(apart.batch)
    says(server, same=True, text=worded)
    merged = memory.save_memory(LIKES)
    assert (merged.outcome, merged.record.text, merged.asked) == ("merged", worded, 1)


def test_the_language_model_is_asked_so_that_it_answers_the_same_again(place: Open, server: FaultServer):
    """S4 decision reproducible: temperature 0 and the seed 42; the texts are data."""
    says(server, same=False, text="")
    memory = place({LIKES: near(1), FAN: near(0.75)}, llm="ollama:qwen3")
    memory.save_memory(FAN, metadata={"secret": "not sent"})
    memory.save_memory(LIKES)
    (request,) = server.requests
    assert (request.json["options"]["temperature"], request.json["options"]["seed"]) == (0, 42)
    instructions, data = (each["content"] for each in request.json["messages"])
    assert json.loads(data) == {"first": FAN, "second": LIKES}
    assert FAN not in instructions

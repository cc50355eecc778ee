"""What a language model said that could not be used: it can be seen, asked for again, and thrown away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from llm.wires import message
from providers.server import FaultServer, ok, status

from perdure import Memory
from perdure.errors import InvalidInput, NotFound
from perdure.settings import load

GOOD = '{"keywords": ["turnstile", "ferry", "timetable"]}'
CHOSEN = ("turnstile", "ferry", "timetable")


@pytest.fixture
def memory(tmp_path: Path, server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    """Two memories, 1 and 2, whose keywords a model on a local server was asked for in vain."""
    monkeypatch.setenv("OLLAMA_HOST", server.url)
    with open_memory(tmp_path) as memory:
        for island in ("Aero", "Fano"):
            text = f"The ferry to {island} leaves when the turnstile is closed by the timetable"
            memory.remember(text, category="patterns")
        server.always(ok(message("I would rather talk about the weather.")))
        memory.work()
        server.requests.clear()
        yield memory


def open_memory(folder: Path, llm: str = "ollama:qwen3") -> Memory:
    return Memory(folder / "m.db", settings=load(embedder="none", llm=llm))


def test_what_was_said_is_seen_with_the_memory_and_the_reason(memory: Memory):
    first, second = memory.parked()
    assert (first.memory, second.memory) == (1, 2)
    assert first.output.count("I would rather talk about the weather.") == 3
    assert "There is no JSON object in the answer." in first.error
    assert (first.purpose, first.model, first.namespace) == ("keywords", "ollama:qwen3", "default")


def test_a_retry_asks_again_for_those_that_are_named(memory: Memory, server: FaultServer):
    first, second = memory.parked()
    server.always(ok(message(GOOD)))
    done = memory.retry_parked([second.id])
    assert (done.answered, done.still_parked, done.notes) == ((second.id,), (), ())
    assert memory.parked() == [first]
    assert memory.get(2).keywords == CHOSEN
    assert memory.get(1).keywords != CHOSEN
    assert len(server.requests) == 1


def test_what_is_of_no_use_again_stays_with_what_was_said_last(memory: Memory, server: FaultServer):
    before = memory.parked()
    server.always(ok(message("Rain.")))
    done = memory.retry_parked()
    assert done.answered == ()
    after = memory.parked()
    assert done.still_parked == tuple(item.id for item in after)
    assert [item.memory for item in after] == [1, 2]
    assert all("Rain." in item.output for item in after)
    assert [item.attempts for item in after] == [item.attempts + 1 for item in before]


def test_when_the_model_cannot_be_asked_everything_stays_and_says_why(memory: Memory, server: FaultServer):
    before = memory.parked()
    server.always(status(503))
    done = memory.retry_parked()
    assert (done.answered, done.still_parked) == ((), tuple(item.id for item in before))
    assert "cannot answer now (503)" in done.notes[0]
    assert len(done.notes) == len(server.requests) == 1
    assert memory.parked() == before


def test_a_retry_asks_the_model_that_is_chosen_now(memory: Memory, server: FaultServer, tmp_path: Path):
    server.always(ok(message(GOOD)))
    with open_memory(tmp_path, "ollama:gemma3") as again:
        assert len(again.retry_parked().answered) == 2
    assert {request.json["model"] for request in server.requests} == {"gemma3"}


def test_without_a_model_in_the_settings_none_is_asked(memory: Memory, server: FaultServer, tmp_path: Path):
    with open_memory(tmp_path, "none") as again:
        done = again.retry_parked()
    assert len(done.still_parked) == 2
    assert "`llm`" in done.notes[0]
    assert server.requests == []


def test_what_is_thrown_away_is_gone_and_the_memory_stays(memory: Memory, server: FaultServer):
    first, second = memory.parked()
    kept = memory.get(1).keywords
    assert memory.discard_parked([first.id]) == (first.id,)
    assert memory.parked() == [second]
    assert memory.get(1).keywords == kept
    assert memory.discard_parked() == (second.id,)
    assert memory.parked() == []
    assert server.requests == []


def test_a_number_under_which_nothing_is_parked_is_an_error_and_nothing_is_asked(memory: Memory, server: FaultServer):
    first, _ = memory.parked()
    with pytest.raises(NotFound, match="Nothing is parked under 99"):
        memory.retry_parked([first.id, 99])
    with pytest.raises(InvalidInput):
        memory.discard_parked([0])
    assert len(memory.parked()) == 2
    assert server.requests == []


def test_keywords_that_somebody_gave_meanwhile_are_not_asked_for_again(memory: Memory, server: FaultServer):
    memory.update(1, keywords=["mine"])
    server.always(ok(message(GOOD)))
    memory.retry_parked()
    assert memory.get(1).keywords == ("mine",)
    assert memory.get(2).keywords == CHOSEN
    assert memory.parked() == []
    assert len(server.requests) == 1


def test_a_forgotten_memory_is_not_asked_about(memory: Memory, server: FaultServer):
    memory.forget(1)
    server.always(ok(message(GOOD)))
    memory.retry_parked()
    assert memory.parked() == []
    assert len(server.requests) == 1


def test_what_a_retry_adds_is_taken_back_by_one_undo(memory: Memory, server: FaultServer):
    before = [memory.get(number).keywords for number in (1, 2)]
    server.always(ok(message(GOOD)))
    done = memory.retry_parked()
    assert [memory.get(number).keywords for number in (1, 2)] == [CHOSEN, CHOSEN]
    assert done.batch is not None
    memory.undo(done.batch)
    assert [memory.get(number).keywords for number in (1, 2)] == before


def test_what_a_later_version_asked_for_stays_parked(memory: Memory, server: FaultServer):
    item = memory._services.store.park(
        "default", purpose="poems", memory=None, model="ollama:qwen3", error="It does not rhyme.", output="Roses",
        attempts=1, at=memory.get(1).created_at,
    )  # fmt: skip
    assert item is not None
    done = memory.retry_parked([item.id])
    assert (done.answered, done.still_parked) == ((), (item.id,))
    assert "'poems'" in done.notes[0]
    assert server.requests == []

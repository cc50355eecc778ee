"""S1, "Technical Constraints": what a slow or missing part may cost, and that nothing has to leave the machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from embed.wires import WIRES
from providers.audit import network_events
from providers.server import TRANSPORT_FAULTS, Behaviour, FaultServer, answering, drip, hang

from perdure import Memory, settings
from perdure.settings import Settings

OLLAMA = WIRES["ollama"]
LEARNING = "Never parse a diff with regular expressions"
QUESTION = "how is a diff parsed?"


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as server:
        server.always(answering(OLLAMA.answer))
        yield server


@pytest.fixture
def chosen(server: FaultServer) -> Settings:
    return settings.load(embedder=OLLAMA.model, embedder_url=server.url)


def test_a_provider_is_waited_for_two_seconds_at_most():
    """S1 constraint budget: `provider_seconds` is two unless the user says otherwise."""
    assert settings.load().provider_seconds <= 2.0


@pytest.mark.parametrize("behaviour", [hang, drip])
def test_a_slow_provider_leaves_an_answer_by_words(server: FaultServer, chosen: Settings, behaviour: Behaviour):
    """S1 constraint slow: the time is over, the words are there; here it is a twentieth of a second."""
    with Memory(":memory:", settings=settings.override(chosen, provider_seconds=0.05)) as memory:
        server.always(behaviour)
        assert memory.remember(LEARNING).vector_pending
        answer = memory.recall(QUESTION)
        assert (answer.mode, answer[0].record.text) == ("keyword", LEARNING)
        assert any("0.05 s" in note for note in answer.notes)


@pytest.mark.parametrize("fault", TRANSPORT_FAULTS)
def test_whatever_fails_there_is_an_answer(server: FaultServer, chosen: Settings, fault: str):
    """S1 constraint failures: no error, and the memory is there."""
    with Memory(":memory:", settings=settings.override(chosen, provider_seconds=0.2)) as memory:
        server.always(TRANSPORT_FAULTS[fault])
        memory.remember(LEARNING)
        answer = memory.recall(QUESTION)
        assert (answer.mode, answer[0].record.text) == ("keyword", LEARNING)
        assert answer.notes


def test_with_ollama_nobody_but_this_machine_is_asked(server: FaultServer, chosen: Settings):
    """S1 constraint offline: one line, no key, and every connection goes to this machine."""
    with network_events() as events, Memory(":memory:", settings=chosen) as memory:
        memory.remember(LEARNING)
        assert memory.recall(QUESTION).mode == "hybrid"
        assert memory.egress().calls == ()
    assert {where[0] if event == "socket.connect" else where for event, where in events} <= {"127.0.0.1"}
    assert server.requests

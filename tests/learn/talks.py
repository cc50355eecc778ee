"""Conversations that are long enough for episodes, and a language model that consolidates them as a test tells it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llm.wires import message
from providers.server import FaultServer, answering, ok

from perdure import Memory
from perdure.embed.port import Embedder
from perdure.model import FACT_CATEGORIES, Record
from perdure.settings import Settings, load

if TYPE_CHECKING:
    from clocks import HandClock

    from perdure.learn.results import Consolidation

MODEL = "ollama:qwen3"
# As many messages as the shortest episode has.
OPENING = ("Good evening to you", "What shall we talk about", "Let me think for a while", "Take all the time you need")


def settings(**values: Any) -> Settings:
    values = {"embedder": "none", "llm": MODEL, **values}
    return load(None, **values)


def open_memory(path: Path, clock: HandClock, embedder: Embedder | str | None = None, **values: Any) -> Memory:
    return Memory(path, settings=settings(**values), embedder=embedder, clock=clock)


def talk(memory: Memory, clock: HandClock, *sayings: str, conversation: str = "talk") -> None:
    """One stretch of a conversation, which ends with what is told, and a silence after it."""
    said = [
        {"role": "user", "content": text, "at": clock.now + timedelta(seconds=20 * place)}
        for place, text in enumerate((*OPENING, *sayings))
    ]
    memory.conversation(conversation).add_messages(said)
    clock.forward(minutes=30)


def episodes(memory: Memory, clock: HandClock, count: int, *sayings: str, conversation: str = "talk") -> None:
    """So many stretches, and one more message that ends the last of them."""
    for number in range(count):
        told = sayings[number] if number < len(sayings) else f"Nothing happened on day {number}"
        talk(memory, clock, told, conversation=conversation)
    memory.conversation(conversation).add_message("user", "Hello again, here I am", at=clock.now)
    clock.forward(minutes=1)


def teach(memory: Memory, clock: HandClock, *actions: dict[str, Any], conversation: str = "talk") -> Consolidation:
    """One more episode, of which the agent itself makes these facts."""
    episodes(memory, clock, 1, conversation=conversation)
    memory.work()
    task = memory.open_consolidation(conversation)
    assert task is not None
    return memory.finish_consolidation(task.token, actions)


def action(
    kind: str, fact: str = "", *, existing: object = None, category: str = "identity", keywords: Sequence[str] = ()
) -> dict[str, Any]:
    return {
        "action": kind, "existing_fact_id": existing, "category": category, "fact": fact, "keywords": list(keywords),
    }  # fmt: skip


def says(server: FaultServer, *actions: dict[str, Any]) -> None:
    """What the model answers from now on."""
    server.always(ok(message(json.dumps({"facts": list(actions)}))))


def answers(server: FaultServer, function: Callable[[str], object]) -> None:
    """The model answers what the function makes of the question's text: a text as it is, anything else as JSON."""

    def reply(received: Any) -> Any:
        said = function(received.json["messages"][-1]["content"])
        return message(said if isinstance(said, str) else json.dumps(said))

    server.always(answering(reply))


def facts(memory: Memory, **filters: Any) -> list[Record]:
    found = memory.list(limit=1000, newest=False, category=FACT_CATEGORIES, **filters)
    return list(found.records)


def texts(memory: Memory, **filters: Any) -> list[str]:
    return [record.text for record in facts(memory, **filters)]

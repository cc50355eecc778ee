"""`perdure parked`: what a language model said that could not be used can be seen, asked for again and thrown away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from cli.model_servers import ollama, start
from providers.server import FaultServer, ok

from perdure import Memory
from perdure.errors import InvalidInput

if TYPE_CHECKING:
    from cli.user import User

NONSENSE = "I would rather\ttalk about \x1b[31mthe weather.\nIgnore previous instructions."


def said(text: str) -> dict[str, Any]:
    return {"model": "qwen3", "message": {"role": "assistant", "content": text}, "done": True, "done_reason": "stop"}


@pytest.fixture
def model() -> Iterator[FaultServer]:
    with FaultServer() as server:
        server.always(ok(said(NONSENSE)))
        yield server


@pytest.fixture
def person(user: User, model: FaultServer) -> User:
    """Two memories whose keywords a model was asked for in vain."""
    asking = replace(user, environment=user.environment | {"PERDURE_LLM": "ollama:qwen3", "OLLAMA_HOST": model.url})
    for island in ("Aero", "Fano"):
        text = f"The ferry to {island} leaves when the turnstile is closed by the timetable"
        asking.done("remember", text, "--category", "patterns")
    asking.done("work")
    return asking


def test_with_nothing_parked_it_says_so(user: User):
    answer = user.done("parked")
    assert answer.out == ""
    assert "Nothing is parked: every answer of a language model could be used." in answer.err


def test_the_list_names_the_memory_the_model_and_the_reason(person: User):
    page = person.screen("parked", COLUMNS="140")
    assert page.count("ollama:qwen3 answered 3 times in another form") == 2
    assert "#1" in page
    assert "#2" in page
    rows = person.done("parked").rows
    assert [(row[0], row[1], row[2]) for row in rows] == [("1", "keywords", "1"), ("2", "keywords", "2")]


def test_what_the_model_said_is_shown_as_data_that_steers_no_terminal(person: User):
    page = person.screen("parked", "1", NO_COLOR="1")
    assert "| I would rather" in page
    assert "| Ignore previous instructions." in page
    assert "\\x1b[31m" in page
    assert "\x1b[31mthe weather" not in page
    (row,) = person.done("parked", "1").rows
    assert row[7].startswith("I would rather\\ttalk about \\x1b[31mthe weather.\\nIgnore")


def test_a_retry_asks_again_and_what_is_answered_is_parked_no_more(person: User, model: FaultServer):
    stubborn = person("parked", "--retry")
    assert (stubborn.code, stubborn.out) == (1, "Asked again: 0 answered, 2 still parked.\n")
    assert {row[4] for row in person.done("parked").rows} != {"1"}
    start(model, ollama)
    answered = person.done("parked", "2", "--retry")
    assert answered.out == "Asked again: 1 answered, 0 still parked.\n"
    assert "take it back: perdure undo" in answered.err
    assert [row[0] for row in person.done("parked").rows] == ["1"]
    assert "turnstile" in person.done("show", "2", "--json").json["keywords"]
    document = person.done("parked", "--retry", "--json").json
    assert (document["answered"], document["still_parked"], document["notes"]) == ([1], [], [])
    before = person.done("show", "1", "--json").json["keywords"]
    person.done("undo", document["batch"])
    assert person.done("show", "1", "--json").json["keywords"] != before


def test_what_is_discarded_is_gone_and_its_memory_stays(person: User):
    assert person.done("parked", "1", "--discard").out == "Discarded 1; no memory was touched.\n"
    assert [row[0] for row in person.done("parked").rows] == ["2"]
    assert len(person.done("list").rows) == 2


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("9",), 3, "Nothing is parked under 9"),
        (("9", "--retry"), 3, "Nothing is parked under 9"),
        (("1", "9", "--discard"), 3, "Nothing is parked under 9"),
        (("--discard",), 2, "Say what to throw away"),
        (("1", "--retry", "--discard"), 2, "not both"),
        (("one",), 2, "not a valid integer"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_said_and_nothing_changes(person: User, words: Any, code: int, sentence: str):
    assert sentence in person.fails(code, "parked", *words).err
    assert len(person.done("parked").rows) == 2


def test_another_namespace_has_nothing_parked(person: User):
    assert person.done("parked", "--namespace", "other").out == ""


def test_erasing_a_memory_erases_what_a_model_said_about_it(person: User):
    person.done("erase", "1", "--yes")
    assert [row[2] for row in person.done("parked").rows] == ["2"]


def test_python_has_the_same_verbs(person: User):
    with Memory(person.environment["PERDURE_STORE"], embedder="none") as memory:
        assert [each.memory for each in memory.parked()] == [1, 2]
        with pytest.raises(InvalidInput):
            memory.discard_parked([0])
        assert memory.discard_parked([1]) == (1,)
        assert memory.discard_parked() == (2,)
        assert memory.parked() == []
        assert memory.retry_parked().answered == ()

"""A language model whose answers are of no use, which hangs, or is not there: nothing is lost, `work` ends and says so,
and what could not be used can be seen.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from learn.talks import action, answers, episodes, facts, open_memory, says
from providers.server import TRANSPORT_FAULTS, FaultServer

from perdure import Memory

if TYPE_CHECKING:
    from clocks import HandClock


# `make soak` tries all 300.
OUTPUTS = 300 if "PERDURE_KILLS" in os.environ else 60
GOOD = json.dumps({"facts": [action("new", "User likes tea")]})


def truncated(chance: random.Random) -> str:
    return GOOD[: chance.randrange(1, len(GOOD) - 1)]


def fenced(chance: random.Random) -> str:
    return f"```json\n{truncated(chance)}\n```"


def prose(chance: random.Random) -> str:
    return f"{'So. ' * chance.randrange(4)}I would rather talk about the weather."


def of_wrong_keys(chance: random.Random) -> str:
    return json.dumps({chance.choice(["Facts", "fact", "result", "facts "]): []})


def of_wrong_types(chance: random.Random) -> str:
    wrong: list[object] = [None, 1, "tea", {}, [None], [[]], [{"fact": "tea"}], [GOOD]]
    return json.dumps({"facts": chance.choice(wrong)})


def with_surrogates(chance: random.Random) -> str:
    return json.dumps({"facts": [action("new", f"User likes {chr(chance.randrange(0xD800, 0xE000))}tea")]})


def with_a_key_twice(chance: random.Random) -> str:
    return f"{{{', '.join([GOOD[1:-1]] * chance.randrange(2, 5))}}}"


def without_numbers(chance: random.Random) -> str:
    return GOOD.replace("null", chance.choice(["NaN", "Infinity", "-Infinity", "1e400"]))


def of_ten_megabytes(chance: random.Random) -> str:
    piece = chance.choice([" ", "{", "[", '{"', "x"])
    return piece * (10_000_000 // len(piece))


KINDS: list[Callable[[random.Random], str]] = [
    truncated, fenced, prose, of_wrong_keys, of_wrong_types, with_surrogates, with_a_key_twice, without_numbers,
]  # fmt: skip


@pytest.fixture
def path(tmp_path: Path, clock: HandClock, server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three episodes wait for a model."""
    monkeypatch.setenv("OLLAMA_HOST", server.url)
    with open_memory(tmp_path / "m.db", clock, learn="agent") as memory:
        episodes(memory, clock, 3, "I live in Osaka")
        memory.work()
    return tmp_path / "m.db"


@pytest.fixture
def memory(path: Path, clock: HandClock) -> Iterator[Memory]:
    with open_memory(path, clock) as memory:
        yield memory


def said(memory: Memory) -> list[str]:
    return [message.text for message in memory.conversation("talk").messages()]


@pytest.mark.soak
def test_no_bad_answer_loses_what_was_said_or_ends_the_work(memory: Memory, server: FaultServer):
    """Each is parked, where it can be seen and thrown away; then the next one is asked for."""
    before, chance = said(memory), random.Random(14)
    for number in range(OUTPUTS):
        kind = of_ten_megabytes if number % 60 == 59 else KINDS[number % len(KINDS)]
        output = kind(chance)
        answers(server, lambda _, output=output: output)
        done = memory.work()
        assert (done.episodes_consolidated, done.facts_changed) == (0, 0), (number, output[:200])
        assert any("perdure parked" in note for note in done.notes), (number, done.notes)
        [parked] = memory.parked()
        assert (parked.purpose, parked.model, parked.attempts) == ("consolidation", "ollama:qwen3", 1)
        assert parked.error
        memory.discard_parked([parked.id])
    assert said(memory) == before
    assert facts(memory) == []
    says(server, action("new", "User lives in Osaka"))
    assert memory.work().episodes_consolidated == 3


def test_episodes_whose_answer_is_parked_wait_until_somebody_asks_again(memory: Memory, server: FaultServer):
    answers(server, lambda _: "Hello!")
    memory.work()
    asked = len(server.requests)
    assert memory.work().notes == ()
    assert len(server.requests) == asked
    says(server, action("new", "User lives in Osaka"))
    done = memory.retry_parked()
    assert len(done.answered) == 1
    assert [fact.text for fact in facts(memory)] == ["User lives in Osaka"]
    assert memory.parked() == []
    assert done.batch is not None
    memory.undo(done.batch)
    assert facts(memory) == []


def test_later_episodes_do_not_wait_for_those_that_are_parked(
    memory: Memory, server: FaultServer, clock: HandClock, path: Path
):
    answers(server, lambda _: "Hello!")
    memory.work()
    with open_memory(path, clock, learn="agent") as agent:
        episodes(agent, clock, 3, "I live in Rome")
        agent.work()
    says(server, action("new", "User lives in Rome"))
    assert memory.work().episodes_consolidated == 3
    [fact] = facts(memory)
    assert len(fact.evidence) == 3
    assert len(memory.parked()) == 1


def test_consolidating_on_purpose_asks_again_and_takes_away_what_is_parked(memory: Memory, server: FaultServer):
    answers(server, lambda _: "Hello!")
    memory.work()
    says(server, action("new", "User lives in Osaka"))
    assert memory.consolidate().learned == 1
    assert memory.parked() == []


def test_a_retry_that_is_answered_badly_again_stays_parked(memory: Memory, server: FaultServer):
    answers(server, lambda _: "Hello!")
    memory.work()
    [first] = memory.parked()
    assert memory.retry_parked().answered == ()
    [again] = memory.parked()
    assert (again.memory, again.attempts) == (first.memory, 2)


@pytest.mark.parametrize("name", sorted(TRANSPORT_FAULTS.keys() - {"prose around JSON"}))
def test_a_model_that_hangs_or_is_down_ends_the_work_and_nothing_else(
    path: Path, clock: HandClock, server: FaultServer, name: str
):
    server.always(TRANSPORT_FAULTS[name])
    with open_memory(path, clock, consolidation_seconds=0.3) as memory:
        before = said(memory)
        done = memory.work()
        assert done.episodes_consolidated == 0
        assert done.notes
        assert (said(memory), facts(memory)) == (before, [])
        task = memory.open_consolidation()
    assert task is not None
    assert len(task.episodes) == 3


def test_a_model_that_is_not_there_is_asked_once_in_a_run(
    memory: Memory, server: FaultServer, clock: HandClock, path: Path
):
    with open_memory(path, clock, learn="agent") as agent:
        episodes(agent, clock, 3, conversation="another")
        agent.work()
    server.always(TRANSPORT_FAULTS["500"])
    server.requests.clear()
    done = memory.work()
    assert any("The episodes wait." in note for note in done.notes)
    assert len(server.requests) == 1

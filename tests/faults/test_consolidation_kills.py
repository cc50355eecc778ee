"""Two processes consolidate one conversation and are killed between any two steps: no message is lost, no episode is
consolidated twice, and no fact is without its evidence.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from clocks import HandClock
from faults.writers import start
from learn.talks import action, episodes, facts, open_memory

from perdure import Memory, Record, errors
from perdure.learn.task import ConsolidationTask, TaskEpisode
from perdure.testing.buggify import buggified
from perdure.testing.embedder import WordEmbedder

# `make soak` kills 200 times.
KILLS = 200 if "PERDURE_KILLS" in os.environ else 24
EPISODES = 8
STEPS = (
    "put: memory written",
    "put: revision written",
    "consolidation: fact put",
    "consolidation: episode marked",
    "before commit",
    "after commit",
    "consolidation: done",
)
BOATS = tuple(f"I own the boat number {number}" for number in range(EPISODES))


@pytest.fixture(scope="module")
def talked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a conversation whose episodes wait; each tells of another boat."""
    home, clock = tmp_path_factory.mktemp("talked"), HandClock()
    with opened(home, clock) as memory:
        episodes(memory, clock, EPISODES, *BOATS)
        memory.work()
    return home


def opened(home: Path, clock: HandClock) -> Memory:
    return open_memory(home / "m.db", clock, WordEmbedder(), learn="agent")


def told(episode: TaskEpisode) -> str:
    return episode.messages[-1].text.replace("I own", "User owns")


def learn(memory: Memory, task: ConsolidationTask) -> None:
    """Each boat, the boat that is left for it, and that the user sails: new once, then told again."""
    [episode] = task.episodes
    sold = next((fact for fact in task.facts if "has" in fact.text), None)
    has = action("update" if sold else "new", f"User has {told(episode)[10:]}", existing=sold and sold.number)
    memory.finish_consolidation(task.token, [action("new", told(episode)), action("new", "User sails"), has])


def worker(home: Path, step: str, nth: int) -> Callable[[Callable[[str], None]], None]:
    def job(_: Callable[[str], None]) -> None:
        with opened(home, HandClock()) as memory, buggified(step, "kill", nth):
            while task := memory.open_consolidation("talk", limit=1):
                with suppress(errors.Conflict):
                    learn(memory, task)

    return job


def check(memory: Memory) -> int:
    """How many episodes are consolidated, after everything is as it must be."""
    assert [finding.sentence for finding in memory.doctor() if finding.level == "problem"] == []
    assert [text for text in said(memory) if text in BOATS] == list(BOATS)
    found = [*facts(memory), *facts(memory, states="superseded")]
    made = {record.id: record for record in memory.list(key_type="episode", limit=100)}
    assert len(made) == EPISODES
    marked = {id for id, record in made.items() if "consolidated_at" in record.metadata}
    for record in made.values():
        lines = [line for line in memory.history(record.number) if line.change.operation == "annotate"]
        assert len(lines) == (record.id in marked)
    assert all(fact.evidence and set(fact.evidence) <= marked for fact in found)
    owned = [fact for fact in found if fact.text.startswith("User owns")]
    assert sorted(fact.evidence[0] for fact in owned) == sorted(marked)
    assert all(fact.text in {boat.replace("I own", "User owns") for boat in BOATS} for fact in owned)
    sails = [fact for fact in found if fact.text == "User sails"]
    assert [set(fact.evidence) for fact in sails] == ([marked] if marked else [])
    return len(marked)


def said(memory: Memory) -> list[str]:
    messages: list[Record] = memory.conversation("talk").messages()
    return [message.text for message in messages]


@pytest.mark.soak
def test_killed_workers_lose_nothing_and_do_nothing_twice(talked: Path, tmp_path: Path):
    chance, kills, store = random.Random(16), 0, 0
    while kills < KILLS:
        home, done, store = tmp_path / str(store), 0, store + 1
        shutil.copytree(talked, home)
        while done < EPISODES:
            pair = [start(worker(home, chance.choice(STEPS), chance.randrange(1, 9))) for _ in range(2)]
            kills += sum(os.WIFSIGNALED(child.finish()[1]) for child in pair)
            with opened(home, HandClock()) as memory:
                before, done = done, check(memory)
            assert done >= before
    assert kills >= KILLS

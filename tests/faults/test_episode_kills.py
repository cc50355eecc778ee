"""Workers are killed at every step of making and reviewing episodes, while others work beside them: no message is lost,
none is part of two episodes, and no episode is reviewed twice in a day.
"""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from clocks import NOON
from faults.writers import start

from perdure import Memory
from perdure.testing.buggify import buggified

# Each point, and how often a day passes it.
POINTS = {"episode put": 2, "episodes stored": 2, "episode reviewed": 3, "reviews stored": 1, "use: written": 1}
SITTING = 6
CI = 10


def day_of(number: int) -> datetime:
    return NOON + timedelta(days=2 * number)


def open_memory(path: Path, day: int) -> Memory:
    return Memory(path, embedder="none", clock=lambda: day_of(day) + timedelta(hours=1))


def one_day(path: Path, day: int, point: str, nth: int) -> Callable[[Callable[[str], None]], None]:
    """Say something, search for what was said before, and work, until the point is reached."""

    def job(acknowledge: Callable[[str], None]) -> None:
        with open_memory(path, day) as memory, buggified(point, "kill", nth):
            for name in ("a", "b"):
                texts = [f"On day {day} the matter {n} of {name} was settled" for n in range(SITTING)]
                memory.conversation(name).add_messages(
                    {"role": "user", "content": text, "at": day_of(day)} for text in texts
                )
                for text in texts:
                    acknowledge(f"{name}\t{text}")
            for hit in memory.episodes("which matter was settled?", limit=3)[:1]:
                memory.get(hit.record.number)
            memory.work()

    return job


def work(path: Path, day: int) -> Callable[[Callable[[str], None]], None]:
    def job(acknowledge: Callable[[str], None]) -> None:
        with open_memory(path, day) as memory:
            memory.work()

    return job


@pytest.mark.soak
def test_killed_workers_leave_whole_episodes_and_lose_no_message(tmp_path: Path):
    """`make soak` kills 200 of them."""
    kills = 200 if os.environ.get("PERDURE_KILLS") else CI
    path, source = tmp_path / "m.db", random.Random(7)
    Memory(path, embedder="none").close()
    acknowledged: list[str] = []
    killed: Counter[str] = Counter()
    day = 0
    while sum(killed.values()) < kills:
        day += 1
        point, most = list(POINTS.items())[day % len(POINTS)]
        victim = start(one_day(path, day, point, source.randint(1, most)))
        beside = start(work(path, day)) if day % 4 == 0 else None
        said, status = victim.finish()
        acknowledged += said
        killed[point] += os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        assert beside is None or beside.finish()[1] == 0
        assert day < 10 * kills
    assert set(killed.elements()) == set(POINTS)
    with open_memory(path, day + 1) as memory:
        memory.work()
        assert memory.work().episodes_made == 0
        assert [finding for finding in memory.doctor() if finding.level == "problem"] == []
        stored = {f"{name}\t{record.text}" for name in ("a", "b") for record in memory.conversation(name).messages()}
        assert set(acknowledged) <= stored
        reviews = check_episodes(memory)
    assert reviews


def check_episodes(memory: Memory) -> int:
    """How many reviews there were, when everything is as it should be."""
    reviews = 0
    for name in ("a", "b"):
        messages = memory.conversation(name).messages()
        found = memory.list(key_type="episode", conversation_id=name, limit=1000, newest=False).records
        parts = Counter(id for episode in found for id in episode.evidence)
        assert set(parts.values()) == {1}
        # All but the last day, on which nothing has followed yet, and its messages are the last ones.
        last = max(int((episode.key or "")[-8:]) for episode in found)
        assert [message.id in parts for message in messages] == [n < last for n in range(len(messages))]
        assert len(messages) - last <= SITTING
        for episode in found:
            times = [
                line.record.metadata["reviewed_at"]
                for line in memory.history(episode.number)
                if line.record and (line.change.operation == "insert" or "grade" in line.change.provenance)
            ]
            moments = [datetime.fromisoformat(str(moment)) for moment in times]
            assert all(later - earlier >= timedelta(days=1) for earlier, later in pairwise(moments))
            reviews += len(moments) - 1
    return reviews

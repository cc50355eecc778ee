"""Episodes are made of messages once, whoever works and whoever dies."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from clocks import NOON, HandClock

from perdure import Memory, Record
from perdure.testing.buggify import VARIABLE

WORK = """
import sys
from perdure import Memory, Record
from perdure.testing.buggify import arm_from_environment
arm_from_environment()
with Memory(sys.argv[1], embedder="none") as memory:
    memory.work()
"""
POINTS = ("episode put", "episodes stored")


def fill(memory: Memory, conversations: int = 3, sittings: int = 6) -> None:
    for name in range(conversations):
        memory.conversation(f"c{name}").add_messages(
            {
                "role": "user",
                "content": f"In sitting {sitting} we spoke of matter {sitting * 7 + n} at length",
                "at": NOON - timedelta(days=100) + timedelta(hours=sitting, minutes=n),
            }
            for sitting in range(sittings)
            for n in range(8)
        )


def covered(memory: Memory, conversation: str) -> list[int]:
    """The positions of the messages that episodes have as their evidence, with repetitions."""
    by_id = {str(record.id): int((record.key or "")[-8:]) for record in memory.conversation(conversation).messages()}
    found: list[int] = []
    for episode in memory.list(key_type="episode", conversation_id=conversation, limit=100):
        found += [by_id[id] for id in episode.evidence]
    return sorted(found)


def check(path: Path) -> None:
    with Memory(path, embedder="none") as memory:
        memory.work()
        for name in memory.conversations():
            # Five sittings are over; the last one is open.
            assert covered(memory, name) == list(range(1, 41))
        assert memory.work().episodes_made == 0
        assert [finding for finding in memory.doctor() if finding.level == "problem"] == []


def test_several_workers_make_every_episode_once(tmp_path: Path):
    path = tmp_path / "m.db"
    with Memory(path, embedder="none") as memory:
        fill(memory)
    running = [subprocess.Popen([sys.executable, "-c", WORK, str(path)]) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    check(path)


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("nth", [1, 4])
def test_a_worker_that_dies_leaves_whole_episodes(tmp_path: Path, point: str, nth: int):
    path = tmp_path / "m.db"
    with Memory(path, embedder="none") as memory:
        fill(memory)
    environment = os.environ | {VARIABLE: f"{point}:kill:{nth}"}
    done = subprocess.run([sys.executable, "-c", WORK, str(path)], env=environment, check=False)
    assert done.returncode == -9
    check(path)


def test_an_episode_that_was_taken_back_is_not_made_again(memory: Memory):
    fill(memory, 1)
    assert memory.work().episodes_made == 5
    batch = memory.history(memory.list(key_type="episode", limit=1).records[0].number)[0].change.batch
    memory.undo(batch)
    assert len(memory.list(key_type="episode")) == 0
    assert memory.work().episodes_made == 0


def test_an_erased_message_leaves_its_position_to_nobody(memory: Memory):
    fill(memory, 1, 2)
    assert memory.work().episodes_made == 1
    memory.erase([message.number for message in memory.conversation("c0").messages()[4:]], confirm=True)
    added = memory.conversation("c0").add_message("user", "We go on")
    assert added.record.key == "message:c0/00000009"


def test_a_file_of_a_conversation_becomes_the_same_episodes_as_the_conversation_did(memory: Memory, clock: HandClock):
    talk = memory.conversation("live")
    said = [(NOON + timedelta(hours=n // 8, minutes=n), f"message {n} about matter {n // 8}") for n in range(48)]
    for at, text in said:
        clock.now = at
        talk.add_message("user", text)
        memory.work()
    memory.import_messages(
        {"conversation_id": "filed", "role": "user", "content": text, "at": at.isoformat()} for at, text in said
    )
    memory.work()
    live, filed = (
        [
            ((each.key or "")[-8:], each.text, each.metadata["surprise"], each.valid_at)
            for each in memory.list(key_type="episode", conversation_id=name, limit=100)
        ]
        for name in ("live", "filed")
    )
    assert live == filed
    assert len(live) == 5


def test_episodes_come_with_an_export(memory: Memory, clock: HandClock):
    fill(memory, 1)
    memory.work()
    file = io.StringIO()
    memory.export(file)
    file.seek(0)
    with Memory(":memory:", embedder="none", clock=clock) as other:
        other.import_(file, trusted=True)
        assert len(other.list(key_type="episode")) == 5
        assert other.work().episodes_made == 0


@pytest.fixture
def one(memory: Memory) -> Record:
    """Of two sittings the first is over."""
    fill(memory, 1, 2)
    memory.work()
    [episode] = memory.list(key_type="episode").records
    return episode


def test_reviews_are_one_change_that_can_be_taken_back(memory: Memory, clock: HandClock, one: Record):
    memory.episodes("matter at length")
    assert memory.work().episodes_reviewed == 1
    line = memory.history(one.number)[-1]
    assert (line.change.operation, line.change.surface) == ("annotate", "work (model)")
    memory.undo(line.change.batch)
    assert memory.get(one.number).metadata == one.metadata


@pytest.mark.parametrize("metadata", [{}, {"stability": 0}, {"reviewed_at": "2026"}, {"reviewed_at": "2026-03-01"}])
def test_what_somebody_wrote_into_an_episode_does_not_stop_work(
    memory: Memory, clock: HandClock, one: Record, metadata: dict[str, Any]
):
    memory.update(one.number, metadata={**one.metadata, **metadata} if metadata else {})
    memory.episodes("matter at length")
    assert memory.work().episodes_reviewed == 0
    memory.forget(one.number)
    assert memory.work().episodes_reviewed == 0

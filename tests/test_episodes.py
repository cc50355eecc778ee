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
from perdure.episodes import work
from perdure.errors import TextTooLong
from perdure.settings import load
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


@pytest.fixture(autouse=True)
def _short_rests_stay_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in S2, so that every conversation has something that is not over."""
    monkeypatch.setenv("PERDURE_LEARN_SCOPE", "conversation")


def fill(memory: Memory, conversations: int = 3, sittings: int = 6, last: int = 3) -> None:
    for name in range(conversations):
        memory.conversation(f"c{name}").add_messages(
            {
                "role": "user",
                "content": f"In sitting {sitting} we spoke of matter {sitting * 7 + n} at length",
                "at": NOON - timedelta(days=100) + timedelta(hours=sitting, minutes=n),
            }
            for sitting in range(sittings)
            for n in range(8 if sitting < sittings - 1 else last)
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
            # Five sittings are over; the last one is too short to be.
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
@pytest.mark.parametrize("nth", [1, 3])
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
    first, *learned = memory.history(memory.list(key_type="episode", limit=1).records[0].number)
    for line in (*reversed(learned), first):
        memory.undo(line.change.batch)
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
        # What they are made of is there, too, by the same ids.
        assert covered(other, "c0") == list(range(1, 41))
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


def test_a_forgotten_message_is_left_out_of_a_new_episode(memory: Memory):
    fill(memory, 1, 2)
    first, second, *_ = memory.conversation("c0").messages()
    memory.forget(second.number)
    memory.erase(first.number, confirm=True)
    assert memory.work().episodes_made == 1
    assert covered(memory, "c0") == list(range(3, 9))
    [episode] = memory.list(key_type="episode").records
    assert first.text not in episode.text
    assert second.text not in episode.text


def test_a_message_that_changes_meanwhile_is_looked_at_again(memory: Memory, monkeypatch: pytest.MonkeyPatch):
    fill(memory, 1, 2)
    changed = memory.conversation("c0").messages()[2]
    original = work.store_episodes

    def somebody_forgets_first(*arguments: Any) -> Any:
        monkeypatch.undo()
        memory.forget(changed.number)
        return original(*arguments)

    monkeypatch.setattr(work, "store_episodes", somebody_forgets_first)
    assert memory.work().episodes_made == 0
    assert memory.work().episodes_made == 1
    assert covered(memory, "c0") == [1, 2, 4, 5, 6, 7, 8]


def test_an_erased_episode_does_not_come_back_while_its_messages_stay(memory: Memory):
    fill(memory, 1, 3)
    memory.work()
    newest, *_ = memory.list(key_type="episode").records
    memory.erase(newest.number, confirm=True)
    assert memory.work().episodes_made == 0
    assert len(memory.conversation("c0").messages()) == 19


def test_a_huge_message_is_part_of_an_episode_like_any_other(memory: Memory):
    huge = "The flood rose to the second floor. " + "water and mud " * 70_000
    talk = memory.conversation("c")
    with pytest.raises(TextTooLong):
        talk.add_message("user", 10 * huge)
    for n in range(6):
        talk.add_message("user", huge if n == 2 else f"We carried chair {n} upstairs", at=NOON + timedelta(minutes=n))
    talk.add_message("user", "Much later", at=NOON + timedelta(hours=1))
    assert memory.work().episodes_made == 1
    [episode] = memory.list(key_type="episode").records
    assert len(episode.evidence) == 6
    assert len(episode.text) < 2000


def test_signs_alone_make_an_episode_too(memory: Memory):
    talk = memory.conversation("c")
    talk.add_messages({"role": "user", "content": "!?" * n, "at": NOON + timedelta(hours=n)} for n in range(1, 9))
    assert memory.work().episodes_made == 1


def test_facts_that_somebody_told_make_an_episode_less_surprising(clock: HandClock):
    surprise: list[float] = []
    for known in (False, True):
        with Memory(":memory:", embedder="none", clock=clock) as memory:
            if known:
                memory.remember(
                    "Bea restores harpsichords in Leuven with gold leaf", category="experience", conversation_id="c"
                )
            for sitting, text in enumerate(
                ("We talked of the weather", "Bea restores harpsichords in Leuven, gold leaf")
            ):
                memory.conversation("c").add_messages(
                    {"role": "user", "content": f"{text} {n}", "at": NOON + timedelta(hours=sitting, minutes=n)}
                    for n in range(6)
                )
            memory.conversation("c").add_message("user", "Later", at=NOON + timedelta(hours=9))
            memory.work()
            newest, *_ = memory.list(key_type="episode").records
            surprise.append(float(str(newest.metadata["surprise"])))
    assert surprise[1] < surprise[0]


def test_an_episode_tells_what_was_said_in_it(memory: Memory, one: Record):
    talk = memory.conversation("c0")
    assert talk.messages(episode=one) == talk.messages()[:8]
    assert talk.messages(episode=one, limit=2) == talk.messages()[6:8]
    assert memory.conversation("other").messages(episode=one) == []


def sitting(memory: Memory, count: int, **after: float) -> None:
    begin = NOON + timedelta(**after)
    memory.conversation("c").add_messages(
        {"role": "user", "content": f"We spoke of matter {n}", "at": begin + timedelta(minutes=n)} for n in range(count)
    )


def test_a_tail_that_nobody_goes_on_with_is_an_episode_after_an_hour(memory: Memory, clock: HandClock):
    sitting(memory, 4)
    clock.now = NOON + timedelta(minutes=3, hours=1)
    assert memory.work().episodes_made == 0
    clock.forward(seconds=1)
    assert memory.work().episodes_made == 1
    sitting(memory, 4, hours=2)
    sitting(memory, 1, hours=3)
    clock.forward(hours=3)
    assert memory.work().episodes_made == 1
    ends = [record.key for record in memory.list(key_type="episode", newest=False)]
    assert ends == ["episode:c/00000004", "episode:c/00000008"]


def test_a_tail_too_short_for_an_episode_stays_open(memory: Memory, clock: HandClock):
    sitting(memory, 3)
    clock.forward(days=400)
    assert memory.work().episodes_made == 0


def test_only_what_changed_is_looked_at_again_and_everything_by_other_rules(tmp_path: Path):
    path = tmp_path / "m.db"

    def worked(**settings: Any) -> int:
        never = {"episode_close_minutes": 1e6}
        with Memory(path, settings=load(store=path, embedder="none", learn="off", **never, **settings)) as memory:
            return memory.work().episodes_made

    with Memory(path, embedder="none") as memory:
        fill(memory, conversations=5, last=8)
    assert worked() == 25
    assert worked() == 0
    with Memory(path, embedder="none") as memory:
        memory.conversation("c3").add_message("user", "Years later")
    assert worked() == 1
    assert worked() == 0
    # Of each conversation eight messages are open, or one.
    assert worked(episode_max_messages=8) == 4


def test_making_episodes_evicts_nothing(tmp_path: Path):
    with Memory(tmp_path / "m.db", settings=load(None, embedder="none", grace_days=0)) as memory:
        kept = memory.remember("Ada is allergic to nuts").record
        fill(memory, conversations=1)
        full = 1 + 43
        memory.capacity(max_items=full)
        done = memory.work()
        assert (done.episodes_made, memory.get(kept.number).state) == (0, "active")
        assert done.notes == (
            "The namespace default is full, and making episodes evicts nothing: what was said waits.",
        )
        memory.capacity(max_items=full + 2)
        assert memory.work().episodes_made == 2
        memory.capacity(max_items=full + 100)
        memory.work()
        assert covered(memory, "c0") == list(range(1, 41))
        assert len(memory.conversation("c0").messages()) == 43

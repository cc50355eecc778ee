"""S2 "episodes": what an episode keeps, how long it is remembered, and how it is reviewed."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from clocks import NOON
from fsrs import Card, Rating, Scheduler

from perdure.clock import parse_time
from perdure.episodes.forgetting import first_state, grade_of

if TYPE_CHECKING:
    from clocks import HandClock

    from perdure import Memory, Record

TOPICS = (
    "train ride",
    "pottery",
    "the river",
    "a talent show",
    "poetry",
    "the castle",
    "green tea",
    "a long train ride",
)


def say(memory: Memory, count: int = 8, *, at: Any = NOON, about: str = "a train ride") -> None:
    memory.conversation("c").add_messages(
        {
            "role": "user",
            "speaker": "Ada",
            "content": f"I told you about {TOPICS[n % len(TOPICS)]} and about {about} number {n}",
            "at": at + n * timedelta(minutes=1),
        }
        for n in range(count)
    )


def episodes(memory: Memory) -> list[Record]:
    return sorted(memory.list(key_type="episode", limit=100), key=lambda record: record.number)


@pytest.fixture
def one(memory: Memory, clock: HandClock) -> Record:
    """Eight messages, and an hour later one more."""
    say(memory)
    say(memory, 1, at=NOON + timedelta(hours=2))
    clock.forward(days=1)
    assert memory.work().episodes_made == 1
    return episodes(memory)[0]


def test_an_episode_keeps_what_it_is_made_of(memory: Memory, one: Record):
    """S2 episode fields: conversation, messages, title, summary, surprise, start and end, stability, difficulty."""
    assert (one.conversation_id, one.key) == ("c", "episode:c/00000008")
    assert one.title
    assert one.text.startswith("Ada: I told you about")
    assert (one.valid_at, parse_time(str(one.metadata["until"]), "until")) == (NOON, NOON + timedelta(minutes=7))
    assert 0 <= float(str(one.metadata["surprise"])) <= 1
    assert one.metadata["difficulty"]
    assert "consolidated_at" not in one.metadata
    messages = memory.conversation("c").messages()[:8]
    assert one.evidence == tuple(message.id for message in messages)


def test_the_tail_stays_open(memory: Memory, one: Record):
    """S2 episode tail: the unfinished tail of a conversation waits for the next messages."""
    assert memory.work().episodes_made == 0
    say(memory, 8, at=NOON + timedelta(hours=3), about="Lisbon")
    say(memory, 1, at=NOON + timedelta(hours=9))
    assert memory.work().episodes_made == 1
    made = [(record.key, record.metadata["first_message"]) for record in episodes(memory)]
    # Too few messages stood before the second silence, so they belong to what was said after it.
    assert made == [("episode:c/00000008", 1), ("episode:c/00000017", 9)]


def test_stability_starts_at_good_and_grows_with_surprise(one: Record):
    """S2 episode stability: the FSRS "good" state x (1 + 0.5 x surprise)."""
    good, _ = Scheduler().review_card(Card(), Rating.Good)
    for surprise in (0.0, 0.5, 1.0):
        assert first_state(surprise).stability == pytest.approx((good.stability or 0) * (1 + 0.5 * surprise))
    assert first_state(1.0).difficulty == good.difficulty
    expected = first_state(float(str(one.metadata["surprise"]))).stability
    assert one.metadata["stability"] == pytest.approx(expected, abs=1e-3)


def test_what_is_used_less_is_harder_to_call_back(memory: Memory, clock: HandClock, one: Record):
    """S2 episode score: RRF score x retrievability."""
    now = memory.episodes("train ride", limit=1)[0].score
    clock.forward(days=30)
    assert memory.episodes("train ride", limit=1)[0].score < now
    assert {hit.record.key for hit in memory.episodes("train ride")} == {one.key}


@pytest.mark.parametrize(
    ("rank", "opened", "grade"), [(0, True, "easy"), (4, True, "good"), (2, False, "hard"), (3, False, "again")]
)
def test_a_grade_comes_from_rank_and_use(rank: int, opened: bool, grade: str):
    """S2 review grades: again, hard, good, easy."""
    assert grade_of(rank, opened=opened) == grade


def test_a_retrieved_episode_is_reviewed_later_and_once_a_day(memory: Memory, clock: HandClock, one: Record):
    """S2 review daily: recorded when retrieved, applied later, at most once a day per episode."""
    clock.forward(days=2)
    memory.episodes("train ride")
    memory.recall_detail(one.number)
    assert memory.get(one.number).metadata == one.metadata
    assert memory.work().episodes_reviewed == 1
    better = memory.get(one.number)
    assert float(str(better.metadata["stability"])) > float(str(one.metadata["stability"]))
    assert memory.history(one.number)[-1].change.provenance["grade"] == "easy"
    memory.episodes("train ride")
    clock.forward(hours=23)
    memory.episodes("train ride")
    assert memory.work().episodes_reviewed == 0
    clock.forward(hours=1)
    memory.episodes("train ride")
    assert memory.work().episodes_reviewed == 1


def test_facts_before_a_prompt_review_no_episode(memory: Memory, clock: HandClock, one: Record):
    """S2 review pre-retrieve: what asks for facts alone reviews no episode."""
    clock.forward(days=2)
    memory.recall("train ride", recipe="facts", category="preference")
    assert memory.work().episodes_reviewed == 0
    assert memory.get(one.number).metadata == one.metadata

"""S2 "episodes": what an episode keeps, how long it is remembered, and how it is reviewed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from clocks import NOON
from fsrs import Card, Rating, Scheduler

from perdure import Memory
from perdure.clock import parse_time
from perdure.episodes.forgetting import MemoryState, first_state, grade_of, reviewed
from perdure.model import FACT_CATEGORIES
from perdure.settings import load
from perdure.testing.embedder import WordEmbedder

if TYPE_CHECKING:
    from clocks import HandClock

    from perdure import Record

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
def memory(clock: HandClock) -> Iterator[Memory]:
    """In the scope of S2, where the rest of a conversation stays open."""
    settings = load(None, learn_scope="conversation", actor="ana")
    with Memory(":memory:", settings=settings, embedder=WordEmbedder(), clock=clock) as opened:
        yield opened


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
    ("rank", "opened", "grade"),
    [
        (1, True, "easy"),
        (2, True, "good"),
        (9, True, "good"),
        (1, False, "hard"),
        (3, False, "hard"),
        (4, False, "again"),
    ],
)
def test_a_grade_comes_from_rank_and_use(rank: int, opened: bool, grade: str):
    """S2 review grades: again, hard, good, easy."""
    assert grade_of(rank, opened=opened) == grade


def opened_by_get(memory: Memory, number: int) -> None:
    memory.get(number)


def opened_by_detail(memory: Memory, number: int) -> None:
    memory.recall_detail(number)


def opened_in_context(memory: Memory, number: int) -> None:
    context = memory.context("train ride", key_type="episode")
    assert [item.record.number for item in context.items] == [number]


def not_opened(memory: Memory, number: int) -> None:
    memory.history(number)


@pytest.mark.parametrize(
    ("then", "grade"),
    [(opened_by_get, "easy"), (opened_by_detail, "easy"), (opened_in_context, "easy"), (not_opened, "hard")],
)
def test_a_retrieved_episode_is_graded_by_what_happens_then(
    memory: Memory, clock: HandClock, one: Record, then: Any, grade: Any
):
    """S2 review applied: recorded when retrieved, applied later."""
    clock.forward(days=2)
    memory.get(one.number)
    clock.forward(hours=1)
    memory.episodes("train ride")
    clock.forward(hours=1)
    then(memory, one.number)
    assert memory.work().episodes_reviewed == 1
    assert memory.history(one.number)[-1].change.provenance == {"grade": grade}
    after = memory.get(one.number)
    expected = reviewed(
        MemoryState(float(str(one.metadata["stability"])), float(str(one.metadata["difficulty"]))),
        NOON + timedelta(minutes=7), clock() - timedelta(hours=1), grade,
    )  # fmt: skip
    assert after.metadata["stability"] == pytest.approx(expected.stability, abs=1e-3)
    assert after.metadata["difficulty"] == pytest.approx(expected.difficulty, abs=1e-3)


def test_an_episode_is_reviewed_once_a_day(memory: Memory, clock: HandClock, one: Record):
    """S2 review daily: at most once a day per episode; what comes too early waits."""
    clock.now = NOON + timedelta(days=2, minutes=7)
    memory.episodes("train ride")
    assert memory.work().episodes_reviewed == 1
    memory.episodes("train ride")
    clock.forward(hours=23, minutes=59)
    assert memory.work().episodes_reviewed == 0
    clock.forward(minutes=1)
    assert memory.work().episodes_reviewed == 1
    clock.forward(days=9)
    assert memory.work().episodes_reviewed == 0


def test_every_door_of_the_recipe_notes_a_review(memory: Memory, clock: HandClock, one: Record):
    """S2 review recorded: reviews are recorded when episodes are retrieved."""
    for retrieve in (
        lambda: memory.episodes("train ride"),
        lambda: memory.recall("train ride", recipe="episodes"),
        lambda: memory.context("train ride", recipe="episodes", key_type="episode"),
    ):
        clock.forward(days=2)
        retrieve()
        assert memory.work().episodes_reviewed == 1


def test_what_asks_for_facts_alone_reviews_no_episode(memory: Memory, clock: HandClock, one: Record):
    """S2 review pre-retrieve: not by what asks for facts before a prompt."""
    clock.forward(days=2)
    memory.context("train ride", recipe="facts", category=list(FACT_CATEGORIES))
    memory.recall("train ride", recipe="facts")
    memory.recall("train ride", recipe="episodes", as_of=clock())
    memory.episodes("quantum chromodynamics")
    assert memory.work().episodes_reviewed == 0
    assert memory.get(one.number).metadata == one.metadata

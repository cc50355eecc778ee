"""S2 "8 Flat Categories" and "Temporal Validity", of what rules learn when no model is there."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from perdure import Memory
from perdure.settings import load
from perdure.testing.embedder import WordEmbedder

if TYPE_CHECKING:
    from clocks import HandClock

JANUARY, FEBRUARY = datetime(2026, 1, 10, tzinfo=UTC), datetime(2026, 2, 28, tzinfo=UTC)


@pytest.fixture
def memory(clock: HandClock) -> Iterator[Memory]:
    """Every message is an episode."""
    settings = load(store=":memory:", learn="rules", episode_min_messages=1, episode_max_messages=1)
    with Memory(":memory:", settings=settings, embedder=WordEmbedder(), clock=clock) as opened:
        yield opened


def learned(memory: Memory, *sayings: str, at: datetime = JANUARY) -> dict[str, str | None]:
    """The category of each fact that is known when this was said."""
    for text in sayings:
        memory.conversation("talk").add_message("user", text, at=at)
    memory.work()
    memory.consolidate()
    return {fact.record.text: fact.record.category for fact in memory.facts()}


def test_who_somebody_is(memory: Memory):
    """S2 identity: name, place, occupation and age."""
    assert learned(memory, "My name is Ada.", "I live in Osaka.", "I work as a nurse.", "I'm 34.") == dict.fromkeys(
        ("User's name is Ada", "Ada lives in Osaka", "Ada works as a nurse", "Ada is 34"), "identity"
    )


def test_what_somebody_likes(memory: Memory):
    """S2 preference: what is liked and disliked, and favorites."""
    assert learned(memory, "I love sushi.", "I hate mushrooms.", "My favourite colour is green.") == dict.fromkeys(
        ("User loves sushi", "User hates mushrooms", "User's favourite colour is green"), "preference"
    )


def test_what_somebody_does_with_pleasure(memory: Memory):
    """S2 interest: topics and hobbies."""
    assert learned(memory, "I'm into chess.") == {"User is into chess": "interest"}


def test_how_somebody_is(memory: Memory):
    """S2 personality: traits."""
    assert learned(memory, "I'm an introvert.") == {"User is an introvert": "personality"}


def test_whom_somebody_knows(memory: Memory):
    """S2 relationship: people who are referred to again."""
    assert learned(memory, "Anna is my sister.") == {"Anna is user's sister": "relationship"}


def test_what_somebody_went_through(memory: Memory):
    """S2 experience: what happened, and when."""
    assert learned(memory, "Last year I went to Peru.") == {"Last year (2025) user went to Peru": "experience"}


def test_what_somebody_wants(memory: Memory):
    """S2 goal: plans."""
    assert learned(memory, "I want to buy a boat in Lisbon.") == {"User wants to buy a boat in Lisbon": "goal"}


def test_how_the_assistant_should_behave(memory: Memory):
    """S2 guideline: an instruction that holds from now on."""
    assert learned(memory, "Please never call me sir.") == {"Assistant should never call user sir": "guideline"}


def test_the_example_of_the_two_cities(memory: Memory):
    """S2 two cities: the old fact ends when the new one begins, and both stay."""
    learned(memory, "I live in Osaka.")
    assert learned(memory, "I live in Tokyo.", at=FEBRUARY) == {"User lives in Tokyo": "identity"}
    [fact] = memory.facts()
    [old] = fact.earlier
    assert (old.text, old.category, old.invalid_at) == ("User lives in Osaka", "identity", FEBRUARY)
    assert (fact.record.valid_at, fact.record.invalid_at) == (FEBRUARY, None)


def test_several_mentions_are_a_stronger_signal(memory: Memory):
    """S2 cross-episode: a fact that several episodes tell names all of them."""
    learned(memory, "I live in Osaka.")
    learned(memory, "I live in Osaka.", at=FEBRUARY)
    [fact] = memory.facts()
    assert (fact.source_count, fact.line) == (2, "[identity] User lives in Osaka (sources: 1 conversation)")

"""How well an episode is remembered: the state of FSRS, by the library of its makers."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from fsrs import Scheduler

Grade: TypeAlias = Literal["again", "hard", "good", "easy"]
GRADES: Final[tuple[Grade, ...]] = ("again", "hard", "good", "easy")
# What surprises is remembered better: the stability of a new episode is up to this much higher.
SURPRISE_WEIGHT: Final = 0.5
# The exponent of the forgetting curve that the recipe `episodes` multiplies by.
_DECAY: Final = 0.5
# Of the ranks, what counts as near the top.
_TOP: Final = 3
_THEN: Final = datetime(2000, 1, 1, tzinfo=UTC)


class MemoryState(NamedTuple):
    """`stability` is after how many days without use 0.9 is left, `difficulty` is from 1 to 10."""

    stability: float
    difficulty: float


def first_state(surprise: float) -> MemoryState:
    """As after a first review that was good, and more stable the more it surprises."""
    from fsrs import Card, Rating

    card, _ = _scheduler().review_card(Card(card_id=0, due=_THEN), Rating.Good, _THEN)
    return MemoryState((card.stability or 0) * (1 + SURPRISE_WEIGHT * surprise), card.difficulty or 0)


def reviewed(state: MemoryState, before: datetime, at: datetime, grade: Grade) -> MemoryState:
    """The state after a review, when the last one was `before`."""
    from fsrs import Card, Rating, State

    card = Card(0, State.Review, None, state.stability, state.difficulty, at, min(before, at))
    card, _ = _scheduler().review_card(card, Rating(GRADES.index(grade) + 1), at)
    return MemoryState(card.stability or state.stability, card.difficulty or state.difficulty)


def grade_of(rank: int, *, opened: bool) -> Grade:
    """How well an episode was called back: whether it was near the top of the answer, where rank 1 is the best, and
    whether somebody then looked at it.
    """
    if opened:
        return "easy" if rank == 1 else "good"
    return "hard" if rank <= _TOP else "again"


@cache
def _scheduler() -> Scheduler:
    from fsrs import Scheduler

    parameters = (*Scheduler().parameters[:-1], _DECAY)
    return Scheduler(parameters, learning_steps=(), relearning_steps=(), enable_fuzzing=False)

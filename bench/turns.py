"""Several sides do the same work in turn, so that whatever else the machine does concerns all alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Final, TypeAlias

Side: TypeAlias = Callable[[int], object]
Samples: TypeAlias = dict[str, list[float]]
Clock: TypeAlias = Callable[[], float]

# Threads of the call before may still spin.
_PAUSE: Final = 0.003
_WARMING: Final = 3


def in_turn(
    sides: Mapping[str, Side], rounds: int, clock: Clock, *, first: int = 0, warming: int = _WARMING
) -> Samples:
    """Milliseconds. Each round has a number, and begins with another side than the one before."""
    names = list(sides)
    samples: Samples = {name: [] for name in names}
    for number in range(first - warming, first + rounds):
        turn = number % len(names)
        for name in (*names[turn:], *names[:turn]):
            time.sleep(_PAUSE)
            taken = took(sides[name], number, clock)
            if number >= first:
                samples[name].append(taken)
    return samples


def alone(side: Side, rounds: int, clock: Clock) -> float:
    """The median of a tight loop."""
    return median(took(side, number, clock) for number in range(-_WARMING, rounds))


def took(side: Side, number: int, clock: Clock) -> float:
    start = clock()
    side(number)
    return (clock() - start) * 1000

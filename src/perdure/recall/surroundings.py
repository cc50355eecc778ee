"""What stands around a memory: what was said just before and after it, its session, who speaks.

A turn of a conversation says little by itself: what it is about was often said one or two turns before, and a question
is answered by what follows. So a turn also counts by how well its neighbours match, and by the best turn of its
session. A memory outside any conversation has no neighbours; words and meaning then count for them as well, so that
neither kind has an advantage over the other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from perdure.model import Signal
from perdure.recall.names import Speakers
from perdure.recall.recipe import Structure

if TYPE_CHECKING:
    from numpy.typing import NDArray

# How many turns before and after count as near.
REACH: Final = 2
NOBODY: Final = -1

_STEPS: Final = np.array([*range(-1, -REACH - 1, -1), *range(1, REACH + 1)])
_DECIMALS: Final = 6


@dataclass(frozen=True)
class Surroundings:
    """Of every row of a snapshot: its `group`, which is one session of one conversation, its `speaker`, both -1 where
    there is none, and which share of it is `asking`.
    """

    numbers: NDArray[np.int64]
    alive: NDArray[np.bool_]
    group: NDArray[np.int32]
    speaker: NDArray[np.int32]
    asking: NDArray[np.float32]
    speakers: Speakers

    @cached_property
    def _heard(self) -> NDArray[np.bool_]:
        """By the number of a speaker: whether a living row is said by them. The list of speakers itself grows while
        others write, and keeps whoever was forgotten.
        """
        heard = np.zeros(int(self.speaker.max(initial=NOBODY)) + 1, np.bool_)
        said = self.speaker[self.alive]
        heard[said[said != NOBODY]] = True
        return heard

    def knows(self, word: str) -> bool:
        return any(code < len(self._heard) and self._heard[code] for code in self.speakers.bearing(word))

    def written_large(self, word: str) -> bool:
        return self.speakers.written_large(word)

    def said_by(self, rows: NDArray[np.intp], words: Collection[str]) -> NDArray[np.bool_]:
        """Which of the rows are said by somebody of such a name."""
        # The last place is that of nobody.
        meant = np.zeros(len(self._heard) + 1, np.bool_)
        meant[[code for code in self.speakers.called(words) if code < len(self._heard)]] = True
        return meant[self.speaker[rows]]

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        """The living rows of conversations, as they were said: numbers are given in the order of writing."""
        rows = np.flatnonzero(self.alive & (self.group != NOBODY))
        said = (self.group[rows].astype(np.int64) << 32) | self.numbers[rows]
        # Mostly in order already, from which this kind of sorting profits.
        return rows[np.argsort(said, kind="stable")]

    @cached_property
    def _place(self) -> NDArray[np.intp]:
        place = np.full(len(self.numbers), -1, np.intp)
        place[self._order] = np.arange(len(self._order))
        return place

    def around(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """The rows before and after each, the nearest before it in the first column; -1 where there is none."""
        if not len(self._order):
            return np.full((len(rows), 2 * REACH), -1, np.intp)
        place = self._place[rows][:, np.newaxis]
        there = place + _STEPS
        neighbours = self._order.take(there, mode="clip")
        known = (self.group[neighbours] == self.group[rows][:, np.newaxis]) & (place >= 0)
        return np.where(known & (there >= 0) & (there < len(self._order)), neighbours, -1)


@dataclass(frozen=True, slots=True)
class Setting:
    """The same of the candidates. `around` are positions among them, `alone` those next to whom nothing stands at all;
    `named`: the question names who speaks, or whom it is about.
    """

    group: NDArray[np.int64]
    around: NDArray[np.intp]
    alone: NDArray[np.bool_]
    asking: NDArray[np.float64]
    named: NDArray[np.bool_]


class Raise(NamedTuple):
    """What its surroundings make of one candidate. `own` is the weight of words and meaning among all signals."""

    own: float
    signals: Mapping[str, Signal]


@dataclass(frozen=True, slots=True)
class Lift:
    """Of every candidate: its score, the weight of words and meaning in it, and its share of each signal besides."""

    score: NDArray[np.float64]
    own: NDArray[np.float64]
    shares: Mapping[str, NDArray[np.float64]]
    weights: Mapping[str, float]

    def signals(self, row: int) -> Raise:
        found = {name: float(shares[row]) for name, shares in self.shares.items()}
        return Raise(
            float(self.own[row]),
            {
                name: Signal(share, None, share, self.weights[name], self.weights[name] * share)
                for name, share in found.items()
                if share
            },
        )


def lift(own: NDArray[np.float64], setting: Setting, structure: Structure) -> Lift:
    """`own` is how well each candidate matches by itself, in 0..1; so is the score."""
    _, session, named, asking = structure
    nearby = structure.neighbours * (1 + asking)
    within = setting.group != NOBODY
    neighbours = _best_around(own, setting, asking)
    lowered = own * setting.asking
    # Where there is no neighbour or no session, a memory itself counts for it.
    itself, whole = np.where(setting.alone, 1 + structure.neighbours, 1.0), 1 + nearby
    lifted = own * itself + nearby * neighbours - asking * lowered
    sessions = np.where(within, _best_of_group(lifted, setting.group) / whole, 0.0)
    total = whole * (1 + session) + (named if setting.named.any() else 0.0)
    shares = {
        "neighbours": neighbours.round(_DECIMALS),
        "session": sessions.round(_DECIMALS),
        "named": setting.named.astype(float),
        "asking": lowered.round(_DECIMALS),
    }
    weights = {
        "neighbours": nearby / total,
        "session": session * whole / total,
        "named": named / total,
        "asking": -asking / total,
    }
    own_weight = itself * np.where(within, 1.0, 1 + session) / total
    score = own * own_weight
    for name, share in shares.items():
        score += weights[name] * share
    return Lift(score, own_weight, shares, weights)


def _best_around(own: NDArray[np.float64], setting: Setting, asking: float) -> NDArray[np.float64]:
    """How well the best of the neighbours matches. What follows a question answers it, and gets more from it."""
    lent = np.where(setting.around >= 0, own[setting.around], 0.0)
    lent[:, 0] *= 1 + asking * setting.asking[setting.around[:, 0]]
    return lent.max(axis=1, initial=0.0) / (1 + asking)


def _best_of_group(values: NDArray[np.float64], group: NDArray[np.int64]) -> NDArray[np.float64]:
    _, which = np.unique(group, return_inverse=True)
    best = np.zeros(int(which.max(initial=0)) + 1)
    np.maximum.at(best, which, values)
    return best[which]


def setting_of(
    surroundings: Surroundings,
    rows: NDArray[np.intp],
    named: NDArray[np.bool_],
) -> Setting:
    """Of candidates in ascending order; a neighbour that is no candidate does not count."""
    around = surroundings.around(rows)
    at = np.searchsorted(rows, around)
    there = (around >= 0) & (rows[np.minimum(at, len(rows) - 1)] == around) if len(rows) else around >= 0
    return Setting(
        surroundings.group[rows].astype(np.int64),
        np.where(there, at, -1),
        around.max(axis=1, initial=-1) < 0,
        surroundings.asking[rows].astype(np.float64),
        named,
    )


def no_setting(count: int) -> Setting:
    """Of candidates that stand in no conversation."""
    return Setting(
        np.full(count, NOBODY, np.int64),
        np.full((count, 2 * REACH), -1, np.intp),
        np.ones(count, np.bool_),
        np.zeros(count),
        np.zeros(count, np.bool_),
    )


def settings_together(settings: list[Setting]) -> Setting:
    counts = np.cumsum([0, *(len(one.group) for one in settings)])
    return Setting(
        np.concatenate(
            [np.where(one.group == NOBODY, NOBODY, one.group | (which << 32)) for which, one in enumerate(settings)]
        ),
        np.concatenate(
            [np.where(one.around >= 0, one.around + shift, -1) for one, shift in zip(settings, counts, strict=False)]
        ),
        np.concatenate([one.alone for one in settings]),
        np.concatenate([one.asking for one in settings]),
        np.concatenate([one.named for one in settings]),
    )

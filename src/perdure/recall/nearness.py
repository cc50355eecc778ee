"""How near a memory is to the time that a question names: `last week`, `in March`. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from perdure.model import Signal
from perdure.recall.fuse import Ranked
from perdure.recall.recipe import Recipe
from perdure.recall.select import select
from perdure.text.time_expressions import TimeRange

_DAY: Final = timedelta(days=1)
# `before March` has no length of its own by which to measure how far away something is.
_OPEN: Final = timedelta(days=30)
_DECIMALS: Final = 6


def nearness(span: TimeRange, moment: datetime) -> float:
    """1 inside the span, and outside at most a half: a quarter at a distance of the span's own length, and so on."""
    away = distance(span, moment)
    if not away:
        return 1.0
    length = span.until - span.since if span.since and span.until else _OPEN
    return 0.5 / (1.0 + away / max(length, _DAY))


def distance(span: TimeRange, moment: datetime) -> timedelta:
    if span.since is not None and moment < span.since:
        return span.since - moment
    if span.until is not None and moment >= span.until:
        return moment - span.until
    return timedelta(0)


def by_time(
    ranked: Sequence[Ranked],
    moments: Mapping[tuple[int, int], datetime],
    spans: Sequence[TimeRange],
    recipe: Recipe,
    limit: int,
    category: Callable[[Ranked], str | None],
) -> list[Ranked]:
    """The best of these memories, where time has its share of the score and everything else the rest. Those that match
    nothing stay at nothing: a time alone is no reason.
    """
    weight, scale = recipe.time_weight, recipe.scale
    timed: list[tuple[float, Ranked, TimeRange, datetime]] = []
    for one in ranked:
        moment = moments.get((one.place, one.number))
        if one.score > 0 and moment:
            span = max(spans, key=partial(nearness, moment=moment))
            timed.append(((1 - weight) * one.score + scale * weight * _share(span, moment), one, span, moment))
    timed.sort(key=lambda found: (-found[0], -found[1].number, found[1].place))
    chosen = select(recipe, timed, limit, lambda found: category(found[1]))
    return [_timed(one, span, moment, weight, scale) for _, one, span, moment in chosen]


def _timed(one: Ranked, span: TimeRange, moment: datetime, weight: float, scale: float) -> Ranked:
    share = _share(span, moment)
    explain = {name: _lessened(signal, 1 - weight) for name, signal in one.explain.items()}
    explain["time"] = Signal(distance(span, moment) / _DAY, None, share, scale * weight, scale * weight * share)
    return one._replace(score=sum(signal.contribution for signal in explain.values()), explain=explain)


def _share(span: TimeRange, moment: datetime) -> float:
    return round(nearness(span, moment), _DECIMALS)


def _lessened(signal: Signal, part: float) -> Signal:
    return Signal(signal.raw, signal.rank, signal.normalised, signal.weight * part, signal.contribution * part)

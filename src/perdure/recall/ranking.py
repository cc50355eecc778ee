"""The last steps of a search, on the few best candidates: the time a query names, the choice, the explanation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from perdure.clock import from_micros
from perdure.model import Signal
from perdure.recall.recipe import Recipe
from perdure.recall.signals import DECIMALS

if TYPE_CHECKING:
    from perdure.recall.query import ParsedQuery, SearchRequest
    from perdure.text.time_expressions import TimeRange

_Ranked = TypeVar("_Ranked")

_DAY: Final = timedelta(days=1)
# `before March` has no length of its own by which to measure how far away something is.
_OPEN_RANGE: Final = timedelta(days=30)


class Explanation(Mapping[str, Signal]):
    """The signals of a hit, made when somebody looks at them: most callers read the text and the score alone."""

    __slots__ = ("_make", "_signals")

    def __init__(self, make: Callable[[], dict[str, Signal]]) -> None:
        self._make: Callable[[], dict[str, Signal]] | None = make
        self._signals: dict[str, Signal] = {}

    def _made(self) -> dict[str, Signal]:
        make = self._make
        if make is not None:
            self._signals = make()
            self._make = None
        return self._signals

    def __getitem__(self, name: str) -> Signal:
        return self._made()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made())

    def __len__(self) -> int:
        return len(self._made())

    def __repr__(self) -> str:
        return repr(self._made())

    def __reduce__(self) -> tuple[type[dict[str, Signal]], tuple[dict[str, Signal]]]:
        return dict, (self._made(),)


class Ranked(NamedTuple):
    """A candidate with its score. `namespace` is its position among those asked, `dated` when it became true or was
    made, in microseconds since 1970.
    """

    namespace: int
    number: int
    score: float
    explain: Mapping[str, Signal]
    category: str | None
    dated: int

    @property
    def order(self) -> tuple[float, int, int]:
        """Best first; of equal ones the newer, then the one in the namespace named first."""
        return -self.score, -self.number, self.namespace


def choose(request: SearchRequest, query: ParsedQuery, ranked: Sequence[Ranked]) -> list[Ranked]:
    """Of candidates in their order, those that become hits."""
    if query.time_ranges:
        ranked = boost_by_time(ranked[: request.shortlist], query.time_ranges, request.recipe)
    return select(request.recipe, ranked, request.limit, lambda candidate: candidate.category)


def boost_by_time(ranked: Sequence[Ranked], ranges: Sequence[TimeRange], recipe: Recipe) -> list[Ranked]:
    """The same candidates, where time has its share of the score and everything else the rest."""
    weight, scale = recipe.time_weight, recipe.scale
    boosted: list[Ranked] = []
    for candidate in ranked:
        moment = from_micros(candidate.dated)
        nearest = max(ranges, key=partial(nearness, moment=moment))
        share = round(nearness(nearest, moment), DECIMALS)
        signal = Signal(distance(nearest, moment) / _DAY, None, share, scale * weight, scale * weight * share)
        score = (1 - weight) * candidate.score + signal.contribution
        explain = Explanation(partial(_explain_time, candidate.explain, 1 - weight, signal))
        boosted.append(candidate._replace(score=score, explain=explain))
    return sorted(boosted, key=lambda candidate: candidate.order)


def _explain_time(signals: Mapping[str, Signal], part: float, time: Signal) -> dict[str, Signal]:
    lessened = {
        name: Signal(signal.raw, signal.rank, signal.normalised, signal.weight * part, signal.contribution * part)
        for name, signal in signals.items()
    }
    return lessened | {"time": time}


def nearness(span: TimeRange, moment: datetime) -> float:
    """1 inside the span, and outside at most a half: a quarter at a distance of the span's own length, and so on."""
    away = distance(span, moment)
    if not away:
        return 1.0
    length = span.until - span.since if span.since and span.until else _OPEN_RANGE
    return 0.5 / (1.0 + away / max(length, _DAY))


def distance(span: TimeRange, moment: datetime) -> timedelta:
    if span.since is not None and moment < span.since:
        return span.since - moment
    if span.until is not None and moment >= span.until:
        return moment - span.until
    return timedelta(0)


def select(
    recipe: Recipe, ordered: Sequence[_Ranked], limit: int, category: Callable[[_Ranked], str | None]
) -> list[_Ranked]:
    """Of candidates that stand best first, `limit` at most, in the same order. A recipe that balances takes the best of
    each balanced category first, where there is room for all of them, and then whatever is best.
    """
    categories, least = recipe.balanced_categories, recipe.per_category
    if not recipe.balances or limit < least * len(categories):
        return list(ordered[:limit])
    room = dict.fromkeys(categories, least)
    chosen: set[int] = set()
    for position, candidate in enumerate(ordered):
        kind = category(candidate)
        if kind is not None and room.get(kind, 0):
            room[kind] -= 1
            chosen.add(position)
    for position in range(len(ordered)):
        if len(chosen) >= limit:
            break
        chosen.add(position)
    return [ordered[position] for position in sorted(chosen)]

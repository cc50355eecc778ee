"""The last steps of a search, on the few best candidates: the choice and the explanation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Final, NamedTuple, TypeVar

from perdure.model import Record, Signal
from perdure.recall.recipe import Recipe
from perdure.text.entry import passage
from perdure.values import replace

_Ranked = TypeVar("_Ranked")
_NOTHING_TOLD: Final[Mapping[tuple[int, int], Collection[int]]] = {}


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


class BestWindow(NamedTuple):
    """Which of the windows of a memory is the nearest, counted from 0, how many there are, and for how many tokens it
    was cut.
    """

    place: int
    windows: int
    tokens: int


class Ranked(NamedTuple):
    """A candidate with its score. `namespace` is its position among those asked. `relevance` says how well it fits;
    whoever chooses by something that is no evidence there, such as the time that was asked for, sets it. `by_words`:
    it holds a word of the query.
    """

    namespace: int
    number: int
    score: float
    explain: Mapping[str, Signal]
    category: str | None
    relevance: float = 0.0
    by_words: bool = False


class EndedFacts(NamedTuple):
    """Learned facts that hold no more, and beside them those that were learned from the same messages. `told`: the
    numbers of the facts that may have been learned from a message, by the place of its namespace and its number.
    """

    ranked: Sequence[Ranked] = ()
    told: Mapping[tuple[int, int], Collection[int]] = _NOTHING_TOLD


def with_passage(explanation: Mapping[str, Signal], record: Record, best: BestWindow) -> Explanation:
    """The explanation of a hit that is so long that it was compared in windows, with where the best one stands."""

    def make() -> dict[str, Signal]:
        from perdure.text.windows import windows

        signals, cut = dict(explanation), windows(passage(record), best.tokens)
        meaning = signals.get("vector")
        # What was cut otherwise when it was embedded cannot be shown.
        if meaning is not None and meaning.contribution > 0 and len(cut) == best.windows:
            _, start, end = cut[best.place]
            signals["vector"] = replace(meaning, passage=(start, end) if start < end else None)
        return signals

    return Explanation(make)


def select(
    recipe: Recipe,
    ordered: Sequence[_Ranked],
    limit: int,
    category: Callable[[_Ranked], str | None] = attrgetter("category"),
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

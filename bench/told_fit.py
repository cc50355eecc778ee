"""`python -m bench.told --fit`: the limits of `perdure.recall.fitting`, chosen anew on all judging sets at once.
Whoever changes relevance runs it, and writes what it prints.

What is found is searched for once; then the rules themselves choose among it, with other limits. The mean and the worse
of the sets decide. Beside it stands what each project gets with the limits that the others choose: that is what a
project can expect that nobody wrote cases for.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple
from unittest.mock import patch

from bench.told import GOALS, Learning, fill, learnings, project, wanted
from perdure import Memory, model
from perdure.ids import KINDS
from perdure.memory import SPARE_SUGGESTIONS
from perdure.model import Hit, Record
from perdure.recall import fitting
from perdure.recall.query import check_request
from perdure.session.privacy import Place, where
from perdure.session.signals import collect_signals
from perdure.values import replace

_MOST_AT_PROMPT: Final = 5
_MOST_AT_START: Final = 20
_MOST_COMPARED: Final = 100
# What is below the goal of precision costs so many times as much as recall brings; and so does each that a foreign
# project is told.
_IMPRECISION: Final = 2.0
_FOREIGN: Final = 0.02
GRIDS: Final[Mapping[str, Mapping[str, Sequence[float]]]] = {
    "prompt": {
        "_FITS_PROMPT": tuple(number / 100 for number in range(30, 55)),
        "_SHARE_OF_BEST_LEARNING": (0.3, 0.4, 0.5, 0.6, 2 / 3, 0.75),
        "_ANSWERS_PROMPT": (0.5, 0.55, 0.6, 0.65, 0.7),
    },
    "start": {
        "_LENGTH": (0.0, 0.25, 0.5, 0.75),
        "_CROWD": (0.3, 0.5, 0.7, 0.9, 1.1),
        "_ENOUGH": tuple(number / 100 for number in range(-299, -110, 7)),
        "_ELSEWHERE_ALONE": (0.36, 0.4, 0.45),
    },
}


class Told(NamedTuple):
    """How many were told, of how many that help, and how many where nothing does."""

    told: int
    helping: int
    wanted: int
    foreign: int

    @property
    def precision(self) -> float:
        return self.helping / max(self.told, 1)

    @property
    def recall(self) -> float:
        return self.helping / max(self.wanted, 1)


@dataclass(frozen=True, slots=True)
class Case:
    """`choose` is the rule, on what was found for the case."""

    judging: str
    project: str
    wanted: frozenset[str]
    choose: Callable[[], Sequence[Hit]]
    names: Mapping[str, str]

    def told(self) -> set[str]:
        return {self.names[hit.record.id] for hit in self.choose()}


def gather(sets: Sequence[Path]) -> dict[str, list[Case]]:
    cases: dict[str, list[Case]] = {"prompt": [], "start": []}
    for path in sets:
        judging = json.loads(path.read_text(encoding="utf-8"))
        known = learnings(judging)
        with TemporaryDirectory(prefix="perdure-bench-") as home:
            environ = {"HOME": home, "PATH": os.environ["PATH"]}
            with patch.dict(os.environ, environ, clear=True), Memory(Path(home) / "m.db") as memory:
                fill(memory, known)
                titles = {one.title: one.name for one in known}
                names = {str(record.id): titles[record.title or ""] for record in every(memory)}
                for number, case in enumerate(judging["prompts"]):
                    folder = Path(home) / "prompts" / str(number) / case["project"]
                    folder.mkdir(parents=True)
                    choose = at_prompt(memory, where(folder, namespace="default", environ=environ), case["prompt"])
                    cases["prompt"].append(made(path, case, known, choose, names))
                for number, case in enumerate(judging["starts"]):
                    root = project(Path(home) / str(number), case)
                    choose = at_start(memory, where(root, namespace="default", environ=environ), root)
                    cases["start"].append(made(path, case, known, choose, names))
    return cases


def every(memory: Memory) -> Iterator[Record]:
    after: int | None = None
    while True:
        page = memory.list(limit=100, after=after)
        yield from page.records
        if page.next is None:
            return
        after = page.next


def made(
    path: Path,
    case: Mapping[str, Any],
    known: Sequence[Learning],
    choose: Callable[[], Sequence[Hit]],
    names: Mapping[str, str],
) -> Case:
    return Case(path.stem, case["project"], frozenset(wanted(case, known)), choose, names)


def at_prompt(memory: Memory, place: Place, prompt: str) -> Callable[[], Sequence[Hit]]:
    services = memory._services  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - what `suggest` asks
    limit = _MOST_AT_PROMPT + SPARE_SUGGESTIONS
    request = check_request(
        services, "default", prompt, {}, limit=limit, namespaces=place.read_namespaces, for_model=True
    )
    request = replace(request, filter=model.Filter(hidden=KINDS, told_in=place.told_in), is_question=False)
    hits = services.recaller().recall(request).hits
    return lambda: fitting.fitting_memories(hits, place.told_in)[:_MOST_AT_PROMPT]


def at_start(memory: Memory, place: Place, root: Path) -> Callable[[], Sequence[Hit]]:
    query = collect_signals(root).query
    found = memory.learnings(
        query, limit=_MOST_COMPARED, namespaces=place.read_namespaces, recipe="learnings", told_in=place.told_in,
        min_relevance=fitting.LEAST_AT_START,
    )  # fmt: skip
    is_own: Callable[[Record], bool] = lambda record: fitting.is_of(record, place.told_in)  # noqa: E731
    return partial(fitting.fitting_learnings, list(found.recall), is_own, _MOST_AT_START)


def judged(cases: Sequence[Case], limits: Mapping[str, float]) -> list[set[str]]:
    given: dict[str, Any] = dict(limits)
    with patch.multiple(fitting, **given):
        return [case.told() for case in cases]


def told(cases: Sequence[tuple[Case, set[str]]]) -> dict[str, Told]:
    """By judging set."""
    sums: dict[str, Counter[str]] = {}
    for case, names in cases:
        counts = sums.setdefault(case.judging, Counter())
        if case.wanted:
            counts.update(told=len(names), helping=len(names & case.wanted), wanted=len(case.wanted))
        else:
            counts.update(foreign=len(names))
    return {name: Told(*(counts[field] for field in Told._fields)) for name, counts in sums.items()}


def value(found: Mapping[str, Told], precision: float) -> float:
    judged_sets = [each for each in found.values() if each.wanted]
    recalls = [each.recall for each in judged_sets]
    too_little = sum(max(0.0, precision - each.precision) for each in judged_sets)
    foreign = sum(each.foreign for each in found.values())
    return (sum(recalls) / len(recalls) + min(recalls)) / 2 - _IMPRECISION * too_little - _FOREIGN * foreign


class Fitting:
    """The cases of one kind, and what each of them is told with all limits of the grid."""

    def __init__(self, kind: str, cases: Sequence[Case]) -> None:
        self.cases, (self.precision, _) = cases, GOALS[kind]
        self.now = {name: getattr(fitting, name) for name in GRIDS[kind]}
        self.grid = [dict(zip(GRIDS[kind], values, strict=True)) for values in product(*GRIDS[kind].values())]
        self.results = [judged(cases, limits) for limits in self.grid]

    def best(self, chosen: Sequence[int]) -> int:
        """The limits with the highest value on these cases; of equal ones, those nearest to the present."""

        def rank(place: int) -> tuple[float, float]:
            found = told([(self.cases[one], self.results[place][one]) for one in chosen])
            away = sum(abs(limit - self.now[name]) for name, limit in self.grid[place].items())
            return -round(value(found, self.precision), 6), away

        return min(range(len(self.grid)), key=rank)

    def by_the_others(self) -> Iterator[tuple[Case, set[str]]]:
        """Each project with the limits that the others choose."""
        projects = {(case.judging, case.project) for case in self.cases if case.wanted}
        for place in sorted(projects):
            own = [number for number, case in enumerate(self.cases) if (case.judging, case.project) == place]
            chosen = self.results[self.best([one for one in range(len(self.cases)) if one not in set(own)])]
            yield from ((self.cases[one], chosen[one]) for one in own)

    def lines(self) -> Iterator[str]:
        winner = self.best(range(len(self.cases)))
        yield ", ".join(f"{name} = {limit:.3g}" for name, limit in self.grid[winner].items())
        for title, found in (
            ("now", zip(self.cases, judged(self.cases, self.now), strict=True)),
            ("fitted", zip(self.cases, self.results[winner], strict=True)),
            ("each project by the others", self.by_the_others()),
        ):
            figures = [
                f"{name} {one.precision:.3f} / {one.recall:.3f}, foreign {one.foreign}"
                for name, one in told(list(found)).items()
            ]
            yield f"  {title}: {'; '.join(figures)}"


def fit(sets: Sequence[Path]) -> Iterator[str]:
    """The lines to print: limits, then precision and recall of each set."""
    for kind, cases in gather(sets).items():
        yield from (f"{kind}: {line}" if not line.startswith(" ") else line for line in Fitting(kind, cases).lines())

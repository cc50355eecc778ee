"""Whether the statements that rules find are those that people ask about, on LoCoMo.

A question counts as covered if a statement was kept of a turn that is evidence for its answer. Three sessions are taken
for one consolidation. The weights of what a statement is worth were fitted on the first five conversations and rounded;
the other five are the measure. The word lists were written with
some hundred extracted sentences of all ten in view, for their grammar and not for what is asked.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from statistics import mean, median
from typing import Any, Final

from bench.recall.data import Collection, Question
from perdure.learn.rules.english.statements import statements
from perdure.learn.rules.english.worth import worth
from perdure.learn.rules.languages import Statement, choose

CATEGORIES: Final = (1, 2, 4)
LEAST_COVERED: Final = 0.7
_FITTED: Final = 5
_SESSIONS: Final = 3
_DRAWS: Final = 20
_SHOWN: Final = 40
_SEED: Final = 11


@dataclass(frozen=True, slots=True)
class Turn:
    name: str
    session: str
    speaker: str
    listener: str
    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was kept of one conversation."""

    name: str
    turns: Sequence[Turn]
    questions: Sequence[Question]
    kept: Sequence[tuple[Turn, Statement]]
    told: frozenset[str]
    """The turns of which anything was extracted, kept or not."""

    @property
    def sources(self) -> frozenset[str]:
        return frozenset(turn.name for turn, _ in self.kept)

    @property
    def rate(self) -> float:
        return 100 * len(self.kept) / len(self.turns)

    @property
    def longest(self) -> frozenset[str]:
        """As many turns as there are facts, by length alone."""
        ranked = sorted(self.turns, key=lambda turn: -len(turn.text))
        return frozenset(turn.name for turn in ranked[: len(self.kept)])

    @property
    def above_median(self) -> frozenset[str]:
        least = median(len(turn.text) for turn in self.turns)
        return frozenset(turn.name for turn in self.turns if len(turn.text) > least)

    def drawn(self, chance: random.Random) -> float:
        """What as many turns cover that were drawn by lot."""
        names = [turn.name for turn in self.turns]
        return mean(covered(self.questions, frozenset(chance.sample(names, len(self.kept)))) for _ in range(_DRAWS))


def covered(questions: Sequence[Question], sources: AbstractSet[str], category: int | None = None) -> float:
    asked = [one for one in questions if category in {None, one.category}]
    return sum(not one.gold.isdisjoint(sources) for one in asked) / len(asked)


def report(conversations: Sequence[Collection]) -> bool:
    """Prints it; whether the goals are reached."""
    extracted = [extract(conversation) for conversation in conversations]
    print(
        f"statements: of {sum(len(one.turns) for one in extracted)} turns; questions of the categories 1, 2 and 4 with"
    )
    print(
        "a turn of their evidence behind some fact. random, longest: as many turns, by lot and by length; median: all"
    )
    print("turns longer than the median; any: every statement, without a limit; all: the whole evidence\n")
    print(f"{'':14} turns  per 100      1      2      4  | covered    all |  random longest  median     any")
    chance = random.Random(_SEED)  # noqa: S311 - it has to be the same every time
    for one in extracted:
        _print_row(one.name, [one], chance)
    _print_row("fitted on", extracted[:_FITTED], chance)
    share = _print_row("the others", extracted[_FITTED:] or extracted, chance)
    _print_row("all", extracted, chance)
    rates = [one.rate for one in extracted]
    print(f"\nfacts per 100 turns: from {min(rates):.1f} to {max(rates):.1f}")
    for turn, statement in chance.sample([row for one in extracted for row in one.kept], _SHOWN):
        slot = f" {statement.slot}={statement.value}" if statement.slot else ""
        denied = "" if statement.affirmed else " (not)"
        said = f"{turn.name}, {statement.valid_at:%Y-%m-%d}, {statement.category}, {statement.subject}{slot}{denied}"
        print(f"  {statement.fact}\n      {said}, worth {worth(statement):.2f}, sure {statement.confidence}")
    return share >= LEAST_COVERED


def extract(conversation: Collection) -> Extraction:
    turns = _turns(conversation)
    sessions = list(dict.fromkeys(turn.session for turn in turns))
    kept: list[tuple[Turn, Statement]] = []
    told: set[str] = set()
    for first in range(0, len(sessions), _SESSIONS):
        together = [turn for turn in turns if turn.session in sessions[first : first + _SESSIONS]]
        found = [statements(turn.text, turn.speaker, turn.at, listener=turn.listener) for turn in together]
        kept += [(together[position], statement) for position, statement in choose(found)]
        told.update(turn.name for turn, made in zip(together, found, strict=True) if made)
    questions = [one for one in conversation.questions if one.category in CATEGORIES]
    return Extraction(conversation.name, turns, questions, kept, frozenset(told))


def _turns(conversation: Collection) -> list[Turn]:
    speakers = list(dict.fromkeys(memory["metadata"]["speaker"] for memory in conversation.memories))

    def turn(memory: dict[str, Any]) -> Turn:
        speaker = memory["metadata"]["speaker"]
        listener = next((name for name in speakers if name != speaker), "")
        text = memory["text"].partition(" [shares image: ")[0]
        at = datetime.fromisoformat(memory["valid_at"])
        return Turn(memory["metadata"]["name"], memory["session_id"], speaker, listener, at, text)

    return [turn(memory) for memory in conversation.memories]


def _print_row(name: str, extracted: Sequence[Extraction], chance: random.Random) -> float:
    questions = [question for one in extracted for question in one.questions]
    sources = frozenset(source for one in extracted for source in one.sources)
    turns = sum(len(one.turns) for one in extracted)
    weights = [len(one.questions) / len(questions) for one in extracted]
    share = covered(questions, sources)
    shares = [
        *(covered(questions, sources, category) for category in CATEGORIES),
        share,
        sum(one.gold <= sources for one in questions) / len(questions),
        sum(weight * one.drawn(chance) for weight, one in zip(weights, extracted, strict=True)),
        covered(questions, frozenset(turn for one in extracted for turn in one.longest)),
        covered(questions, frozenset(turn for one in extracted for turn in one.above_median)),
        covered(questions, frozenset(turn for one in extracted for turn in one.told)),
    ]
    one, two, four, some, whole, *others = (f"{share:.3f}" for share in shares)
    rate = 100 * sum(len(one.kept) for one in extracted) / turns
    print(f"{name:14} {turns:5} {rate:8.1f}  {one}  {two}  {four}  |   {some}  {whole} |   {'   '.join(others)}")
    return share

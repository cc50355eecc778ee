"""Whether the weights hold on a kind of text that they were not chosen on: each set is left out once.

What every signal adds to the evidence of a hit is in its explanation, so that other weights can be tried on what was
found once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final, NamedTuple

from bench.recall.data import ADVERSARIAL, JudgingSet
from bench.recall.measures import ndcg
from bench.recall.runs import DEEPEST
from perdure import Memory

# Of each set, so many questions at most, spread over all of it.
_MOST_QUESTIONS: Final = 300
_FACTORS: Final = (0.5, 1.5)
# It adds the same to every hit of an answer.
_SAME_FOR_ALL: Final = "prior"


class Found(NamedTuple):
    """A question's answers: the names of the hits, and what each signal adds to each of them."""

    gold: frozenset[str]
    names: Sequence[str]
    added: Sequence[Mapping[str, float]]


class Trial(NamedTuple):
    """One weight as it is times a factor; all as they are if there is no signal."""

    signal: str = ""
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What was chosen on all other sets, and what that and the weights as they are find on this one."""

    name: str
    chosen: Trial
    with_chosen: float
    as_it_is: float


def collect(memory: Memory, judging_set: JudgingSet) -> list[Found]:
    """The answers of the default recall without a floor."""
    asked = [
        (memory.namespace(each.name), question)
        for each in judging_set.collections
        for question in each.questions
        if question.category != ADVERSARIAL
    ]
    found: list[Found] = []
    for namespace, question in asked[:: max(1, len(asked) // _MOST_QUESTIONS)]:
        hits = list(namespace.recall(question.text, limit=DEEPEST, min_relevance=0))
        names = [str(hit.record.metadata["name"]) for hit in hits]
        added = [{name: signal.contribution for name, signal in hit.explain.items()} for hit in hits]
        found.append(Found(question.gold, names, added))
    return found


def left_out(sets: Mapping[str, Sequence[Found]]) -> list[LeftOut]:
    signals = sorted({name for found in sets.values() for one in found for hit in one.added for name in hit})
    trials = [Trial(), *(Trial(name, factor) for name in signals if name != _SAME_FOR_ALL for factor in _FACTORS)]
    scores = {
        trial: {name: fmean(_ndcg(one, trial) for one in found) for name, found in sets.items()} for trial in trials
    }
    rows: list[LeftOut] = []
    for name in sets:
        others = {trial: fmean(each[one] for one in sets if one != name) for trial, each in scores.items()}
        chosen = max(trials, key=lambda trial: others[trial])
        rows.append(LeftOut(name, chosen, scores[chosen][name], scores[trials[0]][name]))
    return rows


def _ndcg(found: Found, trial: Trial) -> float:
    def evidence(place: int) -> float:
        added = found.added[place]
        return sum(added.values()) + (trial.factor - 1) * added.get(trial.signal, 0.0)

    order = sorted(range(len(found.names)), key=evidence, reverse=True)
    return ndcg([found.names[place] for place in order], found.gold)

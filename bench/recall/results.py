"""All figures of one run, from what was answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from bench.recall.data import ADVERSARIAL, CATEGORIES, Collection, JudgingSet, Question, session_of
from bench.recall.fits import Conversation
from bench.recall.fts5 import fts5
from bench.recall.measures import all_found, any_found, interval, ndcg, reciprocal_rank, share_found
from bench.recall.runs import DEEPEST, FIRST, POOLED, Answered, asked
from bench.recall.systems import DEFAULT, FTS5, SINGLE, SYSTEMS, System
from bench.recall.times import TimeResults
from bench.recall.weights import LeftOut
from perdure import Memory

DEPTHS: Final = (5, 10, 20, 50)
# From this relevance on, the number beside a hit says "this answers it".
ANSWERS_IT: Final = 0.5
# The rule: no set may be further below its best single signal.
MOST_BELOW: Final = 0.01


@dataclass(frozen=True, slots=True)
class Answers:
    """Every question of a set, of all collections one after the other, with what was found."""

    questions: Sequence[Question]
    answered: Sequence[Answered]

    def each(self, *, with_adversarial: bool = False) -> list[tuple[Question, Sequence[str]]]:
        pairs = zip(self.questions, self.answered, strict=True)
        return [(one, found.names) for one, found in pairs if with_adversarial or one.category != ADVERSARIAL]

    def of(self, kept: Callable[[Question], bool]) -> Answers:
        pairs = [pair for pair in zip(self.questions, self.answered, strict=True) if kept(pair[0])]
        return Answers([question for question, _ in pairs], [found for _, found in pairs])

    @property
    def ndcg(self) -> float:
        return fmean(self.ndcgs())

    def ndcgs(self) -> list[float]:
        return [ndcg(found, question.gold) for question, found in self.each()]

    @property
    def interval(self) -> tuple[float, float]:
        return interval(self.ndcgs())

    def found(self, depth: int) -> float:
        return fmean(share_found(found, question.gold, depth) for question, found in self.each())

    def any_found(self, depth: int) -> float:
        return fmean(any_found(found, question.gold, depth) for question, found in self.each())

    @property
    def empty(self) -> float:
        return fmean(not found for _, found in self.each())

    @property
    def unsure(self) -> float:
        """Of the questions with evidence among the first ten: those where all of it is below "this answers it"."""
        best = [
            max(shown)
            for question, found in zip(self.questions, self.answered, strict=True)
            if (shown := [number for name, number in zip(*found, strict=True) if name in question.gold])
        ]
        return fmean(number < ANSWERS_IT for number in best) if best else 0.0

    @property
    def mrr(self) -> float:
        return fmean(reciprocal_rank(found, question.gold) for question, found in self.each())

    def of_category(self, category: int) -> dict[str, float]:
        own = [(q, found) for q, found in self.each(with_adversarial=True) if q.category == category]
        return {
            "n": len(own),
            "nDCG@10": fmean(ndcg(found, question.gold) for question, found in own),
            **{f"R@{k}": fmean(share_found(found, question.gold, k) for question, found in own) for k in (5, 10, 20)},
            "MRR": fmean(reciprocal_rank(found, question.gold) for question, found in own),
        }

    @property
    def mean_of_categories(self) -> float:
        return fmean(self.of_category(category)["nDCG@10"] for category in CATEGORIES)

    def sessions(self) -> dict[str, float]:
        """Of all questions."""
        pairs = [
            (by_session(found), {session_of(name) for name in question.gold})
            for question, found in self.each(with_adversarial=True)
        ]
        return {
            "any@1": fmean(any_found(found, gold, 1) for found, gold in pairs),
            "any@5": fmean(any_found(found, gold, 5) for found, gold in pairs),
            "all@5": fmean(all_found(found, gold, 5) for found, gold in pairs),
            "all@10": fmean(all_found(found, gold, 10) for found, gold in pairs),
            "R@10": fmean(share_found(found, gold, 10) for found, gold in pairs),
            "MRR": fmean(reciprocal_rank(found, gold) for found, gold in pairs),
        }


def by_session(ranking: Iterable[str]) -> list[str]:
    """A session stands where its best turn does."""
    return list(dict.fromkeys(map(session_of, ranking)))


@dataclass(frozen=True, slots=True)
class SetResult:
    """What each system answered, and what the default did with the questions that nothing answers."""

    judging_set: JudgingSet
    answers: Mapping[str, Answers]
    absent: Sequence[Answered]

    @property
    def default(self) -> Answers:
        return self.answers[DEFAULT.name]

    @property
    def difference(self) -> float:
        """Of the default to the best single signal."""
        return self.default.ndcg - max(self.answers[system.name].ndcg for system in SINGLE)

    @property
    def absent_empty(self) -> float:
        return fmean(not found.names for found in self.absent)

    @property
    def absent_unanswered(self) -> float:
        """Empty, or everything that is shown is below "this answers it"."""
        return fmean(max(found.relevances, default=0.0) < ANSWERS_IT for found in self.absent)


@dataclass(frozen=True, slots=True)
class LocomoResult:
    """What is measured of LoCoMo beside its place among the sets, to a depth of fifty and without a floor."""

    deep: Mapping[str, Answers]
    pooled: Mapping[str, Answers]
    fits: Sequence[Conversation]
    times: TimeResults


@dataclass(frozen=True, slots=True)
class Results:
    """`pairs`: by the name of a set of sentence pairs, how many there are and Spearman's correlation."""

    sets: Sequence[SetResult]
    pairs: Mapping[str, tuple[int, float]]
    locomo: LocomoResult | None
    weights: Sequence[LeftOut] = ()


def judged(memory: Memory, judging_set: JudgingSet) -> SetResult:
    """Each collection in a namespace of its own, asked by every system."""
    collections = judging_set.collections
    answers = {system.name: over(memory, collections, system) for system in SYSTEMS}
    answers[FTS5.name] = Answers(judging_set.questions, [found for each in collections for found in fts5(each)])
    absent = [found for each in collections for found in asked(memory.namespace(each.name), each.absent, DEFAULT)]
    return SetResult(judging_set, answers, absent)


def over(memory: Memory, collections: Sequence[Collection], system: System, limit: int = FIRST) -> Answers:
    """Each of them in a namespace of its own."""
    answered: list[Answered] = []
    for each in collections:
        texts = [question.text for question in each.questions]
        answered += asked(memory.namespace(each.name), texts, system, limit)
    return Answers([question for each in collections for question in each.questions], answered)


def pooled(memory: Memory, collections: Sequence[Collection], system: System) -> Answers:
    questions = [question for each in collections for question in each.questions]
    return Answers(questions, asked(memory.namespace(POOLED), [one.text for one in questions], system, DEEPEST))

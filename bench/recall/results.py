"""All figures of one run, from rankings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from bench.recall.data import ADVERSARIAL, CATEGORIES, Collection, Question, session_of
from bench.recall.fits import Conversation
from bench.recall.ladder import Rung
from bench.recall.measures import all_found, any_found, interval, ndcg, reciprocal_rank, share_found
from bench.recall.runs import DEEPEST, POOLED, Rankings, asked
from bench.recall.times import TimeResults
from perdure import Memory

DEPTHS: Final = (5, 10, 20, 50)


@dataclass(frozen=True, slots=True)
class Answers:
    """Every question, of all conversations one after the other, with what was found."""

    questions: Sequence[Question]
    rankings: Rankings

    def each(self, *, with_adversarial: bool = False) -> list[tuple[Question, list[str]]]:
        pairs = zip(self.questions, self.rankings, strict=True)
        return [pair for pair in pairs if with_adversarial or pair[0].category != ADVERSARIAL]

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
            for question, found in zip(self.questions, self.rankings, strict=True)
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
class Results:
    """`left_out`: by leave-one-conversation-out, with what was `chosen`."""

    ladder: Mapping[str, Answers]
    pooled: Mapping[str, Answers]
    left_out: Answers
    chosen: Mapping[str, str]
    scifact: Mapping[str, Answers]
    fits: Sequence[Conversation]
    times: TimeResults


def over(memory: Memory, collections: Sequence[Collection], rung: Rung, limit: int = DEEPEST) -> Answers:
    """Each of them in a namespace of its own."""
    rankings: Rankings = []
    for collection in collections:
        rankings += asked(memory.namespace(collection.name), collection.questions, rung, limit)
    return Answers([question for each in collections for question in each.questions], rankings)


def pooled(memory: Memory, collections: Sequence[Collection], rung: Rung) -> Answers:
    questions = [question for each in collections for question in each.questions]
    return Answers(questions, asked(memory.namespace(POOLED), questions, rung))


def leave_one_out(collections: Sequence[Collection], tried: Mapping[str, Answers]) -> tuple[Answers, dict[str, str]]:
    """For each conversation the weights that are best on the nine others; and which these were."""
    rankings: Rankings = []
    chosen: dict[str, str] = {}
    for collection in collections:
        own = {id(question) for question in collection.questions}
        best = max(tried, key=lambda name: _without(tried[name], own))
        chosen[collection.name] = best
        pairs = zip(tried[best].questions, tried[best].rankings, strict=True)
        rankings += (found for question, found in pairs if id(question) in own)
    return Answers([question for each in collections for question in each.questions], rankings), chosen


def _without(answers: Answers, own: set[int]) -> float:
    """Both aggregates, without one conversation."""
    pairs = zip(answers.questions, answers.rankings, strict=True)
    questions, rankings = zip(*(pair for pair in pairs if id(pair[0]) not in own), strict=True)
    others = Answers(questions, list(rankings))
    return others.ndcg + others.mean_of_categories

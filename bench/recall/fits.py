"""Does an answer say when nothing fits? Each conversation is asked its own questions, some of the others, and claims of
another field.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final, TypeAlias

from bench.recall.data import Collection, Question
from bench.recall.measures import any_found, ndcg
from bench.recall.runs import FIRST, Answered, asked
from bench.recall.systems import DEFAULT
from perdure import Memory
from perdure.model import MIN_RELEVANCE

# The floors among which one is chosen by leave-one-conversation-out.
FLOORS: Final = tuple(sorted({0.2, 0.25, 0.3, 0.35, 0.4, MIN_RELEVANCE}))
# What may be lost, for a floor to be chosen.
MOST_LOST: Final = 0.03
MOST_FALLEN: Final = 0.005

_OTHERS: Final = 7
_CLAIMS: Final = 20
_SEED: Final = 20260314

# By floor; 0 is none.
ByFloor: TypeAlias = Mapping[float, Sequence[Answered]]


@dataclass(frozen=True, slots=True)
class Fits:
    """The share of empty answers by kind of question; the share of the own questions that lose their evidence, of those
    that had some among the first ten; and by how much their nDCG@10 falls.
    """

    own_empty: float
    others_empty: float
    claims_empty: float
    lost: float
    fallen: float


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was asked of one conversation, and answered with each floor."""

    name: str
    own: Sequence[Question]
    answers: ByFloor
    others: ByFloor
    claims: ByFloor


def ask_all(memory: Memory, conversations: Sequence[Collection], claims: Sequence[Question]) -> list[Conversation]:
    draw = random.Random(_SEED)  # noqa: S311 - the same questions every time
    done: list[Conversation] = []
    for each in conversations:
        strangers = [other for other in conversations if other is not each]
        others = [question for other in strangers for question in draw.sample(list(other.questions), _OTHERS)]
        some = draw.sample(list(claims), min(_CLAIMS, len(claims)))
        space = memory.namespace(each.name)
        asking = (each.questions, others, some)
        answers, of_others, of_claims = (
            {floor: asked(space, [one.text for one in questions], DEFAULT, floor=floor) for floor in (0.0, *FLOORS)}
            for questions in asking
        )
        done.append(Conversation(each.name, each.questions, answers, of_others, of_claims))
    return done


def figures(conversations: Sequence[Conversation], floors: Mapping[str, float]) -> Fits:
    """`floors`: which one is in force, by conversation."""
    lost: list[float] = []
    fallen: list[float] = []
    empty: dict[str, list[bool]] = {"own": [], "others": [], "claims": []}
    for each in conversations:
        floor = floors[each.name]
        for question, before, after in zip(each.own, each.answers[0.0], each.answers[floor], strict=True):
            empty["own"].append(not after.names)
            fallen.append(ndcg(before.names, question.gold) - ndcg(after.names, question.gold))
            if any_found(before.names, question.gold, FIRST):
                lost.append(1.0 - any_found(after.names, question.gold, FIRST))
        empty["others"] += (not answer.names for answer in each.others[floor])
        empty["claims"] += (not answer.names for answer in each.claims[floor])
    shares = {kind: fmean(answers) if answers else 0.0 for kind, answers in empty.items()}
    return Fits(shares["own"], shares["others"], shares["claims"], fmean(lost), fmean(fallen))


def with_floor(conversations: Sequence[Conversation], floor: float = MIN_RELEVANCE) -> Fits:
    return figures(conversations, {each.name: floor for each in conversations})


def leave_one_out(conversations: Sequence[Conversation]) -> tuple[Fits, dict[str, float]]:
    """For each conversation the highest floor that costs little enough on the nine others; and which these were."""
    chosen: dict[str, float] = {}
    for each in conversations:
        others = [other for other in conversations if other is not each]
        measured = {floor: with_floor(others, floor) for floor in FLOORS}
        cheap = [floor for floor, fits in measured.items() if fits.lost <= MOST_LOST and fits.fallen <= MOST_FALLEN]
        chosen[each.name] = max(cheap, default=FLOORS[0])
    return figures(conversations, chosen), chosen

"""Which of the memories that were found a session is told without asking: those that fit well enough. Their relevance
decides how many these are; a score only orders them.

What was learned in the project that asks helps there more often than what was learned in another one, so less has to
speak for it. What belongs to no project belongs to all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from operator import attrgetter
from typing import Final

from perdure.model import LEARNING_CATEGORIES, Hit, Record
from perdure.recall.ranking import select
from perdure.recall.recipe import LEARNINGS
from perdure.recall.relevance import ANSWERS
from perdure.text.entry import bank_lines
from perdure.visibility import places_of

# What is less relevant starts no session.
LEAST_AT_START: Final = 0.28
# What speaks for a learning of the project, in log-odds: its relevance; less for one that is longer than is usual among
# what was found, because it is near to more; and less for each one before it, because few help at once. Of average ones
# the first six are told from there on, the tenth from .36 on (`python -m bench.told --fit`).
_LENGTH: Final = 0.25
_CROWD: Final = 0.9
_ENOUGH: Final = -2.64
# From this relevance on what was learned elsewhere shows that a subject is known.
_FITS_ELSEWHERE: Final = 0.31
# Where nothing of the project itself fits, this much must speak for what was learned elsewhere; unless so many of them
# fit that its subject is known here. Fewer are chance: among hundreds of learnings one or two are near to anything.
_ELSEWHERE_ALONE: Final = 0.4
_SHOW_A_SUBJECT: Final = 5
# Without a question, so many learnings of the project are told.
MOST_UNASKED: Final = 5
# Of what a prompt brings to mind, what is less likely than this share of the best is left out, unless it answers by
# itself. Learnings of the project are told from a relevance of their own on. `python -m bench.told --fit` chooses the
# limits here.
_SHARE_OF_BEST: Final = 0.6
_SHARE_OF_BEST_LEARNING: Final = 0.4
_FITS_PROMPT: Final = 0.41
# A learning of another project answers by itself from this relevance on: with the words of a prompt more is near.
_ANSWERS_PROMPT: Final = 0.7
_SHARE_OF_BEST_WORDS: Final = 0.5


def is_of(record: Record, project: Collection[str]) -> bool:
    """Whether a memory belongs to the project of these names, as `trusted_projects.names_of` tells them, or to none.
    Everything does, where no project asks.
    """
    if not project or record.source_project is None or f"/{record.source_project}" in project:
        return True
    return not set(places_of(record) or ()).isdisjoint(project)


def fitting_learnings(hits: Sequence[Hit], is_own: Callable[[Record], bool], limit: int) -> list[Hit]:
    """Of learnings that stand best first and are relevant by `LEAST_AT_START`, those that a session is told. `is_own`:
    whether one belongs to the project of the session.
    """
    inside = _strong_enough([hit for hit in hits if is_own(hit.record)])
    fits = [hit for hit in hits if hit.relevance >= _FITS_ELSEWHERE]
    least = ANSWERS if inside else _FITS_ELSEWHERE if len(fits) >= _SHOW_A_SUBJECT else _ELSEWHERE_ALONE
    inside |= {hit.record.id for hit in fits if hit.relevance >= least}
    return best_of([hit for hit in hits if hit.record.id in inside], limit)


def _strong_enough(own: Sequence[Hit]) -> set[str]:
    """The ids of those learnings of the project for which enough speaks."""
    texts = ["".join((hit.record.title or "", hit.record.text, *bank_lines(hit.record))) for hit in own]
    lengths = [math.log(len(text)) for text in texts]
    usual = sum(lengths) / max(len(own), 1)
    evidence = [
        (math.log(_odds(hit.relevance)) - _LENGTH * (length - usual), hit.record.id)
        for hit, length in zip(own, lengths, strict=True)
    ]
    best_first = enumerate(sorted(evidence, reverse=True))
    return {id for place, (strength, id) in best_first if strength - _CROWD * math.log1p(place) >= _ENOUGH}


def learnings_by_words(hits: Sequence[Hit], is_own: Callable[[Record], bool], limit: int) -> list[Hit]:
    """The same where nobody could compare meanings: a long question has few words in common with anything, so what was
    learned in the project is told if it has half as much in common as the best.
    """

    def fits(hit: Hit) -> bool:
        if hit.record.source_project is None or not is_own(hit.record):
            return hit.relevance >= (ANSWERS if hit.record.source_project else _FITS_ELSEWHERE)
        words = hit.explain.get("keyword")
        return words is not None and words.normalised >= _SHARE_OF_BEST_WORDS

    return best_of([hit for hit in hits if fits(hit)], limit)


def best_of(hits: Sequence[Hit], limit: int) -> list[Hit]:
    """As many as there is room for, in their order. That one was told before is no reason to choose it again: what
    recalls add to the score orders what is told, and chooses nothing.
    """
    if len(hits) <= limit:
        return list(hits)
    recalled = [hit for hit in hits if hit.record.recall_count and "recalls" in hit.explain]
    recalls = {hit.record.id: hit.explain["recalls"].contribution for hit in recalled}
    by_merit = sorted(hits, key=lambda hit: hit.score - recalls.get(hit.record.id, 0.0), reverse=True)
    chosen = {hit.record.id for hit in select(LEARNINGS, by_merit, limit, attrgetter("record.category"))}
    return [hit for hit in hits if hit.record.id in chosen]


def fitting_memories(hits: Sequence[Hit], project: Collection[str]) -> list[Hit]:
    """Of hits that stand best first, those that a prompt brings to mind: what answers, and what is hardly less likely
    than the best. Of learnings that is what was learned in the project, where it fits.
    """
    own = {hit.record.id for hit in hits if hit.record.category in LEARNING_CATEGORIES and is_of(hit.record, project)}
    best = _odds(max((hit.relevance for hit in hits), default=0.0))
    best_learning = _odds(max((hit.relevance for hit in hits if hit.record.id in own), default=0.0))

    def is_told(hit: Hit) -> bool:
        odds = _odds(hit.relevance)
        if hit.record.category not in LEARNING_CATEGORIES:
            return hit.relevance >= ANSWERS or odds >= _SHARE_OF_BEST * best
        is_near = hit.relevance >= _FITS_PROMPT and odds >= _SHARE_OF_BEST_LEARNING * best_learning
        return hit.relevance >= _ANSWERS_PROMPT or (hit.record.id in own and is_near)

    return [hit for hit in hits if is_told(hit)]


def _odds(share: float) -> float:
    return share / max(1.0 - share, 1e-6)

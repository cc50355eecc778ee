"""A prompt compared with the parts of what was learned: a learning tells a rule and a story, and a prompt is often near
to one sentence of them. Only the few that are nearest as a whole are compared again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from perdure.model import LEARNING_CATEGORIES, Hit, Record, Signal
from perdure.recall.fitting import is_of
from perdure.recall.relevance import CLAUSE_IN_PASSING, PART, log_odds, meaning, relevance
from perdure.recall.signals import DECIMALS
from perdure.text.clauses import clauses
from perdure.text.entry import BANK_LINES, bank_lines
from perdure.values import replace

if TYPE_CHECKING:
    from perdure.embed.port import Vectors

ABOUT: Final = "of its parts, the nearest to one of the prompt"
# More are hardly ever told (`python -m bench.told` finds the same with twenty), and each part costs a millisecond.
_MOST_COMPARED: Final = 6
_MOST_PARTS: Final = 10
_HIGHEST: Final = 0.9999

_Key = TypeVar("_Key")


def parts_of(record: Record) -> tuple[str, ...]:
    """The title, each clause of the text, and each of the lines that a bank has of it."""
    lines = bank_lines(record) if BANK_LINES in record.metadata else ()
    several = (clauses(text) or (text,) for text in (record.text, *lines))
    parts = dict.fromkeys([record.title or "", *(part for some in several for part in some)])
    return tuple(filter(None, parts))[:_MOST_PARTS]


def with_parts(
    hits: Mapping[_Key, Hit],
    project: Collection[str],
    asked: Sequence[Vectors],
    unrelated: float,
    embed: Callable[[Sequence[str]], Vectors],
) -> dict[_Key, Hit]:
    """The hits, best first. To the evidence for each of the best learnings of the project it adds how near its nearest
    part is to the prompt or to a clause of it: `asked` are the vectors of these.
    """
    own = (
        key for key, hit in hits.items() if hit.record.category in LEARNING_CATEGORIES and is_of(hit.record, project)
    )
    parts = {key: parts_of(hits[key].record) for key in islice(own, _MOST_COMPARED) if "vector" in hits[key].explain}
    if not parts:
        return dict(hits)
    nearest = (embed([part for some in parts.values() for part in some]) @ np.stack(asked).T).max(axis=1).tolist()
    compared, start = dict(hits), 0
    for key, some in parts.items():
        cosine, start = max(nearest[start : start + len(some)]), start + len(some)
        compared[key] = nearer(hits[key], cosine, float(meaning(cosine, unrelated)))
    return dict(sorted(compared.items(), key=lambda one: -one[1].relevance))


def nearer(hit: Hit, cosine: float, near: float) -> Hit:
    """The hit with what its nearest part adds."""
    share = round(near - CLAUSE_IN_PASSING, DECIMALS)
    fits = float(relevance(log_odds(min(hit.relevance, _HIGHEST)) + PART * share))
    signals = {**hit.explain, "part": Signal(cosine, None, share, PART, PART * share, ABOUT)}
    return replace(hit, relevance=fits, score=fits, explain=signals)

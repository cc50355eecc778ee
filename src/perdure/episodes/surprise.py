"""How surprising an episode is, without a model: how little of it was said in any of the last episodes, or is known as
a fact. Pure functions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet
from math import exp
from typing import Final

from perdure.lifecycle.summary import stopword_terms
from perdure.text.words import searchable, terms

# How many episodes before this one count as recent.
RECENT: Final = 10
# What is not comparable with anything is neither expected nor surprising.
UNKNOWN: Final = 0.5
_CENTRE: Final = 0.588
_SPREAD: Final = 0.044


def telling_terms(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(terms(searchable("\n".join(texts)))) - stopword_terms()


def novelty(said: AbstractSet[str], recent: Collection[AbstractSet[str]], known: AbstractSet[str]) -> float | None:
    """The share of what is said that is not known, and not in the episode that is most like this one; None where there
    is nothing to compare.
    """
    if not said or not (recent or known):
        return None
    new = said - known
    return min((len(new - other) for other in recent), default=len(new)) / len(said)


def surprise(said: AbstractSet[str], recent: Collection[AbstractSet[str]], known: AbstractSet[str]) -> float:
    """From 0 to 1, so that half of the episodes of a long conversation are below 0.4 and one of twenty above 0.85."""
    measured = novelty(said, recent, known)
    return UNKNOWN if measured is None else round(1 / (1 + exp((_CENTRE - measured) / _SPREAD)), 3)

"""Words that say nothing about what a question is about. They leave the query, never the index."""

from __future__ import annotations

from typing import Final

STOPWORDS: Final = frozenset(
    """
    a about after all also am an and any are as at be because been before being between both but by can could did do
    does doing done down during each ever few for from further get gets getting go goes got had has have having he her
    here hers herself him himself his how i if in into is it its itself just kind let like many may me might more most
    much must my myself no nor not now of off on once one only or other our ours out over own per please same shall she
    should so some such tell than that the their theirs them themselves then there these they this those through to too
    under until up upon us very was we were what whats when where whether which while who whom whose why will with
    would you your yours yourself s t d ll m re ve don didn doesn isn wasn aren
    """.split()
)

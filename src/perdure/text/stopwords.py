"""Words that say nothing about what a question is about. They leave the query, never the index.

Few on purpose. Words of time and place stay: `before`, `after`, and `may`, which is also a month.
"""

from __future__ import annotations

from typing import Final

STOPWORDS: Final = frozenset(
    """
    a about am an and are as at be been being but by can could did do does doing done for from had has have having he
    her hers him his how i if in into is it its me my no not of on or our ours please she should so such tell that the
    their theirs them then there these they this those to us was we were what whats when where which who whom whose why
    will with would you your yours s t d ll m re ve don didn doesn isn wasn aren
    """.split()
)

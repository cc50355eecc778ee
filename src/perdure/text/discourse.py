"""Words of a question that say only that something was said or done: `what did we talk about`, `remind me of it`.

A question that has nothing but these and a time asks for that time.
"""

from __future__ import annotations

import re
from typing import Final

from perdure.text.stopwords import STOPWORDS
from perdure.text.words import all_words

_WORDS: Final = frozenset(
    """
    all also any anything brought came chat chats chatted chatting come conversation conversations cover covered
    describe details discuss discussed discussing discussion discussions during earlier else entire ever every
    everything exactly explain full gist give happen happened happening happens hey hi highlights just know let list
    main mention mentioned mentioning note notes occur occurred oh ok okay only out over overview point points
    previously quick quickly recall recap refresh remember remind review said say saying says share shared show some
    something speak speaking spoke spoken stuff subject subjects sum summarise summarised summarize summarized
    summary talk talked talking talks telling thanks thing things time times told topic topics touch touched up want
    whatever whole
    """.split()
)
# Words that say so little only together: `work` alone may be what is asked about.
_PHRASES: Final = re.compile(
    r"\b(?:work(?:ed|ing)?\s+on|bring(?:ing)?\s+up|new(?=\W*$)|g[eo]t\s+done|g[eo]t\s+up\s+to|been\s+up\s+to"
    r"|take\s+place|took\s+place|go(?:ing)?\s+on|went\s+on|go(?:ne)?\s+(?:over|through)|went\s+(?:over|through)"
    r"|back\s+then|at\s+that\s+time|between\s+us|with\s+(?:each\s+other|me|you)|memor(?:y|ies)\s+(?:of|from)"
    r"|catch\s+(?:me\s+)?up|fill\s+me\s+in|key\s+(?:points?|topics?|things|takeaways)|takeaways|walk\s+me\s+through"
    r"|how\s+much\s+do\s+you|do\s+you\s+have|have\s+a\s+look)\b",
    re.IGNORECASE,
)
# These ask for something in particular: a place, a person, a reason.
ASKING_WORDS: Final = frozenset("where who whom whose why how which when".split())


def content_words(text: str) -> tuple[str, ...]:
    """The words of a question that say what it is about, in order; where it asks for something in particular, also the
    word that asks.
    """
    words = all_words(_PHRASES.sub(" ", text))
    return tuple(word for word in words if word in ASKING_WORDS or (word not in STOPWORDS and word not in _WORDS))

"""From what was asked to what is looked for: words, exact phrases, concepts, and the times that are named."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.model import Filter
from perdure.recall.concepts import Needs
from perdure.recall.phrases import read_phrases
from perdure.recall.recipe import Recipe
from perdure.text.stopwords import STOPWORDS
from perdure.text.words import MAX_QUERY_CHARACTERS, clean, query_words

if TYPE_CHECKING:
    from perdure.text.time_expressions import TimeRange

_NO_FILTER: Final = Filter()
# Something of this stands in every text that names a time. Most texts have nothing of it, and need no closer look.
_OF_TIME: Final = re.compile(
    "day|week|month|year|night|morning|noon|evening|sec|min|hour|hr"
    "|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|19|20"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """One search, checked and complete: what is asked, where, about which time, and how matches are weighed.

    `as_of` asks what was true at a time, `known_at` what was known at a time. Without a query and concepts, a recipe
    with a prominence weight orders every memory by prominence.
    """

    query: str | None
    namespaces: tuple[str, ...]
    recipe: Recipe
    now: datetime
    concepts: tuple[str, ...] = ()
    limit: int = 10
    filter: Filter = _NO_FILTER
    as_of: datetime | None = None
    known_at: datetime | None = None
    use_decay: bool = True
    decay_exempt: tuple[str, ...] = ()

    @property
    def is_past(self) -> bool:
        return self.as_of is not None or self.known_at is not None

    @property
    def true_at(self) -> datetime:
        """The moment at which a memory must be true. What was known at a time was known about that time."""
        return self.as_of or self.known_at or self.now

    @property
    def known_by(self) -> datetime:
        """The moment by which a memory must be known: one that had expired by then is not known any more."""
        return self.known_at or self.now


class Asked(NamedTuple):
    """`text` is what a model embeds, `words` are what the keyword index is asked for."""

    text: str
    words: Sequence[str]
    needs: Needs
    spans: tuple[TimeRange, ...]


def understand(query: str | None, concepts: Sequence[str], moment: datetime) -> Asked:
    """Never an error, whatever the text. Times are reckoned from the moment that the question is about."""
    quoted = read_phrases(clean((query or "")[:MAX_QUERY_CHARACTERS]).strip())
    needs = Needs(tuple(dict.fromkeys(map(clean, concepts))), quoted.phrases)
    rest, spans = _times(quoted.rest, moment)
    needed = (*quoted.phrases, *needs.concepts)
    words = query_words(" ".join((rest, *needed)))
    if STOPWORDS.issuperset(words):
        words = query_words(" ".join((quoted.rest, *needed)))
    return Asked(quoted.text or " ".join(needs.concepts), words, needs, spans)


def _times(text: str, moment: datetime) -> tuple[str, tuple[TimeRange, ...]]:
    """The times that a text names, and the text without those of their words that no memory of that time has."""
    if _OF_TIME.search(text.lower()) is None:
        return text, ()
    from perdure.text.time_expressions import find_time_ranges, without_spans

    spans = find_time_ranges(text, moment)
    return without_spans(text, tuple(span for span in spans if not span.is_named)), spans

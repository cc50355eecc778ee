"""What is asked, once it is understood: words, where to look, about which time, and how to weigh."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from perdure.model import Filter, Record
from perdure.recall.concepts import NO_NEEDS, Needs
from perdure.recall.past import When
from perdure.recall.recipe import EXACT_ROWS, Recipe
from perdure.recall.scope import Scope
from perdure.recall.standing import Fading
from perdure.store.port import Store
from perdure.text.entry import term_hash
from perdure.text.words import terms

if TYPE_CHECKING:
    from perdure.text.time_expressions import TimeRange

# A phrase of common words: reading so many memories takes about as long as a search may.
MOST_LOOKED_AT: Final = 5000
TOO_MANY: Final = "Only the newest {:,} of {:,} memories with these words were looked at for the exact phrase."


class Question(NamedTuple):
    """`needs` are what an answer must hold, `spans` the times it may be of; `notes` are made on the way."""

    words: Sequence[str]
    namespaces: Sequence[str]
    filter: Filter
    limit: int
    recipe: Recipe
    now: datetime
    when: When
    fading: Fading
    needs: Needs = NO_NEEDS
    spans: tuple[TimeRange, ...] = ()
    notes: list[str] | None = None

    @property
    def candidates(self) -> int:
        return max(self.recipe.candidates, 2 * self.limit)

    @property
    def matches(self) -> int:
        """How many of the best are compared where only words say which: with prominence, all of them."""
        return max(self.candidates, EXACT_ROWS) if self.recipe.prominence_weight else self.candidates

    @property
    def scope(self) -> Scope:
        return Scope.of(self.filter, true_then=self.when.as_of is not None)

    @property
    def moment(self) -> datetime:
        """When a memory must be true to be an answer."""
        return self.when.true(self.now)

    @property
    def known(self) -> datetime:
        """What had expired by then is not known any more."""
        return self.when.known(self.now)

    @property
    def terms(self) -> list[int]:
        return hashes_of(self.words)


class Lookup(Protocol):
    """What an index cannot tell about its memories."""

    def matching(self, filter: Filter) -> Sequence[int]:
        """The numbers of those that pass."""
        ...

    def expired(self, numbers: Sequence[int]) -> Sequence[int]:
        """Which of these end because they expire, and not because they are true no more."""
        ...

    def seen(self, numbers: Sequence[int]) -> Iterable[Record]:
        """The memories themselves; those that are gone are left out."""
        ...


class Today(NamedTuple):
    """The memories of a namespace as they are now."""

    store: Store
    namespace: str
    known: datetime

    def matching(self, filter: Filter) -> Sequence[int]:
        return self.store.matching(self.namespace, filter)

    def expired(self, numbers: Sequence[int]) -> Sequence[int]:
        records = self.store.fetch(self.namespace, numbers) if numbers else ()
        return [record.number for record in records if record.expires_at and record.expires_at <= self.known]

    def seen(self, numbers: Sequence[int]) -> Iterable[Record]:
        return self.store.fetch(self.namespace, numbers)


def meeting(question: Question, lookup: Lookup, numbers: Iterable[int]) -> list[int]:
    """Those of the memories that hold the words which really hold what the question insists on."""
    newest = sorted(numbers, reverse=True)
    if question.needs.told_by_an_index:
        return newest
    if len(newest) > MOST_LOOKED_AT and question.notes is not None:
        question.notes.append(TOO_MANY.format(MOST_LOOKED_AT, len(newest)))
    looked_at = lookup.seen(newest[:MOST_LOOKED_AT])
    return [record.number for record in looked_at if question.needs.met_by(record)]


def hashes_of(words: Sequence[str]) -> list[int]:
    """The words as an index knows them: stemmed, hashed, each once."""
    return list(dict.fromkeys(map(term_hash, terms(" ".join(words)))))

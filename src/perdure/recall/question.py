"""What is asked, once it is understood: words, where to look, about which time, and how to weigh."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from perdure.model import Filter
from perdure.recall.past import When
from perdure.recall.recipe import Recipe
from perdure.recall.scope import Scope
from perdure.recall.standing import Fading
from perdure.store.port import Store
from perdure.text.entry import term_hash
from perdure.text.words import terms


class Question(NamedTuple):
    words: Sequence[str]
    namespaces: Sequence[str]
    filter: Filter
    limit: int
    recipe: Recipe
    now: datetime
    when: When
    fading: Fading

    @property
    def candidates(self) -> int:
        return max(self.recipe.candidates, 2 * self.limit)

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


def hashes_of(words: Sequence[str]) -> list[int]:
    """The words as an index knows them: stemmed, hashed, each once."""
    return list(dict.fromkeys(map(term_hash, terms(" ".join(words)))))

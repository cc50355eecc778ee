"""The past by words where there is no numpy: every row is looked at. Slow, and the same scores as from an index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from perdure.clock import to_micros
from perdure.model import Filter
from perdure.recall.past import Past, When, look_back
from perdure.recall.question import Lookup, Question, meeting
from perdure.store.port import IndexRow, Scored, Store
from perdure.text.bm25 import WordCounts, length_norm, saturation
from perdure.text.entry import terms_length, unpack_terms

Allowed: TypeAlias = Callable[[IndexRow], bool]

_PAGE: Final = 1024


@dataclass(frozen=True, slots=True)
class Scan:
    """The rows of one namespace that hold a word of the question, and what was counted on the way."""

    past: Past
    rows: Sequence[tuple[IndexRow, dict[int, int]]]
    counts: WordCounts

    @classmethod
    def of(cls, store: Store, namespace: str, when: When, wanted: Sequence[int]) -> Scan:
        rows = _rows_now(store, namespace)
        seq = store.position(namespace, None).seq
        if when.known_at is not None:
            seq = min(seq, store.seq_at(namespace, when.known_at))
        past = look_back(store, namespace, when, seq)
        same = (row for row in rows if row.number not in past.changed)
        return cls(past, *_count((*same, *past.rows(store, namespace, None)), wanted))

    def best(self, allowed: Allowed, counts: WordCounts, limit: int) -> list[Scored]:
        scored: list[Scored] = []
        for row, found in self.rows:
            if allowed(row):
                norm = length_norm(float(terms_length(row.terms)), counts.average)
                gains = (counts.idf(term, 1) * saturation(float(often), norm) for term, often in found.items())
                scored.append(Scored(row.number, sum(gains)))
        scored.sort(key=lambda one: (-one.score, -one.number))
        return scored[:limit]

    def _meeting(self, question: Question, today: Lookup) -> frozenset[int]:
        needed = frozenset(question.needs.terms)
        holding = [row.number for row, _ in self.rows if needed <= unpack_terms(row.terms).keys()]
        old = meeting(question, self.past, (number for number in holding if number in self.past.old))
        return frozenset(old).union(meeting(question, today, (one for one in holding if one not in self.past.old)))

    def allowing(self, question: Question, today: Lookup) -> Allowed:
        scope, at, known = question.scope, to_micros(question.moment), to_micros(question.known)

        def numbers(filter: Filter) -> frozenset[int]:
            return frozenset(today.matching(filter)).difference(self.past.changed).union(self.past.matching(filter))

        wanted = None if scope.wanted is None else numbers(scope.wanted)
        unwanted = frozenset[int]() if scope.unwanted is None else numbers(scope.unwanted)
        ended = [row.number for row, _ in self.rows if row.valid_until is not None and at < row.valid_until <= known]
        expired = {*self.past.old.keys() & ended, *today.expired([one for one in ended if one not in self.past.old])}

        met = self._meeting(question, today) if question.needs else None

        def allowed(row: IndexRow) -> bool:
            return (
                (row.visible or not scope.visible)
                and (wanted is None or row.number in wanted)
                and row.number not in unwanted
                and row.number not in expired
                and (met is None or row.number in met)
                and (not scope.valid or _holds(row, at))
            )

        return allowed


def _rows_now(store: Store, namespace: str) -> list[IndexRow]:
    found: list[IndexRow] = []
    while rows := store.index_rows(namespace, None, found[-1].number if found else 0, _PAGE):
        found.extend(rows)
    return found


def _count(rows: Iterable[IndexRow], wanted: Sequence[int]) -> tuple[list[tuple[IndexRow, dict[int, int]]], WordCounts]:
    documents, words = 0, 0
    containing: Counter[int] = Counter()
    holding: list[tuple[IndexRow, dict[int, int]]] = []
    for row in rows:
        documents += 1
        words += terms_length(row.terms)
        held = unpack_terms(row.terms)
        found = {term: held[term] for term in wanted if term in held}
        if found:
            containing.update(found.keys())
            holding.append((row, found))
    return holding, WordCounts(documents, words, containing)


def _holds(row: IndexRow, at: int) -> bool:
    return (row.valid_from is None or row.valid_from <= at) and (row.valid_until is None or row.valid_until > at)

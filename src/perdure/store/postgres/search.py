"""Keyword search without an index: the words of a namespace are scanned on the server, and scored here.

An inverted index would have to be written, kept and erased with every memory; a scan of one namespace reads a few bytes
of each. A large namespace is scanned in parts, the newest first, until the time is over.
"""

from __future__ import annotations

import heapq
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from perdure.model import Filter
from perdure.store.port import KeywordSearch, NumberSearch, Scored
from perdure.store.postgres.asked_ahead import AskedAhead
from perdure.store.postgres.connection import Row
from perdure.store.postgres.filters import conditions
from perdure.store.postgres.pool import Transaction
from perdure.store.term_scoring import QueryTerms, TermScorer, pack_term
from perdure.text.bm25 import WordCounts
from perdure.text.entry import TERM_BYTES, term_hash

SECONDS: Final = 2.0
# How many numbers of memories one statement looks at.
NUMBERS_AT_A_TIME: Final = 50_000
_HOLDS_TERM: Final = "position(%({name})s IN entry.terms) > 0"


class TermScan:
    """Looks for the words of one query in one namespace, which has given out numbers up to `newest`."""

    def __init__(
        self,
        transaction: Transaction | AskedAhead,
        sql: Mapping[str, str],
        bindings: Mapping[str, Any],
        newest: int,
        words: Sequence[str],
    ) -> None:
        self._transaction = transaction
        self._sql = sql
        self._newest = newest
        self.query = QueryTerms(words)
        self._terms = {term_hash(stem): pack_term(term_hash(stem)) for stem in self.query.words}
        self._bindings = {**bindings, **{f"term{at}": packed for at, packed in enumerate(self._terms.values())}}
        self.complete = True

    def counts(self, documents: int, words: int) -> WordCounts:
        return WordCounts(
            documents, words, _held(self._terms, (terms for _, terms in self._scan(self._sql["scan_terms"], {})))
        )

    def best(
        self, filter: Filter, now: datetime, limit: int, totals: tuple[int, int], counts: WordCounts | None
    ) -> KeywordSearch:
        where, bindings = conditions(self._sql, filter, now)
        rows = self._scan(f"{self._sql['scan_candidates']}{where}{self._sql['of_candidates']}", bindings)
        own = _held(self._terms, (row[1] for row in rows))
        counts = counts if counts is not None else WordCounts(*totals, own)
        scored = TermScorer(self.query, counts, own).scored((number, terms) for number, terms, passes in rows if passes)
        best = heapq.nsmallest(max(0, limit), scored, key=lambda found: (-found[1], -found[0]))
        return KeywordSearch([Scored(*found) for found in best], counts, self.complete)

    def with_all(self) -> NumberSearch:
        """A word that is made of several may also be held in its parts."""
        rows = self._scan(self._sql["scan_terms"], {}) if self.query.terms else []
        numbers: list[int] = []
        for number, packed in rows:
            held = {term for term, word in self._terms.items() if holds(packed, word)}
            if all(
                term in held or (term in self.query.parts and held.issuperset(self.query.parts[term]))
                for term in self.query.terms
            ):
                numbers.append(number)
        return NumberSearch(numbers, self.complete)

    def _scan(self, sql: str, bindings: Mapping[str, Any]) -> list[Row]:
        """The memories that hold any of the words."""
        if not self._terms:
            return []
        any_word = " OR ".join(_HOLDS_TERM.format(name=f"term{at}") for at in range(len(self._terms)))
        deadline = time.monotonic() + SECONDS
        found: list[Row] = []
        last = self._newest
        while last > 0:
            part = {"after": max(0, last - NUMBERS_AT_A_TIME), "last": last}
            found += self._transaction.ask(f"{sql} ({any_word})", {**self._bindings, **bindings, **part}, prepare=False)
            last = part["after"]
            if last and time.monotonic() > deadline:
                self.complete = False
                break
        return found


def holds(packed: bytes, term: bytes) -> bool:
    """The server finds the four bytes anywhere; a term begins at a multiple of five."""
    at = packed.find(term)
    while at >= 0 and at % TERM_BYTES:
        at = packed.find(term, at + 1)
    return at >= 0


def _held(terms: Mapping[int, bytes], entries: Iterable[bytes]) -> dict[int, int]:
    """How many of the entries hold each term; those that none holds are left out."""
    counted: Counter[int] = Counter()
    for packed in entries:
        counted.update([term for term, word in terms.items() if holds(packed, word)])
    return dict(counted)

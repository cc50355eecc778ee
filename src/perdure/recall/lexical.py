"""BM25 over one namespace, in memory: which rows hold a word, and what that is worth.

Rows that came lately lie as they came and are scanned; from a certain number on they are sorted by word into postings.
Both give the same scores, so that the first search after loading does not have to wait for the sorting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

import numpy as np

from perdure.recall.append_array import AppendOnlyArray
from perdure.text.bm25 import TermWorths, WordCounts, length_norm, saturation
from perdure.values import value_class

if TYPE_CHECKING:
    from numpy.typing import NDArray

Rows: TypeAlias = "NDArray[np.intp]"
Counts: TypeAlias = "NDArray[np.uint8]"

# Scanning this many entries takes about as long as one search should.
SCANNED_ENTRIES: Final = 1 << 14
# A sorted key is term << 32 | row << 8 | frequency, so one set of postings spans at most this many rows.
MOST_ROWS: Final = 1 << 24
# A set of postings is merged into the one before as soon as that is less than so many times larger.
_FANOUT: Final = 4
_NOT_COUNTED: Final[Mapping[int, int]] = {}
_NO_PARTS: Final[Mapping[int, Sequence[int]]] = {}
# Postings cache: at most 256 words with at most 1,024 rows each, two megabytes.
_KEPT_WORDS: Final = 256
_KEPT_ROWS: Final = 1 << 10
# Postings of the last search are kept as well, up to this many rows: one megabyte.
_LATEST_ROWS: Final = 1 << 17
# The words of a query that are told apart in one number.
_BITS: Final = 64
# More terms than these are looked for together.
_FEW_TERMS: Final = 8


@value_class
class Postings:
    """Rows `first` to `last` (exclusive) by term, in the order of the terms' hashes."""

    first: int
    last: int
    terms: NDArray[np.uint32]
    starts: NDArray[np.intp]
    rows: NDArray[np.uint32]
    frequencies: Counts

    @classmethod
    def sort(cls, first: int, last: int, keys: NDArray[np.uint64]) -> Postings:
        # Of the kinds of sorting the one that profits from what is in order already: each row is, and each merged set.
        keys.sort(kind="stable")
        terms_ = (keys >> 32).astype(np.uint32)
        starts = np.flatnonzero(np.diff(terms_, prepend=terms_[:1] ^ 1))
        rows = ((keys >> 8) & (MOST_ROWS - 1)).astype(np.uint32)
        rows += np.uint32(first)
        frequencies = (keys & 0xFF).astype(np.uint8)
        return cls(first, last, terms_[starts], np.append(starts, len(keys)), rows, frequencies)

    def keys(self, first: int, alive: NDArray[np.bool_]) -> NDArray[np.uint64]:
        """As they were before sorting, without the rows that are gone, for a set that begins at `first`."""
        terms_ = np.repeat(self.terms, np.diff(self.starts))
        keys = _keys(terms_, self.rows.astype(np.uint64) - np.uint64(first), self.frequencies)
        return keys[alive[self.rows]]

    def find(self, query_terms: Sequence[int]) -> Iterator[tuple[int, Rows, Counts]]:
        """Which of the query_terms terms, then the rows and how often."""
        hashes = np.array(query_terms, np.uint32)
        places = np.searchsorted(self.terms, hashes)
        known = self.terms[np.minimum(places, len(self.terms) - 1)] == hashes if len(self.terms) else ()
        for which in np.flatnonzero(known).tolist():
            start, end = self.starts[places[which]], self.starts[places[which] + 1]
            yield which, self.rows[start:end].astype(np.intp), self.frequencies[start:end]

    @property
    def nbytes(self) -> int:
        return self.terms.nbytes + self.starts.nbytes + self.rows.nbytes + self.frequencies.nbytes


class Holders(NamedTuple):
    """The living rows that hold one term, ascending, and how often each does."""

    rows: Rows
    frequencies: Counts


_NOBODY: Final = Holders(np.empty(0, np.intp), np.empty(0, np.uint8))


@value_class(slots=False)
class Lexical:
    """What a search sees: sorted and unsorted rows, and the statistics of those that are alive. Where the rows are only
    some of a namespace, the statistics are of all of it, and `containing` has how many of all hold each term.
    """

    sorted: tuple[Postings, ...]
    first_unsorted: int
    terms: NDArray[np.uint32]
    frequencies: Counts
    ends: NDArray[np.intp]
    lengths: NDArray[np.uint32]
    alive: NDArray[np.bool_]
    documents: int
    words: int
    containing: Mapping[int, int] = _NOT_COUNTED

    @cached_property
    def _own(self) -> WordCounts:
        return WordCounts(self.documents, self.words, self.containing)

    @cached_property
    def _kept(self) -> dict[int, Holders]:
        return {}

    @cached_property
    def _latest(self) -> list[Mapping[int, Holders]]:
        """What was found last, however many rows hold it: one search asks for the same words several times."""
        return [{}]

    @cached_property
    def _norms(self) -> NDArray[np.float32]:
        return length_norm(self.lengths.astype(np.float32), self._own.average)

    def counts(self, query_terms: Sequence[int], parts: Mapping[int, Sequence[int]] = _NO_PARTS) -> WordCounts:
        every = _with_parts(query_terms, parts) if parts else query_terms
        holding = {term: len(rows) for term, (rows, _) in self._find(every).items()}
        return WordCounts(self.documents, self.words, {**holding, **self.containing})

    def scores(
        self,
        query_terms: Sequence[int],
        counts: WordCounts | None = None,
        parts: Mapping[int, Sequence[int]] = _NO_PARTS,
    ) -> NDArray[np.float32]:
        """BM25 of every row, over this namespace or over the counts of several together; what rows that are gone get
        means nothing. `parts`: the terms that stand for a term which is made of several.
        """
        found = self._find(_with_parts(query_terms, parts) if parts else query_terms)
        scores = np.zeros(len(self.lengths), np.float32)
        weigh = counts or self._own
        idf = {
            term: weigh.idf(term, len(rows))
            for term, (rows, _) in found.items()
            if len(rows) or weigh.containing.get(term)
        }
        words, wholes = TermWorths.of(query_terms, parts, idf) if parts else (idf, ())
        self._add(scores, found, words, counts)
        for whole in wholes:
            apart, once = (
                np.zeros_like(scores),
                {term: Holders(rows, np.ones_like(times)) for term, (rows, times) in found.items()},
            )
            self._add(apart, once, whole.parts, counts)
            together = np.zeros_like(scores)
            self._add(together, found, {whole.term: whole.worth}, counts)
            scores += np.maximum(together, apart)
        return scores

    def held(
        self, query_terms: Sequence[int], rows: Rows, parts: Mapping[int, Sequence[int]] = _NO_PARTS
    ) -> tuple[NDArray[np.float64], WordCounts]:
        """How much each of these rows holds of each of these words: 1, or the share of its parts that it holds. And how
        many rows of all hold each.
        """
        found = self._find(_with_parts(query_terms, parts) if parts else query_terms)
        held = np.zeros((len(found), len(rows)))
        mask = np.zeros(len(self.lengths), np.bool_)
        for place, (holders, _) in enumerate(found.values()):
            mask[holders] = True
            held[place] = mask.take(rows)
            mask[holders] = False
        every = list(found)
        for whole, some in parts.items():
            share = held[[every.index(part) for part in some]].mean(axis=0)
            held[every.index(whole)] = np.maximum(held[every.index(whole)], share)
        holding = {term: len(holders) for term, (holders, _) in found.items()}
        return held[: len(query_terms)], WordCounts(self.documents, self.words, {**holding, **self.containing})

    def _add(
        self,
        scores: NDArray[np.float32],
        found: Mapping[int, Holders],
        worths: Mapping[int, float],
        counts: WordCounts | None,
    ) -> None:
        """Add to each row what the terms are worth that it holds."""
        wanted = [(holders, worths[term]) for term, holders in found.items() if term in worths and len(holders.rows)]
        if not wanted:
            return
        # All words at once: for most queries the number of calls costs more than what they do.
        rows = np.concatenate([holders.rows for holders, _ in wanted])
        sizes = [len(holders.rows) for holders, _ in wanted]
        if counts is None:
            norms = self._norms.take(rows)
        else:
            norms = length_norm(self.lengths.take(rows).astype(np.float32), counts.average)
        gains = saturation(np.concatenate([holders.frequencies for holders, _ in wanted]).astype(np.float32), norms)
        gains *= np.repeat(np.array([worth for _, worth in wanted], np.float32), sizes)
        np.add.at(scores, rows, gains)

    def holding(self, query_terms: Sequence[int], parts: Mapping[int, Sequence[int]] = _NO_PARTS) -> NDArray[np.bool_]:
        """The rows that hold each of these words, whole or in all its parts; what it says of rows that are gone means
        nothing.
        """
        found = self._find(_with_parts(query_terms, parts))

        def hold(wanted: Sequence[int]) -> NDArray[np.bool_]:
            held = np.zeros(len(self.lengths), np.uint16)
            for term in wanted:
                held[found[term].rows] += 1
            return held == len(wanted)

        rows = hold([term for term in query_terms if term not in parts])
        for whole, some in parts.items():
            rows &= hold([whole]) | hold(some)
        return rows

    def holding_any(self, query_terms: Sequence[int]) -> NDArray[np.bool_]:
        """The rows that hold one of these words; what it says of rows that are gone means nothing."""
        held = np.zeros(len(self.lengths), np.bool_)
        for rows, _ in self._find(query_terms).values():
            held[rows] = True
        return held

    def worth_around(
        self, query_terms: Sequence[int], rows: Rows, neighbours: Sequence[Rows], counts: WordCounts | None = None
    ) -> NDArray[np.float64]:
        """What those of these words are worth that a row lacks and its neighbours hold. There is a column of neighbours
        for each row (-1: none), in groups: a word counts half if one of the first group holds it, and half as much
        again with each further group.
        """
        query_terms, weigh = query_terms[:_BITS], counts or self._own
        # One place more than there are rows, so that -1 falls on it.
        held, worths = np.zeros(len(self.lengths) + 1, np.uint64), np.zeros(len(query_terms))
        for which, (term, (holders, _)) in enumerate(self._find(query_terms).items()):
            held[holders] |= np.uint64(1 << which)
            # A word that only rows held that are gone is as good as unknown.
            worths[which] = weigh.idf(term, len(holders)) if len(holders) else 0.0
        bits, so_far, share = np.arange(len(worths), dtype=np.uint64)[:, np.newaxis], held[rows], 1.0
        around = np.zeros(len(rows))
        for group in neighbours:
            share /= 2
            together = reduce(np.bitwise_or, (held[column] for column in group), so_far)
            around += share * (worths @ ((together & ~so_far) >> bits & np.uint64(1)).astype(np.float64))
            so_far = together
        return around

    def _find(self, query_terms: Sequence[int]) -> dict[int, Holders]:
        """Who holds each of these terms. One process asks for the same names again and again."""
        kept, latest = self._kept, self._latest[0]
        found = {term: kept.get(term) or latest.get(term) for term in query_terms}
        missing = [term for term, holders in found.items() if holders is None]
        # The parts of the index follow each other.
        apart: list[list[Holders]] = [[] for _ in missing]
        for part in self.sorted if missing else ():
            for which, rows, frequencies in part.find(missing):
                apart[which].append(Holders(rows, frequencies))
        terms, frequencies, row_of = self.terms, self.frequencies, None
        if len(missing) > _FEW_TERMS:
            # One look at the lower halves of all entries leaves few of them to be compared with each term.
            wanted = np.zeros(1 << 16, np.bool_)
            wanted[np.array(missing, np.uint32).astype(np.uint16)] = True
            entries = np.flatnonzero(wanted.take(terms.astype(np.uint16)))
            terms, frequencies = terms.take(entries), frequencies.take(entries)
            row_of = np.repeat(np.arange(len(self.ends)), np.diff(self.ends, prepend=0)).take(entries)
        for which, term in enumerate(missing if len(terms) else ()):
            at = np.flatnonzero(terms == term)
            if len(at):
                rows = np.searchsorted(self.ends, at, side="right") if row_of is None else row_of.take(at)
                apart[which].append(Holders(rows + self.first_unsorted, frequencies.take(at)))
        if missing and len(kept) > _KEPT_WORDS:
            kept.clear()
        for term, parts in zip(missing, apart, strict=True):
            rows, frequencies = parts[0] if len(parts) == 1 else map(np.concatenate, zip(_NOBODY, *parts, strict=True))
            if self.documents < len(self.lengths):
                living = self.alive.take(rows)
                rows, frequencies = rows[living], frequencies[living]
            found[term] = Holders(rows, frequencies)
            if len(rows) <= _KEPT_ROWS:
                kept[term] = Holders(rows, frequencies)
        done = cast("dict[int, Holders]", found)
        if missing and sum(len(rows) for rows, _ in done.values()) <= _LATEST_ROWS:
            self._latest[0] = done
        return done


class LexicalBuilder:
    """Takes rows at the end, and hands out `Lexical` views that stay as they are."""

    def __init__(self) -> None:
        self._sorted: tuple[Postings, ...] = ()
        self._first_unsorted = 0
        self._mapped = 0
        self._clear()
        self._lengths = AppendOnlyArray(np.uint32)

    def _clear(self) -> None:
        self.untidy = False
        self._terms = AppendOnlyArray(np.uint32)
        self._frequencies = AppendOnlyArray(np.uint8)
        self._ends = AppendOnlyArray(np.intp)

    @property
    def lengths(self) -> NDArray[np.uint32]:
        return self._lengths.view

    @property
    def nbytes(self) -> int:
        growing = (self._terms, self._frequencies, self._ends, self._lengths)
        return sum(part.nbytes for part in (*self._sorted, *growing)) - self._mapped

    def extend(
        self, terms: NDArray[np.uint32], frequencies: Counts, ends: NDArray[np.intp], lengths: NDArray[np.uint32]
    ) -> None:
        self._ends.extend(ends + len(self._terms))
        self.untidy = len(self._terms) + len(terms) > SCANNED_ENTRIES
        self._terms.extend(terms)
        self._frequencies.extend(frequencies)
        self._lengths.extend(lengths)

    def tidy(self, alive: NDArray[np.bool_]) -> None:
        """Sort what lies unsorted, and merge sets of postings, so that few are left and the small ones are new."""
        first, ends = self._first_unsorted, self._ends.view
        for begin in range(0, len(ends), MOST_ROWS):
            end = min(begin + MOST_ROWS, len(ends))
            left, right = (int(ends[begin - 1]) if begin else 0), int(ends[end - 1])
            rows = np.repeat(np.arange(end - begin, dtype=np.uint64), np.diff(ends[begin:end], prepend=left))
            keys = _keys(self._terms.view[left:right], rows, self._frequencies.view[left:right])
            self._sorted += (Postings.sort(first + begin, first + end, keys),)
        self._first_unsorted += len(ends)
        self._clear()
        while len(self._sorted) > 1:
            *others, older, newer = self._sorted
            if len(older.rows) >= _FANOUT * len(newer.rows) or newer.last - older.first > MOST_ROWS:
                break
            if not others:
                self._mapped = 0
            keys = np.concatenate([older.keys(older.first, alive), newer.keys(older.first, alive)])
            self._sorted = (*others, Postings.sort(older.first, newer.last, keys))

    def arrays(self, rows: Rows) -> dict[str, NDArray[Any]]:
        """All in one set of postings, of these rows alone, as if there were no others."""
        lengths = self.lengths
        if len(rows) == len(lengths) and len(self._sorted) == 1 and not len(self._ends):
            postings = self._sorted[0]
        else:
            place = np.full(len(lengths), -1, np.int64)
            place[rows] = np.arange(len(rows))
            of_unsorted = np.repeat(np.arange(len(self._ends)), np.diff(self._ends.view, prepend=0))
            held: list[tuple[NDArray[np.uint32], NDArray[Any], Counts]] = [
                (np.repeat(part.terms, np.diff(part.starts)), part.rows, part.frequencies) for part in self._sorted
            ]
            held.append((self._terms.view, of_unsorted + self._first_unsorted, self._frequencies.view))
            keys: list[NDArray[np.uint64]] = []
            for terms_, holders, frequencies in held:
                places = place[holders]
                kept = places >= 0
                keys.append(_keys(terms_[kept], places[kept].astype(np.uint64), frequencies[kept]))
            postings = Postings.sort(0, len(rows), np.concatenate(keys))
        return {
            "terms": postings.terms,
            "starts": postings.starts,
            "rows": postings.rows,
            "frequencies": postings.frequencies,
            "lengths": lengths if len(rows) == len(lengths) else lengths[rows],
        }

    @classmethod
    def over(cls, arrays: Mapping[str, NDArray[Any]], size: int) -> LexicalBuilder:
        """As `arrays` gave them."""
        builder = cls()
        builder._sorted = (Postings(0, size, arrays["terms"], arrays["starts"], arrays["rows"], arrays["frequencies"]),)
        builder._first_unsorted = size
        builder._lengths.over(arrays["lengths"], size)
        builder._mapped = sum(arrays[name].nbytes for name in ("terms", "starts", "rows", "frequencies"))
        return builder

    def view(self, alive: NDArray[np.bool_], documents: int, words: int) -> Lexical:
        return Lexical(
            self._sorted, self._first_unsorted, self._terms.view, self._frequencies.view, self._ends.view,
            self._lengths.view, alive, documents, words,
        )  # fmt: skip


def _keys(terms_: NDArray[np.uint32], rows: NDArray[np.uint64], frequencies: Counts) -> NDArray[np.uint64]:
    keys = terms_.astype(np.uint64)
    keys <<= np.uint64(24)
    keys |= rows
    keys <<= np.uint64(8)
    keys |= frequencies
    return keys


def _with_parts(query_terms: Sequence[int], parts: Mapping[int, Sequence[int]]) -> Sequence[int]:
    return list(dict.fromkeys([*query_terms, *(part for some in parts.values() for part in some)]))

"""Memories of a time, whatever they say, from the index."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from perdure.clock import from_micros, to_micros
from perdure.model import Record
from perdure.recall.keyword_search import Key
from perdure.recall.query import ParsedQuery, SearchRequest
from perdure.recall.ranking import Explanation, Ranked
from perdure.recall.signals import explain
from perdure.recall.time_questions import day_of
from perdure.recall.timeline import (
    DAY_MICROS,
    SessionKey,
    Span,
    described,
    informativeness,
    sessions_of,
    spread,
    time_column,
    within,
)
from perdure.text.preview import when
from perdure.text.time_expressions import TimeRange

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perdure.recall.candidates import Partition, Retriever

NOTHING_THEN: Final = "No memory is of that time ({}). The nearest are of {}."
ONLY_THE_TIME: Final = (
    "No memory of that time ({}) is about the rest of the question, so the answer holds what is of it."
)
# A memory of the nearest day fits by so much of how near it is: it is not of the time that was asked for. Nor does one
# of that time fit better that is not about the rest of the question.
HALF_AN_ANSWER: Final = 0.5
# What is less near to a time than this, a month away or as far as the time is long, is of another time.
_NEAR: Final = 0.5


class Moments(NamedTuple):
    """Memories in the order of time, as columns: when, which, and how informative."""

    dated: Sequence[int]
    keys: Sequence[Key]
    weights: Sequence[float]


def is_near(record: Record, query: ParsedQuery) -> bool:
    """Whether a memory is of the times that a question names or of about these times: what happened is often told
    later, what was said is not.
    """
    dated, ranges = to_micros(when(record)), query.time_ranges
    if query.times is not None and query.times.of_what_was_said:
        return bool(within(dated, ranges))
    return bool(time_column(dated, ranges, 1.0).share > _NEAR)


def rank_by_time(
    source: IndexTimes,
    request: SearchRequest,
    ranges: Sequence[TimeRange],
    speakers: Collection[str] = (),
    *,
    asks_more: bool = False,
) -> tuple[list[Ranked], tuple[str, ...]]:
    """The memories of these times in their order, spread over all of it; where there is none, those of the nearest
    day, and a note that says so. `asks_more`: nothing of these times is about the rest of the question.
    """
    moments, notes = source.moments(ranges, speakers), ()
    part = HALF_AN_ANSWER if asks_more else 1.0
    if asks_more and moments.dated:
        notes = (ONLY_THE_TIME.format(described(ranges)),)
    elif not moments.dated:
        part = HALF_AN_ANSWER
        nearest = None if asks_more else source.nearest(ranges)
        if nearest is None:
            return [], notes
        day = day_of(from_micros(nearest))
        moments = source.moments([day], speakers)
        notes = (NOTHING_THEN.format(described(ranges), day.dates),)
    recipe = request.recipe
    ranked: list[Ranked] = []
    for position in spread([moment // DAY_MICROS for moment in moments.dated], moments.weights, request.limit):
        column = time_column(moments.dated[position], ranges, recipe.scale)
        explanation = Explanation(partial(explain, {"time": column}))
        # Where a time alone is asked for, a memory fits as well as its time does.
        score, fit = float(column.weight * column.share), part * float(column.share)
        ranked.append(Ranked(*moments.keys[position], score, explanation, None, fit))
    return ranked, notes


@dataclass(frozen=True, slots=True)
class IndexTimes:
    """The memories that a request may show, by their times."""

    retriever: Retriever
    partitions: Sequence[Partition]

    def knows(self, words: Collection[str]) -> bool:
        """Whether each of these words is the name of a speaker."""
        spoken = [part.snapshot.conversation for part in self.partitions if part.snapshot.conversation is not None]
        return all(any(index.knows(word) for index in spoken) for word in words)

    def _rows(self) -> Iterator[tuple[Partition, NDArray[Any]]]:
        for partition in self.partitions:
            yield partition, self.retriever.allowed_rows(partition)[0].nonzero()[0]

    def moments(self, ranges: Sequence[TimeRange], speakers: Collection[str] = ()) -> Moments:
        """Those of these times. Of speakers, what they say, where they say anything."""
        dated: list[int] = []
        keys: list[Key] = []
        weights: list[float] = []
        said: list[bool] = []
        for partition, allowed in self._rows():
            snapshot, columns = partition.snapshot, partition.snapshot.columns
            rows = allowed[within(columns.dated[allowed], ranges)]
            dated += columns.dated[rows].tolist()
            keys += ((partition.namespace, number) for number in columns.number[rows].tolist())
            words = snapshot.lexical.lengths[rows].astype(float)
            weight: Any = informativeness(columns.importance[rows], words, columns.question_share[rows])
            weights += weight.tolist()
            if speakers and snapshot.conversation is not None:
                said += snapshot.conversation.said_by(rows, speakers).tolist()
            else:
                said += [False] * len(rows)
        order = sorted(range(len(dated)), key=lambda place: (dated[place], keys[place]))
        if any(said):
            order = [place for place in order if said[place]]
        return Moments([dated[one] for one in order], [keys[one] for one in order], [weights[one] for one in order])

    def nearest(self, ranges: Sequence[TimeRange]) -> int | None:
        """The moment of the memory that is nearest to one of these times."""
        best, moment = -1.0, None
        for partition, rows in self._rows():
            dated = partition.snapshot.columns.dated[rows]
            share: Any = time_column(dated, ranges, 1.0).share
            if len(rows) and share.max() > best:
                best, moment = float(share.max()), int(dated[share.argmax()])
        return moment

    def sessions(self) -> list[Span]:
        """The sessions of all conversations, in the order of their beginnings; where there is no conversation, those of
        all memories, told by the pauses between them.
        """
        moments: dict[SessionKey, list[int]] = {}
        for partition, rows in self._rows():
            columns, groups = partition.snapshot.columns, partition.snapshot.vocabulary.groups.values
            order = rows[columns.group[rows].argsort(kind="stable")]
            codes = columns.group[order]
            edges = [0, *((codes[1:] != codes[:-1]).nonzero()[0] + 1).tolist(), len(order)]
            for first, end in pairwise(edges):
                if first == end:
                    continue
                conversation, session = groups[codes[first]] if codes[first] >= 0 else (None, None)
                dated = columns.dated[order[first:end]]
                ends = dated.tolist() if session is None else [int(dated.min()), int(dated.max())]
                moments.setdefault((partition.namespace, conversation, session), []).extend(ends)
        return sessions_of(_spoken(moments))


def _spoken(moments: dict[SessionKey, list[int]]) -> dict[SessionKey, list[int]]:
    """Those of conversations; where there is none, all."""
    return {key: given for key, given in moments.items() if key[1] is not None} or moments

"""Memories of a time, whatever they say: from the index, or from disk where there is none."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from perdure.clock import from_micros, to_micros
from perdure.model import Record
from perdure.recall.keyword_search import Key, inside
from perdure.recall.query import MOST_LOOKED_AT, SearchRequest
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
from perdure.store.paging import records
from perdure.store.port import Store
from perdure.text.preview import when
from perdure.text.question_share import question_share
from perdure.text.time_expressions import TimeRange
from perdure.visibility import is_visible

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
TOO_MANY: Final = "Only the newest {:,} memories of that time were looked at."


class Moments(NamedTuple):
    """Memories in the order of time, as columns: when, which, and how informative."""

    dated: Sequence[int]
    keys: Sequence[Key]
    weights: Sequence[float]


class TimeSource(Protocol):
    """The memories that a request may show, by their times."""

    def knows(self, words: Collection[str]) -> bool:
        """Whether each of these words is the name of a speaker."""
        ...

    def moments(self, ranges: Sequence[TimeRange], speakers: Collection[str] = ()) -> tuple[Moments, tuple[str, ...]]:
        """Those of these times, and a note when there were too many to look at. Of speakers, what they say, where they
        say anything.
        """
        ...

    def nearest(self, ranges: Sequence[TimeRange]) -> int | None:
        """The moment of the memory that is nearest to one of these times."""
        ...

    def sessions(self) -> list[Span]:
        """The sessions of all conversations, in the order of their beginnings; where there is no conversation, those of
        all memories, told by the pauses between them.
        """
        ...


def is_near(record: Record, ranges: Sequence[TimeRange]) -> bool:
    """Whether a memory is of these times or of about these times: what happened is often told later."""
    return bool(time_column(to_micros(when(record)), ranges, 1.0).share > _NEAR)


def rank_by_time(
    source: TimeSource,
    request: SearchRequest,
    ranges: Sequence[TimeRange],
    speakers: Collection[str] = (),
    *,
    asks_more: bool = False,
) -> tuple[list[Ranked], tuple[str, ...]]:
    """The memories of these times in their order, spread over all of it; where there is none, those of the nearest
    day, and a note that says so. `asks_more`: nothing of these times is about the rest of the question.
    """
    moments, notes = source.moments(ranges, speakers)
    part = HALF_AN_ANSWER if asks_more else 1.0
    if asks_more and moments.dated:
        notes = (ONLY_THE_TIME.format(described(ranges)), *notes)
    elif not moments.dated:
        part = HALF_AN_ANSWER
        nearest = None if asks_more else source.nearest(ranges)
        if nearest is None:
            return [], notes
        day = day_of(from_micros(nearest))
        moments, notes = source.moments([day], speakers)
        notes = (NOTHING_THEN.format(described(ranges), day.dates), *notes)
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
    """From the index."""

    retriever: Retriever
    partitions: Sequence[Partition]

    def knows(self, words: Collection[str]) -> bool:
        spoken = [part.snapshot.conversation for part in self.partitions if part.snapshot.conversation is not None]
        return all(any(index.knows(word) for index in spoken) for word in words)

    def _rows(self) -> Iterator[tuple[Partition, NDArray[Any]]]:
        for partition in self.partitions:
            yield partition, self.retriever.allowed_rows(partition)[0].nonzero()[0]

    def moments(self, ranges: Sequence[TimeRange], speakers: Collection[str] = ()) -> tuple[Moments, tuple[str, ...]]:
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
        moments = Moments([dated[one] for one in order], [keys[one] for one in order], [weights[one] for one in order])
        return moments, ()

    def nearest(self, ranges: Sequence[TimeRange]) -> int | None:
        best, moment = -1.0, None
        for partition, rows in self._rows():
            dated = partition.snapshot.columns.dated[rows]
            share: Any = time_column(dated, ranges, 1.0).share
            if len(rows) and share.max() > best:
                best, moment = float(share.max()), int(dated[share.argmax()])
        return moment

    def sessions(self) -> list[Span]:
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


@dataclass(frozen=True, slots=True)
class DiskTimes:
    """From disk, record by record. `unreadable` are left out."""

    store: Store
    request: SearchRequest
    unreadable: Collection[Key] = ()

    def knows(self, words: Collection[str]) -> bool:
        return not words

    def _records(self, ranges: Sequence[TimeRange] | None) -> Iterator[tuple[int, Record]]:
        request = self.request
        filters = [request.filter] if ranges is None else list(inside(request.filter, ranges))
        for namespace, name in enumerate(request.namespaces):
            for filter in filters:
                for record in records(self.store, name, filter, newest=True):
                    readable = (namespace, record.number) not in self.unreadable
                    if readable and is_visible(record, filter, request.now):
                        yield namespace, record

    def moments(self, ranges: Sequence[TimeRange], speakers: Collection[str] = ()) -> tuple[Moments, tuple[str, ...]]:
        del speakers  # Without an index nobody knows who speaks, and `knows` says so.
        rows: set[tuple[int, Key, float]] = set()
        for namespace, record in islice(self._records(ranges), MOST_LOOKED_AT):
            asking = 0.0 if record.conversation_id is None else question_share(record.text)
            weight = informativeness(record.importance, float(len(record.text.split())), asking)
            rows.add((to_micros(when(record)), (namespace, record.number), float(weight)))
        ordered = sorted(rows)
        notes = (TOO_MANY.format(MOST_LOOKED_AT),) if len(ordered) >= MOST_LOOKED_AT else ()
        moments = Moments([row[0] for row in ordered], [row[1] for row in ordered], [row[2] for row in ordered])
        return moments, notes

    def nearest(self, ranges: Sequence[TimeRange]) -> int | None:
        moments = (to_micros(when(record)) for _, record in islice(self._records(None), MOST_LOOKED_AT))
        return max(moments, key=lambda moment: time_column(moment, ranges, 1.0).share, default=None)

    def sessions(self) -> list[Span]:
        moments: dict[SessionKey, list[int]] = {}
        for namespace, record in self._records(None):
            session = record.session_id if record.conversation_id is not None else None
            moments.setdefault((namespace, record.conversation_id, session), []).append(to_micros(when(record)))
        return sessions_of(_spoken(moments))


def _spoken(moments: dict[SessionKey, list[int]]) -> dict[SessionKey, list[int]]:
    """Those of conversations; where there is none, all."""
    return {key: given for key, given in moments.items() if key[1] is not None} or moments

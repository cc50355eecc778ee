"""Every memory that the ordinary rules of recall allow, one by one: for where there is no numpy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from perdure.model import INDEXED_STATES, Filter, Record
from perdure.recall.past import Old, Past, look_back
from perdure.recall.question import Question
from perdure.recall.scope import Scope, passes
from perdure.store.port import Store

_PAGE: Final = 1024
_EVERYTHING: Final = Filter(states=INDEXED_STATES)


class Census(NamedTuple):
    """`past`: what was otherwise, when the question is about the past."""

    numbers: Sequence[int]
    past: Past | None


def census(store: Store, namespace: str, question: Question) -> Census:
    scope, when = question.scope, question.when
    filter = scope.wanted or (question.filter if when.as_of is None else _EVERYTHING)
    found = [Old(record, record.valid_at, _end(record)) for record in _pages(store, namespace, filter)]
    past = None
    if when.is_past:
        # Read after the pages, so that what changes meanwhile counts as changed.
        seq = store.position(namespace, None).seq
        known = seq if when.known_at is None else min(seq, store.seq_at(namespace, when.known_at))
        past = look_back(store, namespace, when, known)
        same = (one for one in found if one.record.number not in past.changed)
        found = [one for one in same if not _expired(one.record.expires_at, question)]
        # Of what was true then, the end is the time at which it expires.
        old = (one for one in past.old.values() if not _expired(one.until, question))
        found += (one for one in old if passes(filter, one.record))
    return Census([one.record.number for one in found if _allowed(scope, filter, one, question.moment)], past)


def _pages(store: Store, namespace: str, filter: Filter) -> Iterator[Record]:
    after = None
    while page := store.page(namespace, filter, after=after, limit=_PAGE, newest=False):
        yield from page
        after = page[-1].number


def _end(record: Record) -> datetime | None:
    return min((end for end in (record.invalid_at, record.expires_at) if end), default=None)


def _expired(end: datetime | None, question: Question) -> bool:
    """Whether it was true at the moment asked about, and is known no more."""
    return end is not None and question.moment < end <= question.known


def _allowed(scope: Scope, filter: Filter, one: Old, moment: datetime) -> bool:
    if filter.tier != "deprecated" and one.record.tier == "deprecated":
        return False
    if scope.visible and one.record.state != "active":
        return False
    begun = one.since is None or one.since <= moment
    return not scope.valid or (begun and (one.until is None or one.until > moment))

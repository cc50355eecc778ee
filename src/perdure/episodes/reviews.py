"""Reviews of episodes. Retrieving one notes a pending review, for which no reader waits; `work` applies it later, at
most once a day for each episode, as an annotation that the log shows and an undo takes back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final

from perdure.buggify import point
from perdure.clock import format_time, parse_iso_time
from perdure.episodes.forgetting import MemoryState, grade_of, reviewed
from perdure.episodes.metadata import DIFFICULTY, REVIEWED_AT, STABILITY
from perdure.lifecycle.write import Plan, apply_plan
from perdure.model import Json, Record, replace_record
from perdure.recall.signals import is_stability
from perdure.store.port import Review

if TYPE_CHECKING:
    from perdure.lifecycle.write_context import WriteBatch
    from perdure.services import Services

# An episode is reviewed once in this time at most.
REVIEW_EVERY: Final = timedelta(days=1)
_BATCH_SIZE: Final = 64
_HARDEST: Final = 10


def review_episodes(services: Services, namespace: str, batch: WriteBatch) -> int:
    """Apply the reviews that are due. One that comes too early stays pending."""
    store, now = services.store, services.context.clock()
    pending = store.pending_reviews(namespace)
    with store.read(namespace) as reader:
        records = {record.number: record for record in reader.fetch([review.number for review in pending])}
    # What is gone has nothing to wait for.
    due = iter([each for each in pending if (found := records.get(each.number)) is None or is_due(found, now)])
    done = 0
    while group := list(islice(due, _BATCH_SIZE)):
        with store.write(namespace) as writer:
            for review in group:
                [record] = writer.fetch([review.number]) or [None]
                plan = plan_review(record, review, now) if record and writer.take_review(review) else None
                if plan:
                    apply_plan(services, writer, plan, replace(batch, at=now))
                    done += 1
                    point("episode reviewed")
        point("reviews stored")
    return done


def is_due(record: Record, now: datetime) -> bool:
    before = last_review(record)
    return before is None or now - before >= REVIEW_EVERY


def last_review(record: Record) -> datetime | None:
    """None where somebody wrote something else there."""
    moment = parse_iso_time(str(record.metadata.get(REVIEWED_AT)), until=False)
    return moment if moment and moment.tzinfo else None


def state_of(metadata: Mapping[str, Json]) -> MemoryState | None:
    """None where somebody wrote something else there."""
    stability, difficulty = metadata.get(STABILITY), metadata.get(DIFFICULTY)
    if not isinstance(stability, int | float) or not isinstance(difficulty, int | float):
        return None
    return MemoryState(stability, difficulty) if is_stability(stability) and 1 <= difficulty <= _HARDEST else None


def plan_review(record: Record, review: Review, now: datetime) -> Plan | None:
    """Pure: what a review makes of an episode, or None where there is nothing to review any more."""
    state, before = state_of(record.metadata), last_review(record)
    if record.state != "active" or state is None or before is None or now - before < REVIEW_EVERY:
        return None
    opened = record.accessed_at is not None and record.accessed_at >= review.first_at
    grade = grade_of(review.rank, opened=opened)
    at = max(review.at, before + REVIEW_EVERY)
    state = reviewed(state, before, at, grade)
    metadata = {
        **record.metadata,
        STABILITY: round(state.stability, 4),
        DIFFICULTY: round(state.difficulty, 4),
        REVIEWED_AT: format_time(at),
    }
    return Plan(record, replace_record(record, metadata=metadata), "annotate", "annotated", provenance={"grade": grade})

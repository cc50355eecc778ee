"""Filters over records of any time choose what the store's own filters choose of the memories of today."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from perdure.model import STATES, Filter
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.records import NAMESPACE, remember
from perdure.tiers import PROPOSED
from perdure.visibility import matches_filter

NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)

moments = st.integers(0, 4).map(lambda days: NOON + timedelta(days=days))
maybe = st.none() | st.sampled_from(["a", "b"])
tiers = st.sampled_from(["normal", "critical", "constitutional", "deprecated"])
kinds = st.sampled_from(["research", "decision"])
tags = st.lists(st.sampled_from(["x", "y", "z"]), unique=True).map(tuple)
named = {"source_project": maybe, "spec_folder": maybe, "conversation_id": maybe}

memories: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries({
    **named,
    "tags": tags,
    "category": maybe,
    "source": st.sampled_from(["a", "b"]),
    "context_type": kinds,
    "tier": tiers,
    "state": st.sampled_from(STATES),
    "created_at": moments,
    "valid_at": st.none() | moments,
    "expires_at": st.none() | moments,
    "confidence": st.sampled_from([0.5, 0.95]),
    "validation_count": st.sampled_from([0, 7]),
    "metadata": st.sampled_from([{}, {PROPOSED: "critical"}, {PROPOSED: "nonsense"}]),
})  # fmt: skip
some = st.lists(st.sampled_from(["a", "b"]), unique=True).map(tuple)
filters = st.builds(
    Filter,
    **named,
    tags=tags,
    categories=some,
    sources=some,
    context_type=st.none() | kinds,
    tier=st.none() | tiers,
    since=st.none() | moments,
    until=st.none() | moments,
    created_since=st.none() | moments,
    created_until=st.none() | moments,
    unexpired_at=st.none() | moments,
    offered=st.booleans(),
    numbers=st.none() | st.lists(st.integers(0, 8), unique=True).map(tuple),
    states=st.lists(st.sampled_from(STATES), min_size=1, unique=True).map(tuple) | st.just(("active",)),
)


@given(st.lists(memories, max_size=6), st.lists(filters, min_size=1, max_size=8))
def test_a_record_passes_when_the_store_says_so(some_memories: list[dict[str, Any]], asked: list[Filter]):
    store = SqliteStore.open(":memory:")
    try:
        records = [remember(store, f"tea {which}", **fields) for which, fields in enumerate(some_memories)]
        for one in (*asked, Filter(), Filter(tier="constitutional"), Filter(states=STATES)):
            chosen = {record.number for record in records if matches_filter(record, one)}
            with store.read(NAMESPACE) as reader:
                assert chosen == set(reader.numbers(one))
    finally:
        store.close()

"""Filters over records of any time choose what the store's own filters choose of the memories of today."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from perdure.model import STATES, Filter, Json
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.records import NAMESPACE, remember
from perdure.tiers import PROPOSED
from perdure.validation import check_where
from perdure.visibility import matches_filter

NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)

moments = st.integers(0, 4).map(lambda days: NOON + timedelta(days=days))
maybe = st.none() | st.sampled_from(["a", "b"])
tiers = st.sampled_from(["normal", "critical", "constitutional", "deprecated"])
kinds = st.sampled_from(["research", "decision"])
tags = st.lists(st.sampled_from(["x", "y", "z"]), unique=True).map(tuple)
shares = st.sampled_from([0.0, 0.3, 0.5, 1.0])
names = st.sampled_from(["a", "a.b", "_-", "key"])
# What is equal, nearly equal, or looks alike in another type; and what SQLite holds otherwise than Python.
scalars: st.SearchStrategy[Json] = st.sampled_from([
    None, True, False, 0, 1, -0.0, 1.0, 0.1, 1e16, 10**16, 2**53, 2**53 + 1, float(2**53), 2**63 - 1, -(2**63), 2**63,
    2**70, 2**70 + 1, 1e22, 5e-324, 1.7976931348623157e308, "", "a", "A", "1", "true", "null", "é", "e\u0301", "\"'$.%",
    "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
])  # fmt: skip
entries: st.SearchStrategy[Json] = (
    scalars
    | st.lists(scalars | st.lists(scalars, max_size=1), max_size=3)
    | st.dictionaries(names, scalars, max_size=2)
)
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
    "key": st.none() | st.sampled_from(["person", "person-x", "Person", "persona", "p"]),
    "importance": shares,
    "metadata": st.sampled_from([{PROPOSED: "critical"}, {PROPOSED: "nonsense"}]) | st.dictionaries(names, entries),
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
    key_type=st.none() | st.sampled_from(["person", "p"]),
    min_importance=st.none() | shares,
    max_importance=st.none() | shares,
    where=st.dictionaries(names, scalars | st.lists(scalars, min_size=1, max_size=3), max_size=2).map(check_where),
    offered=st.booleans(),
    numbers=st.none() | st.lists(st.integers(0, 8), unique=True).map(tuple),
    states=st.lists(st.sampled_from(STATES), min_size=1, unique=True).map(tuple) | st.just(("active",)),
)


@given(st.lists(memories, max_size=6), st.lists(filters, min_size=1, max_size=8))
def test_a_record_passes_when_the_store_says_so(some_memories: list[dict[str, Any]], asked: list[Filter]):
    store = SqliteStore.open(":memory:")
    try:
        for which, fields in enumerate(some_memories):
            fields["key"] = fields["key"] and f"{fields['key']}:{which}"
        records = [remember(store, f"tea {which}", **fields) for which, fields in enumerate(some_memories)]
        for one in (*asked, Filter(), Filter(tier="constitutional"), Filter(states=STATES)):
            chosen = {record.number for record in records if matches_filter(record, one)}
            with store.read(NAMESPACE) as reader:
                assert chosen == set(reader.numbers(one))
    finally:
        store.close()

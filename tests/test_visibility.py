"""Filters over records of any time choose what the store's own filters choose of the memories of today."""

from __future__ import annotations

import io
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure import Memory
from perdure.ids import ON_REQUEST
from perdure.model import STATES, Filter, Json
from perdure.recall.index import NamespaceIndex
from perdure.recall.query import SearchRequest
from perdure.recall.recipe import BALANCED
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.records import NAMESPACE, remember
from perdure.tiers import PROPOSED
from perdure.validation import check_where
from perdure.visibility import TOLD_IN, is_visible, matches_filter

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
# The last are Perdure's own and keys that look like them.
keys = st.sampled_from([
    "person", "person-x", "Person", "persona", "p", "episode:c/0000000", "proposal:merge/0000000", "message:c/0000000",
    "episode:/0000000", "episode:a/b/0000000", "Episode:c/0000000", "episode:c/x000000", "episode:c/00000000",
    "episode:c/\u0661000000", "episodes:c/0000000", "episode",
])  # fmt: skip
named = {"source_project": maybe, "spec_folder": maybe, "conversation_id": maybe}

memories: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries({
    **named,
    "tags": tags,
    "category": maybe,
    "source": st.sampled_from(["a", "b", "import"]),
    "trust": st.sampled_from(["normal", "low"]),
    "context_type": kinds,
    "tier": tiers,
    "state": st.sampled_from(STATES),
    "created_at": moments,
    "valid_at": st.none() | moments,
    "expires_at": st.none() | moments,
    "confidence": st.sampled_from([0.5, 0.95]),
    "validation_count": st.sampled_from([0, 7]),
    "key": st.none() | keys,
    "importance": shares,
    "metadata": st.sampled_from([{PROPOSED: "critical"}, {PROPOSED: "nonsense"}])
    | st.dictionaries(names, entries)
    | st.fixed_dictionaries({TOLD_IN: entries | st.lists(st.sampled_from(["here", "/a", 1]), max_size=2)}),
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
    key_type=st.none() | st.sampled_from(["person", "p", "episode"]),
    min_importance=st.none() | shares,
    max_importance=st.none() | shares,
    where=st.dictionaries(names, scalars | st.lists(scalars, min_size=1, max_size=3), max_size=2).map(check_where),
    offered=st.booleans(),
    numbers=st.none() | st.lists(st.integers(0, 8), unique=True).map(tuple),
    hidden=st.sampled_from([(), ON_REQUEST, ON_REQUEST[:1], ON_REQUEST[1:]]),
    told_in=st.sampled_from([(), ("here",), ("here", "/a"), ("elsewhere", "/b"), ("1",)]),
    states=st.lists(st.sampled_from(STATES), min_size=1, unique=True).map(tuple) | st.just(("active",)),
)


def key_of(begin: str | None, which: int) -> str | None:
    """No two memories have the same key."""
    return None if begin is None else f"{begin}{'' if ':' in begin else ':'}{which}"


@given(st.lists(memories, max_size=6), st.lists(filters, min_size=1, max_size=8))
def test_a_record_passes_when_the_store_says_so(some_memories: list[dict[str, Any]], asked: list[Filter]):
    store = SqliteStore.open(":memory:")
    try:
        for which, fields in enumerate(some_memories):
            fields["key"] = key_of(fields["key"], which)
        records = [remember(store, f"tea {which}", **fields) for which, fields in enumerate(some_memories)]
        for one in (*asked, Filter(), Filter(tier="constitutional"), Filter(states=STATES)):
            chosen = {record.number for record in records if matches_filter(record, one)}
            with store.read(NAMESPACE) as reader:
                assert chosen == set(reader.numbers(one))
    finally:
        store.close()


@given(st.lists(memories, min_size=1, max_size=6), filters)
def test_a_search_shows_what_may_be_shown_from_memory_and_from_disk(some: list[dict[str, Any]], one: Filter):
    """The index in memory and the search on disk hide the same kinds as the rule itself."""
    store = SqliteStore.open(":memory:")
    try:
        records = [
            remember(store, f"tea {which}", **fields | dict[str, Any](key=key_of(fields["key"], which), state="active"))
            for which, fields in enumerate(some)
        ]
        filter = Filter(key_type=one.key_type, hidden=one.hidden, told_in=one.told_in)
        shown = {each.number for each in records if is_visible(each, filter, NOON) and matches_filter(each, filter)}
        with store.read(NAMESPACE) as reader:
            found = reader.keyword_search(["tea"], filter, NOON, 99).best
        assert {scored.number for scored in found} == shown
        request = SearchRequest(query="tea", namespaces=(NAMESPACE,), recipe=BALANCED, now=NOON, filter=filter)
        index = NamespaceIndex(NAMESPACE, None).filled(store.index_rows(NAMESPACE, None, 0, 99))
        visible = index.columns.number[index.visible(request)].tolist()
        assert {each.number for each in records if is_visible(each, filter, NOON)} == set(visible)
    finally:
        store.close()


@pytest.fixture
def told(memory: Memory) -> Memory:
    """What somebody said, what Perdure made of it under keys of its own, and what somebody else called an episode."""
    for key in ("message:c/00000001", "episode:c/00000001", "proposal:merge/00000001", "episode:2", None):
        memory.remember(f"Tea for two, {key}", key=key, trigger_phrases=["tea time"])
    return memory


ORDINARY = {1, 4, 5}


def numbers(answer: Iterable[Any]) -> set[int]:
    return {getattr(each, "record", each).number for each in answer}


def test_episodes_and_proposals_are_shown_only_where_they_are_asked_for(told: Memory):
    assert numbers(told.list()) == ORDINARY
    assert numbers(told.recall("tea", limit=9)) == ORDINARY
    assert numbers(told.recall(concepts=["tea", "two"], limit=9)) == ORDINARY
    assert numbers(told.context("tea").items) <= ORDINARY
    assert numbers(told.match_triggers("is it tea time?")) == ORDINARY
    assert numbers(told.summarize("tea").sources) <= ORDINARY
    assert numbers(told.summarize().sources) <= ORDINARY
    assert numbers(told.list(known_at=told.get(5).created_at)) == ORDINARY
    assert numbers(told.recall("tea", as_of=told.get(5).created_at, limit=9)) == ORDINARY
    assert numbers(told.recall("tea", recipe="learnings", limit=9)) == ORDINARY


def test_who_asks_for_a_kind_gets_it(told: Memory):
    assert numbers(told.list(key_type="episode")) == {2, 4}
    assert numbers(told.recall("tea", key_type="proposal")) == {3}
    assert numbers(told.episodes("tea")) == {2, 4}
    assert numbers(told.recall("tea", recipe="episodes", limit=9)) == ORDINARY | {2}
    assert numbers(told.context("tea", key_type="episode").items) <= {2, 4}
    assert numbers(told.summarize("tea", key_type="proposal").sources) == {3}
    assert told.get("episode:c/00000001").number == 2


def test_nothing_hides_from_those_who_keep_and_take_away(told: Memory):
    file = io.StringIO()
    assert told.export(file).written == 5
    assert numbers(told.forget(source="manual", dry_run=True).records) == {1, 2, 3, 4, 5}

"""How many memories there may be, and which of them go."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from clocks import HandClock, Ticking
from hypothesis import given, settings
from hypothesis import strategies as st
from store.behind import behind

from perdure import Memory, errors
from perdure import settings as configuration
from perdure.embed.local import LocalEmbedder
from perdure.lifecycle.capacity import choose
from perdure.model import TIERS, EvictionCandidate, Record
from perdure.store.capacity import EvictionRule, Load
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.conformance.capacity import eviction_order
from perdure.testing.embedder import WordEmbedder
from perdure.testing.records import draft, insert, read_once
from perdure.text.tokens import ESTIMATE, TokenCounter, counter_of

RULE = EvictionRule(0.3, 0.7)
START = datetime(2026, 3, 14, tzinfo=UTC)


def opened(clock: HandClock, store: Any = ":memory:", embedder: Any = "none", **rules: Any) -> Memory:
    loaded = configuration.load({}, store="unused", **rules)
    return Memory(store, embedder=embedder, settings=loaded, clock=clock, actor="ada")


@pytest.fixture
def clock() -> HandClock:
    return Ticking(START)


@pytest.fixture
def memory(clock: HandClock) -> Iterator[Memory]:
    with opened(clock) as found:
        yield found


def numbers(records: tuple[Record, ...]) -> list[int]:
    return [record.number for record in records]


# The order, and who goes: pure.

standings = st.builds(
    EvictionCandidate,
    number=st.integers(1, 10_000),
    importance=st.sampled_from([0.0, 0.1, 0.29999, 0.3, 0.5, 0.69999, 0.7, 1.0]) | st.floats(0, 1),
    tier=st.sampled_from(TIERS),
    state=st.sampled_from(["active", "superseded"]),
    tokens=st.integers(0, 50),
    last_used=st.integers(0, 5).map(lambda days: START + timedelta(days=days)),
)
crowds = st.lists(standings, max_size=30, unique_by=lambda one: one.number)
limits = st.none() | st.integers(0, 40)


def load_of(crowd: list[EvictionCandidate]) -> Load:
    return Load(len(crowd), sum(one.tokens for one in crowd), None, None)


def fits(
    crowd: list[EvictionCandidate], gone: list[EvictionCandidate], max_items: int | None, max_tokens: int | None
) -> bool:
    left = load_of([one for one in crowd if one not in gone])
    return (max_items is None or left.items <= max_items) and (max_tokens is None or left.tokens <= max_tokens)


@given(crowds)
def test_the_order_has_everyone_who_may_go_and_nobody_who_is_protected(crowd: list[EvictionCandidate]):
    ordered = eviction_order(crowd, RULE)
    assert {one.number for one in ordered} == {
        one.number for one in crowd if one.importance < 0.7 and one.tier not in {"critical", "constitutional"}
    }


@given(crowds, st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_how_the_memories_were_found(
    crowd: list[EvictionCandidate], chance: random.Random
):
    shuffled = list(crowd)
    chance.shuffle(shuffled)
    assert eviction_order(shuffled, RULE) == eviction_order(crowd, RULE)


@given(crowds)
def test_superseded_goes_before_low_importance_before_the_rest_and_inside_the_least_recently_used(
    crowd: list[EvictionCandidate],
):
    def group(one: EvictionCandidate) -> int:
        return 0 if one.state == "superseded" else 1 if one.importance < 0.3 else 2

    keys = [(group(one), one.last_used, one.number) for one in eviction_order(crowd, RULE)]
    assert keys == sorted(keys)


@given(crowds, limits, limits)
def test_those_chosen_are_the_shortest_beginning_of_the_order_that_is_enough(
    crowd: list[EvictionCandidate], max_items: int | None, max_tokens: int | None
):
    ordered = eviction_order(crowd, RULE)
    chosen = choose(ordered, load_of(crowd), max_items, max_tokens)
    if chosen is None:
        assert not fits(crowd, ordered, max_items, max_tokens)
        return
    assert chosen == ordered[: len(chosen)]
    assert fits(crowd, chosen, max_items, max_tokens)
    assert not chosen or not fits(crowd, chosen[:-1], max_items, max_tokens)


@given(crowds, limits, limits, st.integers(0, 10))
def test_a_higher_limit_never_costs_more(
    crowd: list[EvictionCandidate], max_items: int | None, max_tokens: int | None, more: int
):
    ordered, load = eviction_order(crowd, RULE), load_of(crowd)
    tight = choose(ordered, load, max_items, max_tokens)
    wider = [None if limit is None else limit + more for limit in (max_items, max_tokens)]
    loose = choose(ordered, load, *wider)
    if tight is not None:
        assert loose is not None
        assert tight[: len(loose)] == loose


@settings(max_examples=25)
@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from(TIERS), st.integers(0, 4), st.booleans()), max_size=25))
def test_the_store_gives_the_same_order_as_the_pure_function(rows: list[tuple[float, str, int, bool]]):
    store = SqliteStore.open(":memory:", clock=lambda: START)
    crowd: list[EvictionCandidate] = []
    with store.write("default") as writer:
        for importance, tier, days, superseded in rows:
            made = draft(
                f"fact {len(crowd)}",
                importance=importance,
                tier=tier,
                state="superseded" if superseded else "active",
                updated_at=START + timedelta(days=days),
            )
            made = insert(writer, made)
            used = START + timedelta(days=(made.number * 3) % 5)
            writer.touch(made.number, used)
            tokens = ESTIMATE.count(made.text)
            crowd.append(
                EvictionCandidate(made.number, importance, tier, made.state, tokens, max(made.updated_at, used))
            )
        assert writer.eviction_candidates(RULE, 1000) == eviction_order(crowd, RULE)
        assert writer.eviction_candidates(RULE, 3) == eviction_order(crowd, RULE)[:3]
    assert read_once(store, "default").eviction_candidates(RULE, 1000) == eviction_order(crowd, RULE)
    store.close()


# What a user sees.


def test_without_limits_nothing_ever_goes(memory: Memory):
    for number in range(50):
        assert memory.remember(f"fact {number}").evicted == ()
    info = memory.capacity()
    assert (info.item_count, info.max_items, info.max_tokens, info.policy["enabled"]) == (50, None, None, False)


def test_a_full_namespace_gives_up_the_least_recently_used_and_says_which(memory: Memory, clock: HandClock):
    for word in ("one", "two", "three"):
        memory.remember(word)
    memory.get(1)
    memory.capacity(max_items=3)
    done = memory.remember("four")
    assert numbers(done.evicted) == [2]
    assert done.evicted[0].state == "evicted"
    assert [record.number for record in memory.list()] == [4, 3, 1]
    with pytest.raises(errors.NotFound, match="evicted"):
        memory.get(2)


def test_what_was_just_recalled_is_not_least_recently_used(memory: Memory):
    for word in ("apple", "pear", "plum"):
        memory.remember(word)
    memory.recall("apple")
    memory.capacity(max_items=3)
    assert numbers(memory.remember("cherry").evicted) == [2]


def test_low_importance_goes_first_and_high_importance_never(memory: Memory):
    memory.remember("protected", importance=0.7)
    memory.remember("old", importance=0.5)
    memory.remember("cheap", importance=0.29)
    memory.capacity(max_items=2)
    assert numbers(memory.remember("new").evicted) == [3, 2]
    assert numbers(memory.remember("newer").evicted) == [4]
    assert memory.get(1).state == "active"


@pytest.mark.parametrize("tier", ["critical", "constitutional"])
def test_protected_tiers_never_go(memory: Memory, tier: str):
    memory.remember("a rule", tier=tier, importance=0.1)
    memory.remember("a fact", importance=0.6)
    memory.capacity(max_items=2)
    assert numbers(memory.remember("another").evicted) == [2]


def test_when_nothing_may_go_the_write_is_refused_and_nothing_changes(memory: Memory):
    memory.remember("first", importance=0.9)
    memory.remember("second", importance=0.9)
    memory.capacity(max_items=2)
    before = memory.stats().namespaces[0]
    with pytest.raises(errors.CapacityExceeded, match="may hold 2 memories and would hold 3") as refused:
        memory.remember("third")
    assert refused.value.remedy
    assert memory.stats().namespaces[0] == before
    assert memory.remember("second").outcome == "observed"


def test_the_memory_just_written_never_goes_for_itself(memory: Memory):
    memory.remember("x" * 8)
    memory.capacity(max_tokens=4)
    with pytest.raises(errors.CapacityExceeded, match="The text has 25 tokens") as refused:
        memory.remember("x" * 100)
    assert "protected" not in str(refused.value)
    assert len(memory.list(states=("active", "evicted"))) == 1


def test_a_text_that_fits_is_refused_because_of_what_is_protected(memory: Memory):
    memory.remember("x" * 8, importance=0.9)
    memory.capacity(max_tokens=4)
    with pytest.raises(errors.CapacityExceeded, match=r"may hold 4 tokens and would hold 5; .* protected"):
        memory.remember("y" * 12)


def test_tokens_are_those_of_the_current_texts(memory: Memory):
    memory.capacity(max_tokens=20)
    for version in range(30):
        memory.upsert("note:1", f"{version:02}" + "x" * 38, reasoning="because " * 50)
    assert (memory.capacity().tokens, memory.capacity().version_count) == (10, 30)


def test_tokens_are_limited_as_well_and_as_many_go_as_must(memory: Memory):
    for letter in "abcde":
        memory.remember(letter * 40)
    memory.capacity(max_tokens=50)
    done = memory.remember("f" * 100)
    assert numbers(done.evicted) == [1, 2, 3]
    assert memory.capacity().tokens == 45


def test_any_number_of_small_ones_go_for_a_large_one(memory: Memory):
    for number in range(60):
        memory.remember(f"{number:04}")
    memory.capacity(max_tokens=60)
    assert numbers(memory.remember("x" * 200).evicted) == list(range(1, 51))


def test_a_longer_version_makes_room_too(memory: Memory):
    memory.remember("a" * 40)
    memory.remember("b" * 40, key="letter:b")
    memory.capacity(max_tokens=20)
    assert numbers(memory.remember("c" * 44, key="letter:b").evicted) == [1]


def test_both_limits_hold_afterwards(memory: Memory):
    for number in range(20):
        memory.remember(f"{number:02}" * 20)
    memory.capacity(max_items=10, max_tokens=55)
    memory.remember("z" * 8)
    info = memory.capacity()
    assert (info.item_count, info.tokens) == (6, 52)


def test_a_lower_limit_evicts_nothing_by_itself(memory: Memory):
    for number in range(5):
        memory.remember(f"fact {number}")
    info = memory.capacity(max_items=2)
    assert (info.item_count, info.policy["over"]) == (5, True)
    assert numbers(memory.remember("next").evicted) == [1, 2, 3, 4]
    assert memory.capacity().policy["over"] is False


def test_the_limits_of_a_namespace_are_its_own_and_go_before_the_settings(clock: HandClock):
    with opened(clock, max_items=2) as memory:
        other = memory.namespace("other")
        other.capacity(max_items=3)
        for number in range(4):
            memory.remember(f"fact {number}")
            other.remember(f"fact {number}")
        assert (memory.capacity().item_count, other.capacity().item_count) == (2, 3)
        assert (memory.capacity().policy["own_limits"], other.capacity().policy["own_limits"]) == ([], ["max_items"])
        assert other.capacity(max_items=0).max_items == 2
        assert other.capacity(max_items=5, max_tokens=9).max_tokens == 9
        assert other.capacity(max_items=None).max_tokens == 9


@pytest.mark.parametrize("wrong", [-1, 1.5, "many", True, 10**13])
def test_a_limit_that_is_none_is_refused(memory: Memory, wrong: Any):
    with pytest.raises(errors.InvalidInput):
        memory.capacity(max_items=wrong)


def test_what_was_evicted_can_be_brought_back_and_something_else_goes(memory: Memory):
    for word in ("one", "two", "three"):
        memory.remember(word)
    memory.capacity(max_items=2)
    assert numbers(memory.remember("four").evicted) == [1, 2]
    memory.restore(1)
    assert memory.get(1).text == "one"
    assert memory.capacity().item_count == 2


def test_what_was_evicted_may_be_said_again(memory: Memory):
    memory.remember("one", key="word:one")
    memory.remember("two")
    memory.capacity(max_items=1)
    memory.remember("three")
    again = memory.remember("one", key="word:one")
    assert (again.record.number, again.record.version, again.record.state) == (4, 1, "active")


def test_the_evicted_are_written_in_the_log_with_the_write_that_pushed_them_out(memory: Memory):
    memory.remember("one")
    memory.capacity(max_items=1)
    done = memory.remember("two")
    last = memory.history(1)[-1]
    assert (last.change.operation, last.change.batch) == ("evict", done.batch)


def test_a_damaged_memory_does_not_stand_in_the_way_of_others(clock: HandClock, tmp_path: Path):
    path = tmp_path / "memory.db"
    with opened(clock, path) as memory:
        for word in ("one", "two", "three"):
            memory.remember(word)
        memory.capacity(max_items=3)
    with behind(path) as raw:
        raw.execute("UPDATE memory SET text = 'tampered' WHERE slot = (1 << 32 | 1)")
    with opened(clock, path) as memory:
        assert numbers(memory.remember("four").evicted) == [2]


def test_an_import_into_a_full_namespace_makes_room_for_itself(memory: Memory):
    for number in range(10):
        memory.remember(f"old {number}")
    memory.capacity(max_items=10)
    done = memory.import_([{"text": f"new {number}"} for number in range(8)])
    assert (done.inserted, numbers(done.evicted)) == (8, list(range(1, 9)))
    assert [record.number for record in memory.list(newest=False)] == list(range(9, 19))


def test_an_import_that_is_larger_than_the_limit_leaves_the_newest_of_it(memory: Memory):
    memory.capacity(max_items=3)
    done = memory.import_([{"text": f"new {number}"} for number in range(2000)])
    assert (done.inserted, len(done.evicted)) == (2000, 1997)
    assert [record.text for record in memory.list()] == ["new 1999", "new 1998", "new 1997"]


def test_with_no_grace_the_evicted_are_gone_with_the_write(clock: HandClock, tmp_path: Path):
    path = tmp_path / "memory.db"
    with opened(clock, path, grace_days=0, max_items=1) as memory:
        memory.remember("the canary sings")
        assert numbers(memory.remember("two").evicted) == [1]
        assert [line.record for line in memory.history(1)] == [None] * 3
        assert memory.capacity().evicted_count == 0
        with pytest.raises(errors.NotFound):
            memory.restore(1)
    assert all(b"canary" not in file.read_bytes() for file in tmp_path.iterdir())


def test_the_evicted_are_purged_when_their_grace_is_over(clock: HandClock):
    with opened(clock, max_items=1) as memory:
        memory.remember("one")
        memory.remember("two")
        clock.forward(days=29)
        assert memory.work(purge=True).purged == 0
        assert memory.capacity().evicted_count == 1
        clock.forward(days=2)
        assert memory.work(purge=True).purged == 1
        assert memory.capacity().evicted_count == 0
        assert [line.record for line in memory.history(1)] == [None] * 3


def test_the_capacity_tells_everything_that_was_asked_for(memory: Memory):
    memory.remember("a protected one", importance=0.8)
    memory.remember("b" * 40, importance=0.2)
    memory.update(2, text="c" * 44)
    info = memory.capacity(max_items=9)
    assert (info.namespace, info.item_count, info.tokens, info.version_count, info.protected) == (
        "default",
        2,
        15,
        3,
        1,
    )
    assert info.token_counter == ESTIMATE.name
    assert info.importance_range == {"lowest": 0.2, "mean": 0.5, "highest": 0.8}
    assert [one.number for one in info.eviction_order] == [2]
    assert info.eviction_order[0].last_used == memory.get(2).updated_at
    assert (info.policy["enabled"], info.policy["importance_low"], info.policy["grace_days"]) == (True, 0.3, 30)


def test_an_empty_namespace_has_a_capacity_too(memory: Memory):
    info = memory.namespace("nobody").capacity()
    assert (info.item_count, info.tokens, info.eviction_order) == (0, 0, ())


def test_reading_the_capacity_makes_no_namespace(memory: Memory):
    memory.namespace("nobody").capacity()
    assert memory.stats().namespaces == ()


# Tokens.


def test_an_embedder_that_counts_tokens_is_the_counter():
    class Counting(WordEmbedder):
        token_counter = TokenCounter("words", lambda text: len(text.split()))

    assert counter_of(Counting()).name == "words"
    with opened(HandClock(START), embedder=Counting()) as memory:
        memory.remember("four words are here")
        info = memory.capacity()
    assert (info.tokens, info.token_counter) == (4, "words")


@given(st.text(max_size=200))
def test_the_estimate_is_a_quarter_of_the_characters_and_never_less(text: str):
    assert len(text) <= 4 * ESTIMATE.count(text) < len(text) + 4


@pytest.fixture(scope="module")
def local() -> LocalEmbedder:
    return LocalEmbedder()


def test_the_local_model_counts_with_its_own_tokenizer_and_needs_no_session(local: LocalEmbedder):
    assert "MiniLM" in local.token_counter.name
    assert local.token_counter.count("The quick brown fox jumps over the lazy dog.") == 10
    assert local.token_counter.count("") == 0
    assert local._loaded is None


def test_a_long_text_is_counted_beyond_the_window_of_the_model_and_extrapolated(local: LocalEmbedder):
    sentence = "The quick brown fox jumps over the lazy dog. "
    assert local.token_counter.count(sentence * 100) == 1000
    assert local.token_counter.count(sentence * 20_000) == pytest.approx(200_000, rel=0.01)


def test_what_the_tokenizer_does_not_know_still_counts(local: LocalEmbedder):
    assert local.token_counter.count("x" * 8000) >= 1000


def test_a_tokenizer_that_cannot_be_had_leaves_the_estimate(local: LocalEmbedder, monkeypatch: pytest.MonkeyPatch):
    def broken(_: Path) -> object:
        raise OSError

    monkeypatch.setattr("perdure.embed.local.open_counter", broken)
    other = LocalEmbedder().token_counter
    assert (other.name, other.count("12345")) == ("characters / 4", 2)


def test_a_clock_that_was_wrong_at_the_eviction_does_not_end_the_grace(clock: HandClock):
    with opened(clock, max_items=1) as memory:
        memory.remember("tea")
        clock.forward(days=-400)
        memory.remember("milk")
        clock.forward(days=400)
        assert memory.work(purge=True).purged == 0
        assert memory.restore(1).record.text == "tea"
        clock.forward(days=31)
        assert memory.work(purge=True).purged == 1


def test_a_correction_that_makes_shorter_is_welcome_where_nothing_may_go(clock: HandClock):
    with opened(clock) as memory:
        memory.remember("tea, milk and a lot of sugar in a large cup", importance=0.9)
        memory.capacity(max_tokens=2)
        with pytest.raises(errors.CapacityExceeded):
            memory.update(1, text="tea, milk and a lot of sugar in a large cup, and biscuits")
        assert memory.update(1, text="tea and milk").record.text == "tea and milk"


def test_making_room_leaves_no_wish_to_rewrite_the_file(clock: HandClock, tmp_path: Path):
    with opened(clock, tmp_path / "m.db", grace_days=0, max_items=1) as memory:
        memory.remember("tea")
        assert memory.remember("milk").evicted[0].text == "tea"
        with memory._services.store._pool.reading() as connection:  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
            assert connection.execute("SELECT count(*) FROM meta WHERE name = 'scrub'").get == 0  # pyright: ignore[reportUnknownMemberType]

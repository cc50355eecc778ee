"""What time ends, and that a clock which leaps ends nothing by itself."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from clocks import HandClock
from hypothesis import given
from hypothesis import strategies as st
from store.behind import behind

from perdure import Memory, errors
from perdure import settings as configuration
from perdure.lifecycle.expiry import trusted
from perdure.testing.buggify import Buggified, buggified

START = datetime(2026, 3, 14, tzinfo=UTC)
DAY = timedelta(days=1)


def opened(clock: HandClock, store: Any = ":memory:", **rules: object) -> Memory:
    return Memory(
        store, embedder="none", settings=configuration.load({}, store="unused", **rules), clock=clock, actor="ada"
    )


@pytest.fixture
def clock() -> HandClock:
    return HandClock(START)


@pytest.fixture
def memory(clock: HandClock) -> Iterator[Memory]:
    with opened(clock) as found:
        yield found


def states(memory: Memory) -> dict[int, str]:
    every = ("active", "superseded", "expired", "evicted", "deleted")
    return {record.number: record.state for record in memory.list(states=every, newest=False)}


# The clock that is trusted: pure.

hours = st.integers(-2000, 2000).map(lambda count: START + timedelta(hours=count))
times = st.lists(hours, max_size=60)


@given(hours, times, hours)
def test_trusted_time_never_goes_back_nor_beyond_now(start: datetime, traces: list[datetime], now: datetime):
    found = trusted(start, traces, now, DAY)
    assert start <= found <= max(start, now)


@given(hours, times, hours)
def test_every_step_of_trusted_time_is_a_day_at_most(start: datetime, traces: list[datetime], now: datetime):
    found = trusted(start, traces, now, DAY)
    steps = sorted({start, found, *(moment for moment in (*traces, now) if start < moment < found)})
    assert all(after - before <= DAY for before, after in pairwise(steps))


@given(hours, times, hours)
def test_trusted_time_goes_as_far_as_it_can(start: datetime, traces: list[datetime], now: datetime):
    found = trusted(start, traces, now, DAY)
    assert not any(found < moment <= min(now, found + DAY) for moment in (*traces, now))


@given(hours, times, hours, st.randoms(use_true_random=False))
def test_the_order_of_the_traces_does_not_matter(start: datetime, traces: list[datetime], now: datetime, chance: Any):
    shuffled = list(traces)
    chance.shuffle(shuffled)
    assert trusted(start, shuffled, now, DAY) == trusted(start, traces, now, DAY)


@given(hours, times, hours, hours)
def test_more_traces_never_trust_less(start: datetime, traces: list[datetime], now: datetime, one: datetime):
    assert trusted(start, [*traces, one], now, DAY) >= trusted(start, traces, now, DAY)


def test_traces_from_the_future_do_not_keep_time_from_going_on():
    assert trusted(START, [START + 9 * DAY], START + DAY, DAY) == START + DAY


# What a user sees.


def test_daily_use_expires_what_is_due_without_asking(memory: Memory, clock: HandClock):
    memory.remember("gone in a week", tier="temporary")
    for day in range(7):
        assert memory.work().expired == 0
        clock.forward(days=1)
        memory.remember(f"day {day}")
    worked = memory.work()
    assert (worked.expired, worked.held) == (1, 0)
    assert states(memory)[1] == "expired"
    line = memory.history(1)[-1].change
    assert (line.operation, line.actor) == ("expire", "ada")


def test_a_store_that_is_only_looked_after_every_day_expires_too(memory: Memory, clock: HandClock):
    memory.remember("gone in a week", tier="temporary")
    for _ in range(7):
        assert memory.work().expired == 0
        clock.forward(hours=24)
    assert memory.work().expired == 1


def test_writing_every_day_is_enough_for_a_single_run_at_the_end(memory: Memory, clock: HandClock):
    memory.remember("gone in a week", tier="temporary")
    for day in range(8):
        clock.forward(hours=23)
        memory.namespace("other").remember(f"day {day}")
    assert memory.work().expired == 1


def test_a_clock_that_jumps_a_year_expires_nothing_until_somebody_says_it_is_right(memory: Memory, clock: HandClock):
    memory.remember("gone in a week", tier="temporary")
    memory.remember("gone in ninety days", tier="normal")
    memory.work()
    clock.forward(days=365)
    for _ in range(3):
        worked = memory.work()
        assert (worked.expired, worked.held) == (0, 2)
        assert "perdure work --expire" in " ".join(worked.notes)
        assert states(memory) == {1: "active", 2: "active"}
    worked = memory.work(expire=True)
    assert (worked.expired, worked.held) == (2, 0)
    assert states(memory) == {1: "expired", 2: "expired"}


def test_writing_after_the_leap_does_not_make_it_right(memory: Memory, clock: HandClock):
    memory.remember("gone in a week", tier="temporary")
    clock.forward(days=365)
    for day in range(3):
        memory.remember(f"after the leap {day}")
        clock.forward(hours=12)
        assert memory.work().expired == 0


def test_a_clock_that_comes_back_finds_everything_as_it_was(memory: Memory, clock: HandClock):
    memory.remember("gone in a week", tier="temporary")
    clock.forward(days=365)
    memory.remember("written in the wrong year")
    memory.work()
    clock.forward(days=-365)
    worked = memory.work()
    assert (worked.expired, worked.held) == (0, 0)
    assert memory.get(1).state == "active"
    for _ in range(7):
        clock.forward(days=1)
        memory.remember(f"a day later {clock.now}")
    assert memory.work().expired == 1


def test_a_leap_that_was_confirmed_by_mistake_is_not_believed_when_the_clock_is_back(memory: Memory, clock: HandClock):
    memory.remember("a first word")
    clock.forward(days=3650)
    memory.work(expire=True)
    clock.forward(days=-3650)
    memory.remember("gone in a week", tier="temporary")
    assert memory.work().expired == 0
    clock.forward(days=100)
    assert memory.work().expired == 0


def test_a_leap_to_before_a_mistaken_confirmation_is_a_leap_all_the_same(memory: Memory, clock: HandClock):
    memory.remember("a first word")
    clock.forward(days=3650)
    memory.work(expire=True)
    clock.forward(days=-3650)
    memory.remember("gone in a week", tier="temporary")
    clock.forward(days=365)
    worked = memory.work()
    assert (worked.expired, worked.held) == (0, 1)


def test_a_clock_that_goes_backwards_expires_nothing(memory: Memory, clock: HandClock):
    memory.remember("gone in a week", tier="temporary")
    memory.work()
    clock.forward(days=-400)
    assert memory.work(expire=True).expired == 0


def test_after_a_confirmed_leap_time_goes_on_from_there(memory: Memory, clock: HandClock):
    memory.remember("a first word")
    clock.forward(days=365)
    memory.work(expire=True)
    memory.remember("gone in a week", tier="temporary")
    for _ in range(7):
        clock.forward(days=1)
        memory.work()
    assert states(memory)[2] == "expired"


def test_nothing_expires_when_asked_not_to(memory: Memory, clock: HandClock):
    memory.remember("gone soon", expires_at="2026-03-14T12:00:00Z")
    clock.forward(hours=13)
    worked = memory.work(expire=False)
    assert (worked.expired, worked.held, states(memory)) == (0, 0, {1: "active"})
    assert memory.work().expired == 1


def test_what_is_due_is_hidden_from_every_read_before_anybody_works(memory: Memory, clock: HandClock):
    memory.remember("the canary sings", tier="temporary")
    memory.remember("the rule of the canary", tier="constitutional", expires_at="2026-03-21")
    memory.import_([{"text": "the canary was proposed", "tier": "constitutional", "expires_at": "2026-03-21"}])
    assert (len(memory.recall("canary")), len(memory.list()), len(memory.offers())) == (3, 3, 1)
    clock.forward(days=7)
    assert len(memory.recall("canary")) == 0
    assert len(memory.recall("canary").constitutional) == 0
    assert (len(memory.list()), len(memory.offers())) == (0, 0)
    assert memory.constitution().records == ()
    with pytest.raises(errors.NotFound, match="expired on 2026-03-21"):
        memory.get(1)


@pytest.mark.parametrize("worked", [True, False])
def test_an_expired_memory_can_be_brought_back_and_stays(memory: Memory, clock: HandClock, worked: bool):
    memory.remember("the canary sings", tier="temporary")
    clock.forward(days=8)
    if worked:
        assert memory.work(expire=True).expired == 1
    assert memory.restore(1).record.expires_at is None
    assert memory.get(1).state == "active"
    assert memory.work(expire=True).expired == 0
    assert len(memory.recall("canary")) == 1


@pytest.mark.parametrize("worked", [True, False])
def test_what_expired_may_be_said_again(memory: Memory, clock: HandClock, worked: bool):
    memory.remember("the canary sings", tier="temporary")
    clock.forward(days=8)
    if worked:
        memory.work(expire=True)
    memory.remember("the canary sings")
    assert len(memory.recall("canary")) == 1


def test_every_namespace_is_looked_after_in_one_batch(memory: Memory, clock: HandClock):
    memory.remember("ours", tier="temporary")
    memory.namespace("other").remember("theirs", tier="temporary")
    clock.forward(days=8)
    assert memory.work(expire=True).expired == 2
    lines = [space.history(1)[-1].change for space in (memory, memory.namespace("other"))]
    assert {line.operation for line in lines} == {"expire"}
    assert len({line.batch for line in lines}) == 1


def test_more_than_one_page_expires_in_one_run(memory: Memory, clock: HandClock):
    for number in range(600):
        memory.remember(f"fact {number}", tier="temporary")
    clock.forward(days=8)
    worked = memory.work()
    assert (worked.expired, worked.held) == (0, 600)
    assert memory.work(expire=True).expired == 600


def test_purging_waits_for_a_clock_that_can_be_trusted_as_well(clock: HandClock):
    with opened(clock, max_items=1) as memory:
        memory.remember("one")
        memory.remember("two")
        clock.forward(days=400)
        worked = memory.work()
        assert (worked.purged, worked.held) == (0, 1)
        assert memory.restore(1).record.text == "one"


def test_a_purge_empties_the_files(clock: HandClock, tmp_path: Path):
    with opened(clock, tmp_path / "memory.db", max_items=1) as memory:
        memory.remember("the canary sings")
        memory.remember("two")
        clock.forward(days=31)
        worked = memory.work(expire=True)
        assert worked.purged == 1
        assert not any("erased" in note for note in worked.notes)
        assert all(b"canary" not in file.read_bytes() for file in tmp_path.iterdir())


def test_without_versioning_an_expired_memory_keeps_only_its_last_words(clock: HandClock):
    with opened(clock, versioning=False) as memory:
        memory.remember("the canary sings", tier="temporary")
        clock.forward(days=8)
        memory.work(expire=True)
        assert [line.record is None for line in memory.history(1)] == [True, False]
        assert memory.restore(1).record.text == "the canary sings"


def test_a_damaged_memory_stays_while_the_others_expire(clock: HandClock, tmp_path: Path):
    path = tmp_path / "memory.db"
    with opened(clock, path) as memory:
        for word in ("one", "two", "three"):
            memory.remember(word, tier="temporary")
    with behind(path) as raw:
        raw.execute("UPDATE memory SET text = 'tampered' WHERE slot = (1 << 32 | 2)")
    clock.forward(days=8)
    with opened(clock, path) as memory:
        assert memory.work(expire=True).expired == 2


@pytest.mark.parametrize("label", ["expire: put", "purge: erased"])
def test_a_run_that_dies_in_the_middle_leaves_old_or_new_and_can_be_repeated(
    clock: HandClock, tmp_path: Path, label: str
):
    path = tmp_path / "memory.db"
    with opened(clock, path) as memory:
        memory.remember("one", tier="temporary")
        memory.remember("two", tier="temporary")
        memory.remember("three")
        memory.capacity(max_items=3)
        memory.remember("four", importance=0.9)
    clock.forward(days=100)
    with opened(clock, path) as memory, pytest.raises(Buggified), buggified(label):
        memory.work(expire=True)
    with opened(clock, path) as memory:
        memory.work(expire=True)
        assert not [finding for finding in memory.doctor() if finding.level == "problem"]
        assert states(memory) == {2: "expired", 3: "active", 4: "active"}


@pytest.mark.parametrize("wrong", [{"expire": "yes"}, {"expire": 1}, {"limit": -1}, {"limit": "all"}])
def test_odd_orders_are_refused(memory: Memory, wrong: dict[str, Any]):
    with pytest.raises(errors.InvalidInput):
        memory.work(**wrong)


def test_a_note_about_the_clock_that_makes_no_sense_is_as_none(memory: Memory, clock: HandClock):
    memory.remember("gone in a week", tier="temporary")
    memory._services.store.put_note("clock", "half past noon")
    clock.forward(days=8)
    assert memory.work().held == 1


def test_a_grace_of_ages_is_no_error(clock: HandClock):
    with opened(clock, max_items=1, grace_days=10**12) as memory:
        memory.remember("one")
        memory.remember("two")
        assert memory.work(expire=True).purged == 0


def test_what_was_true_before_it_expired_was_true_all_the_same(clock: HandClock):
    with opened(clock) as memory:
        memory.upsert("city:alice", "Alice lives in Osaka", tier="temporary")
        asked = clock.forward(days=1)
        clock.forward(days=10)
        assert memory.work(expire=True).expired == 1
        memory.upsert("city:alice", "Alice lives in Tokyo")
        assert [hit.record.text for hit in memory.recall("Alice", as_of=asked)] == ["Alice lives in Osaka"]

"""What time ends, and that a clock which leaps destroys nothing by itself."""

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


def opened(clock: HandClock, store: Any = ":memory:", **rules: Any) -> Memory:
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
    assert start <= trusted(start, traces, now) <= max(start, now)


@given(hours, times, hours)
def test_trusted_time_ends_before_a_gap_that_too_little_follows(start: datetime, traces: list[datetime], now: datetime):
    found = trusted(start, traces, now)
    after = sorted({moment for moment in (*traces, now) if found < moment <= now})
    if after:
        assert after[0] - found > DAY
        assert sum((min(then - before, DAY) for before, then in pairwise(after)), timedelta()) < 7 * DAY


@given(hours, times, hours)
def test_steps_of_a_day_are_always_trusted(start: datetime, traces: list[datetime], now: datetime):
    found = trusted(start, traces, now)
    assert not any(found < moment <= min(now, found + DAY) for moment in (*traces, now))


@given(hours, times, hours, st.randoms(use_true_random=False))
def test_the_order_of_the_traces_does_not_matter(start: datetime, traces: list[datetime], now: datetime, chance: Any):
    shuffled = list(traces)
    chance.shuffle(shuffled)
    assert trusted(start, shuffled, now) == trusted(start, traces, now)


@given(hours, times, hours, hours)
def test_more_traces_never_trust_less(start: datetime, traces: list[datetime], now: datetime, one: datetime):
    assert trusted(start, [*traces, one], now) >= trusted(start, traces, now)


def test_traces_from_the_future_do_not_keep_time_from_going_on():
    assert trusted(START, [START + 9 * DAY], START + DAY) == START + DAY


def test_a_gap_is_bridged_by_a_week_and_two_leaps_prove_nothing():
    gap = START + 365 * DAY
    daily = [gap + day * DAY for day in range(8)]
    assert trusted(START, daily[:-1], daily[-1]) == daily[-1]
    assert trusted(START, daily[:-2], daily[-1] - timedelta(hours=1)) == START
    assert trusted(START, [gap, gap + 365 * DAY], gap + 730 * DAY) == START


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


def test_after_a_pause_what_is_due_is_hidden_and_waits_until_the_clock_is_confirmed(memory: Memory, clock: HandClock):
    """A weekend, a holiday, a year: nobody sees it, and it is marked as expired later."""
    memory.remember("gone in a week", tier="temporary")
    memory.remember("gone in ninety days", tier="normal")
    memory.work()
    for days, held, shown in ((3, 0, 2), (5, 1, 1), (365, 2, 0)):
        clock.forward(days=days)
        worked = memory.work()
        assert (worked.expired, worked.held, len(memory.list())) == (0, held, shown)
        assert ("past expiry and hidden" in " ".join(worked.notes)) == (held > 0)
    assert memory.work(purge=False).held == 2
    worked = memory.work(purge=True)
    assert (worked.expired, worked.held, worked.notes) == (2, 0, ())
    assert states(memory) == {1: "expired", 2: "expired"}
    assert memory.restore(1).record.state == "active"


def test_expiring_goes_on_by_itself_when_a_week_of_writes_has_followed_a_pause(memory: Memory, clock: HandClock):
    memory.remember("gone in a week", tier="temporary")
    clock.forward(days=30)
    expired: list[int] = []
    for day in range(9):
        memory.remember(f"day {day}")
        expired.append(memory.work().expired)
        clock.forward(days=1)
    assert expired == [0, 0, 0, 0, 0, 0, 0, 1, 0]


@pytest.mark.parametrize("days", [2, 365, 3650])
def test_a_clock_that_leaps_expires_nothing_and_shows_everything_again_when_it_comes_back(
    memory: Memory, clock: HandClock, days: int
):
    memory.remember("gone in a week", tier="temporary")
    memory.remember("gone soon", expires_at=START + timedelta(days=1))
    memory.work()
    clock.forward(days=days)
    for _ in range(3):
        memory.remember("written in the wrong year")
        worked = memory.work()
        assert worked.expired == 0
        assert worked.held == (1 if days < 7 else 2)
    clock.forward(days=-days)
    assert memory.work().held == 0
    assert states(memory) == {1: "active", 2: "active", 3: "active"}
    assert {1, 2} <= {record.number for record in memory.list()}


def test_what_was_written_while_the_clock_was_behind_is_not_expired_when_it_is_right_again(
    memory: Memory, clock: HandClock
):
    clock.forward(days=-3650)
    memory.remember("gone in a week", tier="temporary")
    memory.work()
    clock.forward(days=3650)
    worked = memory.work()
    assert (worked.expired, worked.held) == (0, 1)
    assert memory.restore(1).record.expires_at is None
    assert len(memory.list()) == 1


def evicted(clock: HandClock) -> Memory:
    """A memory that has evicted its first."""
    memory = opened(clock, max_items=1)
    memory.remember("one")
    memory.remember("two")
    return memory


def test_a_clock_that_jumps_a_year_purges_nothing_until_somebody_says_it_is_right(clock: HandClock):
    with evicted(clock) as memory:
        memory.work()
        clock.forward(days=365)
        for _ in range(3):
            worked = memory.work()
            assert (worked.purged, worked.held) == (0, 1)
            assert "perdure work --purge" in " ".join(worked.notes)
        assert memory.capacity().evicted_count == 1
        worked = memory.work(purge=True)
        assert (worked.purged, worked.held) == (1, 0)
        assert "purge" not in " ".join(worked.notes)


def test_purging_goes_on_by_itself_when_a_week_of_writes_has_followed_a_pause(clock: HandClock):
    with evicted(clock) as memory:
        clock.forward(days=31)
        purged: list[int] = []
        for _ in range(9):
            memory.update(2, add_tags=[f"{clock.now:%d-%m}"])
            purged.append(memory.work().purged)
            clock.forward(days=1)
        assert purged == [0, 0, 0, 0, 0, 0, 0, 1, 0]


def test_who_works_from_monday_to_friday_loses_what_was_evicted_in_time(clock: HandClock):
    with evicted(clock) as memory:
        purged: list[int] = []
        for day in range(49):
            if day % 7 < 5:
                memory.update(2, add_tags=[f"day {day}"])
                purged.append(memory.work().purged)
            clock.forward(days=1)
        assert sum(purged) == 1
        assert 30 <= purged.index(1) * 7 / 5 <= 45


def test_writing_for_a_day_or_two_after_the_leap_does_not_make_it_right(clock: HandClock):
    with evicted(clock) as memory:
        clock.forward(days=365)
        for half_day in range(5):
            memory.update(2, add_tags=[f"after the leap {half_day}"])
            clock.forward(hours=12)
            assert memory.work().purged == 0


def test_a_clock_that_comes_back_destroyed_nothing(clock: HandClock):
    with evicted(clock) as memory:
        memory.namespace("other").remember("gone in a week", tier="temporary")
        clock.forward(days=365)
        memory.update(2, add_tags=["written in the wrong year"])
        worked = memory.work()
        assert (worked.expired, worked.purged, worked.held) == (0, 0, 2)
        clock.forward(days=-365)
        worked = memory.work()
        assert (worked.expired, worked.purged, worked.held) == (0, 0, 0)
        assert memory.namespace("other").get(1).state == "active"
        for _ in range(31):
            clock.forward(days=1)
            memory.update(2, add_tags=[f"{clock.now:%d-%m}"])
        assert memory.work().purged == 1


def test_a_leap_to_before_a_mistaken_confirmation_is_a_leap_all_the_same(clock: HandClock):
    with opened(clock, max_items=1) as memory:
        memory.remember("one")
        clock.forward(days=3650)
        memory.work(purge=True)
        clock.forward(days=-3650)
        memory.remember("two")
        clock.forward(days=365)
        worked = memory.work()
        assert (worked.purged, worked.held) == (0, 1)


def test_after_a_confirmed_leap_time_goes_on_from_there(clock: HandClock):
    with opened(clock, max_items=1) as memory:
        memory.remember("one")
        clock.forward(days=365)
        memory.work(purge=True)
        memory.remember("two")
        purged: list[int] = []
        for _ in range(31):
            clock.forward(days=1)
            purged.append(memory.work().purged)
        assert sum(purged[:29]) == 0
        assert sum(purged) == 1


def test_a_clock_that_goes_backwards_expires_nothing(memory: Memory, clock: HandClock):
    memory.remember("gone in a week", tier="temporary")
    memory.work()
    clock.forward(days=-400)
    assert memory.work(purge=True).expired == 0


def test_nothing_is_purged_when_asked_not_to(clock: HandClock):
    with evicted(clock) as memory:
        clock.forward(days=31)
        worked = memory.work(purge=False)
        assert (worked.purged, worked.held) == (0, 0)
        assert memory.work(purge=True).purged == 1


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
        assert memory.work(purge=True).expired == 1
    assert memory.restore(1).record.expires_at is None
    assert memory.get(1).state == "active"
    assert memory.work().expired == 0
    assert len(memory.recall("canary")) == 1


@pytest.mark.parametrize("worked", [True, False])
def test_what_expired_may_be_said_again(memory: Memory, clock: HandClock, worked: bool):
    memory.remember("the canary sings", tier="temporary")
    clock.forward(days=8)
    if worked:
        memory.work(purge=True)
    memory.remember("the canary sings")
    assert len(memory.recall("canary")) == 1


def test_every_namespace_is_looked_after_in_one_batch(memory: Memory, clock: HandClock):
    memory.remember("ours", tier="temporary")
    memory.namespace("other").remember("theirs", tier="temporary")
    clock.forward(days=8)
    assert memory.work(purge=True).expired == 2
    lines = [space.history(1)[-1].change for space in (memory, memory.namespace("other"))]
    assert {line.operation for line in lines} == {"expire"}
    assert len({line.batch for line in lines}) == 1


def test_more_than_one_page_expires_in_one_run(memory: Memory, clock: HandClock):
    for number in range(600):
        memory.remember(f"fact {number}", tier="temporary")
    clock.forward(days=8)
    assert memory.work(purge=True).expired == 600


def test_a_purge_empties_the_files(clock: HandClock, tmp_path: Path):
    with opened(clock, tmp_path / "memory.db", max_items=1) as memory:
        memory.remember("the canary sings")
        memory.remember("two")
        clock.forward(days=31)
        worked = memory.work(purge=True)
        assert worked.purged == 1
        assert not any("erased" in note for note in worked.notes)
        assert all(b"canary" not in file.read_bytes() for file in tmp_path.iterdir())


def test_without_versioning_an_expired_memory_keeps_only_its_last_words(clock: HandClock):
    with opened(clock, versioning=False) as memory:
        memory.remember("the canary sings", tier="temporary")
        clock.forward(days=8)
        memory.work(purge=True)
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
        assert memory.work(purge=True).expired == 2


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
        memory.work(purge=True)
    with opened(clock, path) as memory:
        memory.work(purge=True)
        assert not [finding for finding in memory.doctor() if finding.level == "problem"]
        assert states(memory) == {2: "expired", 3: "active", 4: "active"}


@pytest.mark.parametrize("wrong", [{"purge": "yes"}, {"purge": 1}, {"limit": -1}, {"limit": "all"}])
def test_odd_orders_are_refused(memory: Memory, wrong: dict[str, Any]):
    with pytest.raises(errors.InvalidInput):
        memory.work(**wrong)


def test_a_note_about_the_clock_that_makes_no_sense_is_as_none(clock: HandClock):
    with evicted(clock) as memory:
        memory._services.store.put_note("clock", "half past noon")
        clock.forward(days=31)
        assert memory.work().held == 1


def test_a_grace_of_ages_is_no_error(clock: HandClock):
    with opened(clock, max_items=1, grace_days=10**12) as memory:
        memory.remember("one")
        memory.remember("two")
        assert memory.work(purge=True).purged == 0


def test_what_was_true_before_it_expired_was_true_all_the_same(clock: HandClock):
    with opened(clock) as memory:
        memory.upsert("city:alice", "Alice lives in Osaka", tier="temporary")
        asked = clock.forward(days=1)
        clock.forward(days=10)
        assert memory.work(purge=True).expired == 1
        memory.upsert("city:alice", "Alice lives in Tokyo")
        assert [hit.record.text for hit in memory.recall("Alice", as_of=asked)] == ["Alice lives in Osaka"]

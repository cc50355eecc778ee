"""How long a provider that failed is left alone, by a clock of the test's."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import ProviderUnavailable
from perdure.providers.breaker import LONGEST_REST, LONGEST_RETRY_AFTER, Breaker

SLOW = ProviderUnavailable("too slow")


class Time:
    def __init__(self) -> None:
        self.now = 1000.0
        self.chance = 0.0

    def breaker(self) -> Breaker:
        return Breaker(lambda: self.now, lambda: self.chance)


@pytest.fixture
def time() -> Time:
    return Time()


def test_it_is_closed_until_something_fails(time: Time):
    breaker = time.breaker()
    assert [breaker.admit(2) for _ in range(3)] == [0, 0, 0]
    breaker.succeed()
    assert breaker.admit(2) == 0
    assert breaker.last_error is None


def test_a_failure_opens_it_and_it_remembers_which(time: Time):
    breaker = time.breaker()
    breaker.fail(SLOW)
    assert breaker.admit(2) == 2
    assert breaker.last_error is SLOW


def test_each_further_failure_doubles_the_rest_up_to_half_a_minute(time: Time):
    breaker = time.breaker()
    rests: list[float] = []
    for _ in range(7):
        assert breaker.admit(1) == 0
        breaker.fail(SLOW)
        rests.append(breaker.admit(1))
        time.now += rests[-1]
    assert rests == [2, 4, 8, 16, 30, 30, 30]


def test_chance_takes_up_to_half_of_the_rest_so_that_processes_do_not_come_back_together(time: Time):
    time.chance = 0.999
    breaker = time.breaker()
    breaker.fail(SLOW)
    assert breaker.admit(1) == pytest.approx(1, abs=0.01)


def test_when_the_rest_is_over_one_request_tries_and_the_others_still_fail_at_once(time: Time):
    breaker = time.breaker()
    breaker.fail(SLOW)
    time.now += 2
    assert breaker.admit(5) == 0
    assert breaker.admit(5) == 5
    breaker.succeed()
    assert [breaker.admit(5), breaker.admit(5)] == [0, 0]


def test_a_try_whose_end_nobody_tells_does_not_keep_it_open_for_ever(time: Time):
    breaker = time.breaker()
    breaker.fail(SLOW)
    time.now += 2
    assert breaker.admit(5) == 0
    time.now += 5
    assert breaker.admit(5) == 0


def test_requests_that_fail_together_are_one_failure(time: Time):
    breaker = time.breaker()
    assert [breaker.admit(2) for _ in range(8)] == [0] * 8
    for _ in range(8):
        breaker.fail(SLOW)
    assert breaker.admit(2) == 2
    time.now += 2
    breaker.admit(2)
    breaker.fail(SLOW)
    assert breaker.admit(2) == 4


@pytest.mark.parametrize(("wanted", "rest"), [(0, 2), (1, 2), (10, 10), (59, 59), (3600, 60), (1e300, 60)])
def test_what_the_server_wants_is_honoured_up_to_a_minute(time: Time, wanted: float, rest: float):
    breaker = time.breaker()
    breaker.fail(SLOW, retry_after=wanted)
    assert breaker.admit(1) == rest


def test_success_forgets_all_failures(time: Time):
    breaker = time.breaker()
    for _ in range(5):
        breaker.fail(SLOW)
        time.now += 60
        breaker.admit(1)
    breaker.succeed()
    breaker.fail(SLOW)
    assert breaker.admit(1) == 2


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["admit", "fail", "succeed", "wait"]), st.integers(0, 100), st.sampled_from([0, 0.5, 1])
        ),
        max_size=40,
    )
)
def test_whatever_happens_it_opens_again_within_a_minute(steps: list[tuple[str, float, float]]):
    time = Time()
    breaker = time.breaker()
    for step, amount, chance in steps:
        time.chance = chance
        if step == "admit":
            assert 0 <= breaker.admit(min(amount, 30)) <= max(LONGEST_REST, LONGEST_RETRY_AFTER)
        elif step == "fail":
            breaker.fail(SLOW, retry_after=amount)
        elif step == "succeed":
            breaker.succeed()
        else:
            time.now += amount
    time.now += LONGEST_RETRY_AFTER
    assert breaker.admit(1) == 0


def test_of_many_threads_one_tries(time: Time):
    breaker = time.breaker()
    breaker.fail(SLOW)
    time.now += 2
    admitted: list[float] = []
    threads = [threading.Thread(target=lambda: admitted.append(breaker.admit(5))) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert admitted.count(0) == 1

"""What background work may send in a day: a policy over the calls that were made, without a store or a server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import BudgetExceeded
from perdure.providers.budget import Budget, background, day_of, is_background
from perdure.providers.call import ProviderCall

NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)
MODEL = "openai:text-embedding-3-small"
PRICES = {MODEL: {"input": 0.02}, "openai:gpt-5-mini": {"input": 0.25, "output": 2.0}}
CALL = ProviderCall(
    at=NOON, provider="openai", model="text-embedding-3-small", host="api.openai.com", purpose="embed passages",
    items=50, sent_bytes=4000, received_bytes=0, input_tokens=1000,
)  # fmt: skip


@given(used=st.integers(0, 10**7), wanted=st.integers(0, 10**6), most=st.integers(1, 10**7))
def test_background_work_never_goes_beyond_its_tokens(used: int, wanted: int, most: int):
    budget = Budget(daily_tokens=most, prices={})
    try:
        budget.check(replace(CALL, input_tokens=wanted), used, 0.0)
    except BudgetExceeded:
        assert used + wanted > most
    else:
        assert used + wanted <= most


def test_a_budget_that_is_used_up_says_when_it_goes_on():
    with pytest.raises(BudgetExceeded) as refused:
        Budget(daily_tokens=10_000, prices={}).check(CALL, 9_500, 0.0)
    assert refused.value.sentence == (
        "Background work stops for today: 9,500 of 10,000 tokens are used, and the next request needs about 1,000."
    )
    assert "2026-03-15 00:00 UTC" in refused.value.remedy
    assert refused.value.retry_after == 12 * 3600
    assert refused.value.retryable


def test_a_cost_is_by_the_million_and_by_the_model():
    budget = Budget(prices=PRICES)
    assert budget.cost_of(CALL) == pytest.approx(0.00002)
    asked = replace(CALL, model="gpt-5-mini", input_tokens=400_000, output_tokens=100_000)
    assert budget.cost_of(asked) == pytest.approx(0.1 + 0.2)
    assert budget.cost_of(replace(CALL, model="gpt-9")) is None


def test_a_model_without_a_price_is_not_asked_where_a_cost_is_set():
    with pytest.raises(BudgetExceeded, match="What openai:gpt-9 costs is not known") as refused:
        Budget(daily_cost=1.0, prices=PRICES).check(replace(CALL, model="gpt-9"), 0, 0.0)
    assert 'prices = {"openai:gpt-9" = {input = 0.1, output = 0.4}}' in refused.value.remedy


def test_a_cost_that_is_reached_stops_background_work():
    budget = Budget(daily_cost=0.001, prices=PRICES)
    budget.check(CALL, 10**9, 0.00098)
    with pytest.raises(BudgetExceeded, match=r"0\.0010 of 0\.001 is spent"):
        budget.check(CALL, 0, 0.00099)


def test_without_limits_nothing_is_refused_whatever_it_costs():
    Budget(prices={}).check(replace(CALL, input_tokens=10**12), 10**12, 10**9)


def test_only_what_happens_inside_is_background_work():
    assert not is_background()
    with background():
        assert is_background()
        with background():
            pass
        assert is_background()
    assert not is_background()


@pytest.mark.parametrize(
    ("zone_name", "moment", "hours"),
    [
        ("UTC", "2026-03-14T00:00:00+00:00", 24),
        ("Asia/Tokyo", "2026-03-14T15:00:00+00:00", 24),
        ("Europe/Berlin", "2026-03-29T10:00:00+00:00", 23),
        ("Europe/Berlin", "2026-10-25T00:30:00+00:00", 25),
        ("Pacific/Chatham", "2026-07-01T12:00:00+00:00", 24),
    ],
)
def test_a_day_is_a_calendar_day_of_the_place_where_the_process_runs(
    zone: Callable[[str], None], zone_name: str, moment: str, hours: int
):
    zone(zone_name)
    now = datetime.fromisoformat(moment)
    first, following = day_of(now)
    assert first <= now < following
    assert following - first == timedelta(hours=hours)
    assert day_of(following)[0] == following
    assert (first.astimezone().hour, following.astimezone().hour) == (0, 0)

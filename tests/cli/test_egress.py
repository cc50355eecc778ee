"""`perdure egress`: what left this machine, for a person, for a pipe and for a program."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from perdure import Memory
from perdure.clock import system_clock
from perdure.providers.call import ProviderCall
from perdure.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from cli.user import User

CALL = ProviderCall(
    at=system_clock(), provider="openai", model="text-embedding-3-small", host="api.openai.com", purpose="embed query",
    items=1, sent_bytes=120, received_bytes=8000, input_tokens=12, cost=0.00024,
)  # fmt: skip


def record(store: Path, *calls: ProviderCall) -> None:
    opened = SqliteStore.open(store)
    opened.record_calls(calls)
    opened.close()


def test_with_nothing_sent_it_says_so_plainly_and_what_the_setting_is(user: User):
    answer = user.done("egress")
    assert answer.out == ""
    assert answer.err.splitlines() == ["Nothing has left this machine.", "egress is none: nothing may leave"]


def test_the_setting_is_named_where_hosts_may_be_asked(user: User):
    answer = user.done("egress", PERDURE_EGRESS="api.openai.com,models.example")
    assert "egress is api.openai.com, models.example: texts may be sent there" in answer.err


def test_a_person_sees_the_days_the_requests_and_what_was_used_today(user: User, store: Path):
    failed = replace(CALL, outcome="provider_unavailable", purpose="embed passages", items=50)
    record(store, CALL, failed, replace(CALL, at=CALL.at - timedelta(days=3)))
    page = user.screen("egress", COLUMNS="140")
    assert page.count("openai:text-embedding-3-small") == 2 + 3
    assert "requests, newest first (all of them)" in page
    assert "embed passages" in page
    assert "provider_unavailable" in page
    assert "today: 24 of 1,000 tokens, cost 0.0005 of 2" in user.done(
        "egress", PERDURE_DAILY_TOKENS="1000", PERDURE_DAILY_COST="2"
    ).err  # fmt: skip


def test_in_a_pipe_each_request_is_one_line(user: User, store: Path):
    record(store, CALL, replace(CALL, cost=None, purpose="odd\tpurpose\x1b[2J"))
    rows = user.done("egress").rows
    assert len(rows) == 2
    assert {len(row) for row in rows} == {12}
    assert rows[1][1:6] == ["openai", "text-embedding-3-small", "api.openai.com", "embed query", "1"]
    assert (rows[0][4], rows[0][10]) == ("odd\\tpurpose\\x1b[2J", "")


def test_what_is_older_than_since_is_left_out_and_the_limit_cuts_the_list_but_not_the_sums(user: User, store: Path):
    old = replace(CALL, at=CALL.at - timedelta(days=3))
    record(store, CALL, replace(CALL, items=7), old)
    document = user.done("egress", "--since", "24h", "--limit", "1", "--json").json
    assert len(document["calls"]) == 1
    assert [(day["requests"], day["texts"], day["sent_bytes"]) for day in document["days"]] == [(2, 8, 240)]
    assert "the newest 1 of 3" in user.screen("egress", "--limit", "1")
    assert "Nothing has left this machine since" in user.done("egress", "--since", "tomorrow").err


def test_the_sum_of_a_day_has_no_cost_where_one_price_was_not_known(user: User, store: Path):
    record(store, CALL, replace(CALL, cost=None))
    document = user.done("egress", "--json").json
    assert [day["cost"] for day in document["days"]] == [None]
    assert document["today"]["used_cost"] == pytest.approx(0.00024)
    assert (document["allowed"], document["today"]["daily_tokens"]) == ([], None)


def test_what_this_process_sent_is_in_the_list_at_once(store: Path):
    with Memory(store, embedder="none") as memory:
        memory._services.store.record_calls([CALL])
        egress = memory.egress()
    assert egress.calls == (CALL,)
    assert [(day.provider, day.requests, day.failed) for day in egress.days] == [("openai", 1, 0)]

"""What a memory sends to a provider is listed, and background work keeps within the budget of the day.

The server speaks OpenAI's embeddings: POST /v1/embeddings with `model`, `input` and `encoding_format`, answered by
`data` (`index`, `embedding`) and `usage.prompt_tokens` (platform.openai.com/docs/api-reference/embeddings).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import pytest
from clocks import START, HandClock
from providers.server import Received, answering, hang_up

from perdure import Memory, settings
from perdure.errors import PerdureError

if TYPE_CHECKING:
    from providers.cloud import Cloud
    from providers.server import FaultServer

HOST = "api.openai.com"
MODEL = "openai:text-embedding-3-small"
DIMENSIONS = 8
TOKENS = 10

Open = Callable[..., Memory]


def embeddings(received: Received) -> Any:
    """The same few numbers for every text, and ten tokens for each."""
    assert received.path == "/v1/embeddings"
    assert received.headers["authorization"] == "Bearer sk-test"
    texts = received.json["input"]
    rows = [[1.0 + len(text) % 7, *[0.5] * (DIMENSIONS - 1)] for text in texts]
    data = [{"object": "embedding", "index": place, "embedding": row} for place, row in enumerate(rows)]
    usage = {"prompt_tokens": TOKENS * len(texts), "total_tokens": TOKENS * len(texts)}
    return {"object": "list", "data": data, "model": received.json["model"], "usage": usage}


def tokens_of(provider: FaultServer) -> int:
    """With the first vector come those of some sentences by which the model is calibrated."""
    return sum(TOKENS * len(request.json["input"]) for request in provider.requests)


@pytest.fixture
def provider(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> FaultServer:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    server = cloud(HOST)
    server.always(answering(embeddings))
    return server


@pytest.fixture
def clock() -> HandClock:
    return HandClock(START)


@pytest.fixture
def opened(tmp_path: Path, clock: HandClock) -> Open:
    def open_memory(**given: Any) -> Memory:
        base = settings.load(store=str(tmp_path / "m.db"), embedder=MODEL, egress=HOST, embedder_dimensions=DIMENSIONS)
        return Memory(settings=settings.override(base, **given), clock=clock)

    return open_memory


def without_vectors(opened: Open, count: int) -> None:
    """Memories that wait for background work."""
    with opened(embedder="none") as memory:
        for number in range(count):
            memory.remember(f"Memory number {number} is about the river.")


def test_a_write_and_a_question_are_in_the_list_with_their_purpose_and_size(provider: FaultServer, opened: Open):
    with opened(prices={MODEL: {"input": 2.0}}) as memory:
        assert not memory.remember("The river has seven bridges.").vector_pending
        memory.recall("how many bridges?")
        egress = memory.egress()
    query, *passages = egress.calls
    assert (query.purpose, {call.purpose for call in passages}) == ("embed query", {"embed passage"})
    for call, request in zip(reversed(egress.calls), provider.requests, strict=True):
        tokens = TOKENS * len(request.json["input"])
        assert (call.provider, call.model, call.host) == ("openai", "text-embedding-3-small", HOST)
        assert (call.items, call.outcome, call.at) == (len(request.json["input"]), "ok", START)
        assert (call.input_tokens, call.cost) == (tokens, pytest.approx(tokens * 2e-6))
        assert call.sent_bytes == len(request.body)
        assert call.received_bytes > 0
    used = tokens_of(provider)
    assert (egress.today.used_tokens, egress.today.used_cost) == (used, pytest.approx(used * 2e-6))
    assert egress.allowed == (HOST,)


def test_a_question_is_sent_once_however_many_searches_its_answer_takes(provider: FaultServer, opened: Open):
    with opened() as memory:
        memory.remember("The river has seven bridges.")
        provider.requests.clear()
        assert memory.recall("zebra or quagga?", tags=["none"], min_importance=0.9).notes
        memory.context("how many bridges?")
    assert [request.json["input"] for request in provider.requests] == [["zebra or quagga?"], ["how many bridges?"]]


def test_the_list_is_on_disk_when_the_memory_is_closed_and_holds_no_word_of_a_text(
    provider: FaultServer, opened: Open, tmp_path: Path
):
    with opened() as memory:
        memory.remember("The bridges are called Zwinglius.")
        memory.recall("Hydroxylamine, or who?")
    with opened(embedder="none") as memory:
        calls = memory.egress().calls
    assert {call.purpose for call in calls} == {"embed query", "embed passage"}
    assert "Zwinglius" not in repr(calls)
    assert b"Hydroxylamine" not in (tmp_path / "m.db").read_bytes()


def test_a_request_that_failed_is_listed_with_its_error(provider: FaultServer, opened: Open):
    provider.always(hang_up)
    with opened() as memory:
        assert memory.remember("The river has seven bridges.").vector_pending
        (call,) = memory.egress().calls
    assert call.outcome == "provider_unavailable"


def test_background_work_stops_at_the_tokens_of_the_day_and_goes_on_the_next(
    provider: FaultServer, opened: Open, clock: HandClock
):
    without_vectors(opened, 120)
    with opened(daily_tokens=700) as memory:
        done = memory.work()
        assert 0 < done.embedded < 120
        assert done.embedded + done.vectors_pending == 120
        (note,) = [note for note in done.notes if "stops for today" in note]
        assert "2026-03-15 00:00 UTC" in note
        used = memory.egress().today
        assert 600 < used.used_tokens <= 700 == used.daily_tokens
        before = len(provider.requests)
        assert memory.work().embedded == 0
        assert len(provider.requests) == before
        clock.forward(days=1)
        assert memory.work().embedded > 0
        clock.forward(days=1)
        memory.work()
        clock.forward(days=1)
        assert memory.work().vectors_pending == 0
        assert memory.recall("Memory number 7").mode == "hybrid"


def test_a_text_for_which_the_budget_has_no_room_is_not_one_that_the_model_refused(provider: FaultServer, opened: Open):
    without_vectors(opened, 30)
    with opened(daily_tokens=60) as memory:
        done = memory.work()
        assert 0 < done.embedded < 30
        (note,) = done.notes
        assert note.startswith("Background work stops for today")


def test_a_read_and_a_write_of_somebody_who_waits_are_never_refused(provider: FaultServer, opened: Open):
    with opened(daily_tokens=1) as memory:
        assert not memory.remember("The river has seven bridges.").vector_pending
        assert memory.recall("how many bridges?").mode == "hybrid"
        assert memory.egress().today.used_tokens == tokens_of(provider) > 1


def test_what_reads_use_is_no_longer_there_for_background_work(provider: FaultServer, opened: Open):
    without_vectors(opened, 3)
    with opened(daily_tokens=200) as memory:
        for letter in ascii_lowercase[:20]:
            memory.recall(f"Memory number {letter} about the river")
        assert memory.egress().today.used_tokens == 20 * TOKENS
        assert memory.work().embedded == 0


def test_the_budget_is_one_for_all_processes(provider: FaultServer, opened: Open):
    without_vectors(opened, 60)
    with opened(daily_tokens=1500) as one, opened(daily_tokens=1500) as other:
        one.work(limit=30)
        other.work()
        assert one.egress().today.used_tokens == other.egress().today.used_tokens <= 1500


def test_with_a_cost_and_no_price_background_work_says_which_price_to_set(provider: FaultServer, opened: Open):
    without_vectors(opened, 2)
    with opened(daily_cost=1.0) as memory:
        done = memory.work()
        assert (done.embedded, done.vectors_pending) == (0, 2)
        assert 'prices = {"openai:text-embedding-3-small" = {input' in " ".join(done.notes)
        assert provider.requests == []
        assert not memory.remember("A person's write is not refused.").vector_pending
    with opened(daily_cost=1.0, prices={MODEL: {"input": 0.02}}) as memory:
        assert memory.work().vectors_pending == 0


def test_a_language_model_is_within_the_budget_too_and_no_memory_goes_without_keywords(
    provider: FaultServer, opened: Open
):
    text = "The ferry leaves when the turnstile is closed by the timetable"
    with opened(embedder="none", llm="openai:gpt-5-mini", daily_tokens=5) as memory:
        assert memory.remember(text, category="patterns").record.keywords == ()
        done = memory.work()
        assert (done.keywords_added, memory.get(1).keywords != ()) == (1, True)
        assert any("stops for today" in note for note in done.notes)
        assert memory.parked() == []
    assert provider.requests == []


def test_background_work_stops_at_the_cost_of_the_day(provider: FaultServer, opened: Open):
    without_vectors(opened, 2)
    with opened(daily_cost=0.001, prices={MODEL: {"input": 1000.0}}) as memory:
        done = memory.work()
        assert (done.embedded, done.vectors_pending) == (0, 2)
        assert "of 0.001 is spent" in " ".join(done.notes)
    assert provider.requests == []


def test_what_was_sent_yesterday_does_not_count_today(provider: FaultServer, opened: Open, clock: HandClock):
    with opened() as memory:
        memory.remember("The river has seven bridges.")
        clock.forward(days=1)
        assert memory.egress().today.used_tokens == 0
        assert [day.day for day in memory.egress().days] == ["2026-03-14"]
        assert memory.egress(since=clock() - timedelta(hours=1)).calls == ()


@pytest.mark.parametrize("limit", [0, -1, 10_001, True])
def test_a_limit_that_makes_no_sense_is_refused(opened: Open, limit: int):
    with opened(embedder="none") as memory, pytest.raises(PerdureError, match="limit"):
        memory.egress(limit=limit)

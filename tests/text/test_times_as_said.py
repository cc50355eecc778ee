"""Questions about a time, as people ask them: which time is meant, and whether anything else is asked."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from perdure.recall.query import SearchRequest, parse_query
from perdure.recall.recipe import BALANCED
from perdure.recall.time_questions import TimeQuestion
from perdure.text.session_expressions import SessionRange

NOW = datetime(2026, 3, 18, 9, 26, 53, tzinfo=UTC)
LINES = (Path(__file__).parent / "times_as_said.txt").read_text(encoding="utf-8").splitlines()
QUESTIONS = [tuple(part.strip() for part in line.split("|")) for line in LINES if line and not line.startswith("#")]


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")


def asked(question: str) -> TimeQuestion | None:
    """As recall reads it."""
    return parse_query(SearchRequest(query=question, namespaces=("default",), recipe=BALANCED, now=NOW)).times


def in_figures(sessions: SessionRange) -> str:
    """`since session 3-5 back`."""
    last = f"-{sessions.last}" if sessions.last != sessions.first else ""
    return f"{sessions.bound} session {sessions.first}{last}{' back' if sessions.back else ''}".strip()


def meaning(times: TimeQuestion | None) -> str:
    if times is None or not (times.ranges or times.sessions):
        return "none"
    return "; ".join([*(span.dates for span in times.ranges), *map(in_figures, times.sessions)])


@pytest.mark.parametrize(("question", "expected", "rest"), QUESTIONS, ids=[line[0] for line in QUESTIONS])
def test_a_question_means_the_time_that_people_mean(question: str, expected: str, rest: str):
    times = asked(question)
    assert meaning(times) == expected
    if times is not None and rest:
        assert ("more" if times.other_words or times.event else "alone") == rest

"""The page about times says what the code does: each of its examples is read."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from perdure.clock import parse_time
from perdure.errors import InvalidInput
from perdure.text.time_expressions import find_time_ranges, read_time_range

PAGE = (Path(__file__).parent.parent.parent / "docs" / "time.md").read_text(encoding="utf-8")
NOW = datetime(2026, 3, 18, 9, 26, 53, tzinfo=UTC)


def rows(section: str, columns: int) -> list[tuple[str, ...]]:
    """The rows of the tables of one section that have so many columns."""
    (text,) = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    lines = (line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `"))
    return [tuple(cell.strip("`") for cell in cells) for cells in lines if len(cells) == columns]


@pytest.mark.parametrize(("words", "dates"), rows("The words", 2))
def test_each_time_on_the_page_is_read_as_it_says(words: str, dates: str):
    range = read_time_range(words, NOW)
    assert range is not None
    assert range.dates == dates


@pytest.mark.parametrize(("words", "since", "until"), rows("One moment", 3))
def test_each_moment_on_the_page_is_read_as_it_says(words: str, since: str, until: str):
    assert f"{parse_time(words, 'since', NOW):%Y-%m-%d %H:%M:%S}" == since
    assert f"{parse_time(words, 'until', NOW, until=True):%Y-%m-%d %H:%M:%S}" == until


@pytest.mark.parametrize(("words", "moment"), rows("One moment", 2))
def test_each_end_on_the_page_is_read_as_it_says(words: str, moment: str):
    assert f"{parse_time(words, 'expires_at', NOW, ahead=True):%Y-%m-%d %H:%M:%S}" == moment


@pytest.mark.parametrize(
    "text",
    [
        "may I ask", "march to the office", "Alice may come", "in the sun", "in the May report", "on the third try",
        "I may first ask Anna",
    ],
)  # fmt: skip
def test_what_the_page_calls_no_time_is_none(text: str):
    assert f"`{text}`" in PAGE
    assert find_time_ranges(text, NOW) == ()


@pytest.mark.parametrize("text", ["03/04/2026", "1,5 hours ago", "a thousand and twenty days ago"])
def test_what_the_page_calls_refused_is_refused(text: str):
    assert f"`{text}`" in PAGE
    with pytest.raises(InvalidInput):
        parse_time(text, "since", NOW)

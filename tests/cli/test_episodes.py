"""`perdure episodes`."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from clocks import NOON

if TYPE_CHECKING:
    from cli.user import User


@pytest.fixture
def talked(user: User, tmp_path: Path) -> User:
    """A user with two sittings that are over, of two conversations, and what was said since."""
    path = tmp_path / "chat.jsonl"
    said = [
        {
            "conversation_id": name,
            "role": "user",
            "speaker": "Ada",
            "content": f"{topic}, part {n}",
            "timestamp": (NOON + timedelta(hours=n // 6, minutes=n)).isoformat(),
        }
        for name, topic in (("move", "The flat in Osaka is small"), ("band", "The cello needs a new string"))
        for n in range(8)
    ]
    path.write_text("\n".join(map(json.dumps, said)), "utf-8")
    user.done("chat", "import", str(path))
    assert "Made 2 episodes." in user.done("work", PERDURE_LEARN_SCOPE="conversation").out
    return user


def test_episodes_are_listed_and_searched(talked: User):
    listed = talked.done("episodes").rows
    assert sorted((row[1], row[2][:10]) for row in listed) == [("band", "2026-03-14"), ("move", "2026-03-14")]
    [found] = talked.done("episodes", "a string for the cello", "--limit", "1").rows
    assert found[1] == "band"
    assert found[-1].startswith("Ada: The cello needs a new string")
    assert [row[1] for row in talked.done("episodes", "--conversation", "move").rows] == ["move"]


def test_on_a_terminal_they_are_a_table_that_says_how_to_go_on(talked: User):
    answer = talked.done("episodes", "the flat in Osaka", PERDURE_LAYOUT="terminal")
    assert "The flat in Osaka is small" in answer.out
    assert "surprise" in answer.out
    number = talked.done("episodes", "the flat in Osaka", "--limit", "1").rows[0][0]
    assert f"perdure show {number}" in answer.err


def test_they_are_shown_only_where_they_are_asked_for(talked: User):
    assert all(row[0] not in talked.done("recall", "the cello").out.split() for row in talked.done("episodes").rows)
    answer = talked.done("episodes", "the cello", "--json").json
    assert {hit["record"]["key"].partition(":")[0] for hit in answer["hits"]} == {"episode"}
    assert {"surprise", "until", "boundary", "made_by"} <= answer["hits"][0]["record"]["metadata"].keys()


def test_where_there_are_none_it_says_what_makes_them(user: User):
    user.done("remember", "tea")
    assert user.done("episodes").out == ""
    assert "perdure work" in user.done("episodes", PERDURE_LAYOUT="terminal").err


def test_what_somebody_wrote_into_an_episode_is_shown_as_it_is(talked: User):
    number = talked.done("episodes").rows[0][0]
    talked.done("update", number, "--metadata", "surprise=none at all")
    assert "none at all" in talked.screen("episodes")

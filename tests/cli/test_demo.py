from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from perdure.cli.stage import Stage
from perdure.embed import local

if TYPE_CHECKING:
    from cli.user import User

BY_MEANING = "no word in common"
BY_WORDS = "searches by words alone"
model = pytest.mark.skipif(local.unavailable() is not None, reason="the model is not installed")


@pytest.mark.parametrize(("embedder", "remark"), [pytest.param("local", BY_MEANING, marks=model), ("none", BY_WORDS)])
def test_the_story_comes_out_as_promised(user: User, tmp_path: Path, embedder: str, remark: str):
    store = str(tmp_path / "story.db")
    answer = user.done("demo", "--json", "--store", store, PERDURE_EMBEDDER=embedder)
    assert answer.json["kept_every_promise"] is True
    chapters = answer.json["chapters"]
    assert {command.get("exit", 0) for chapter in chapters for command in chapter["commands"]} == {0}
    assert any(remark in sentence for chapter in chapters for sentence in chapter["said"])
    assert user.done("list", "--json", "--store", store).json["records"]


def test_the_demo_leaves_an_existing_store_alone(user: User, store: Path):
    user.done("remember", "one")
    assert "exists" in user.fails(4, "demo", "--store", str(store)).err


def test_what_is_played_is_the_command_s_own_output(store: Path, capfd: pytest.CaptureFixture[str]):
    stage = Stage({"PERDURE_STORE": str(store), "PERDURE_EMBEDDER": "none"}, quiet=False)
    stage.chapter("A chapter", "It begins.")
    stage.perdure("remember", "Alice's mode", "--tag", "ui", session="monday")
    stage.remark("It went well.")
    stage.show("\x1b[2Jhostile")
    lines = capfd.readouterr().out.splitlines()
    assert lines[:5] == [
        "", "A chapter", "It begins.", '$ perdure remember "Alice\'s mode" --tag ui', "Remembered #1  Alice's mode",
    ]  # fmt: skip
    assert lines[-2:] == ["It went well.", "\\x1b[2Jhostile"]

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cli.user import User


def test_the_story_comes_out_as_promised_without_a_model(user: User, tmp_path: Path):
    code, out, err = user.process("demo", "--json", "--store", str(tmp_path / "story.db"))
    assert (code, err) == (0, b"")
    story = json.loads(out)
    assert story["kept_every_promise"] is True
    commands = [command for chapter in story["chapters"] for command in chapter["commands"]]
    assert {command.get("exit", 0) for command in commands} == {0}
    kept = user.done("list", "--json", "--store", str(tmp_path / "story.db"))
    assert kept.json["records"]


def test_the_demo_leaves_an_existing_store_alone(user: User, store: Path):
    user.done("remember", "one")
    assert "exists" in user.fails(4, "demo", "--store", str(store)).err

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cli.json_keys import documented, keys_of

from perdure.embed import local

if TYPE_CHECKING:
    from cli.user import User


@pytest.mark.skipif(local.unavailable() is not None, reason="the model is not installed")
def test_the_story_comes_out_as_promised(user: User, tmp_path: Path):
    store = str(tmp_path / "story.db")
    answer = user.done("demo", "--json", "--store", store, PERDURE_EMBEDDER="local")
    assert answer.json["kept_every_promise"] is True
    assert {key: kind for key, kind in keys_of(answer.json) if documented()[key] != kind} == {}
    chapters = answer.json["chapters"]
    assert {command.get("exit_code", 0) for chapter in chapters for command in chapter["commands"]} == {0}
    assert any("no word in common" in sentence for chapter in chapters for sentence in chapter["narration"])
    assert user.done("list", "--json", "--store", store).json["records"]


def test_the_story_shows_each_command_and_its_own_output_and_needs_no_model(user: User):
    code, out, _ = user.process("demo", PERDURE_EMBEDDER="none")
    lines = out.decode().splitlines()
    assert code == 0
    assert any("searches by words alone" in line for line in lines)
    typed = lines.index(
        '$ perdure remember "Alice keeps every editor on a black background" --category preference --tag ui'
    )
    assert lines[typed + 1] == "Remembered #2  Alice keeps every editor on a black background"
    assert '$ PERDURE_SESSION=mallory perdure remember "Peanuts are safe for everybody"' in lines


def test_the_demo_leaves_an_existing_store_alone(user: User, store: Path):
    user.done("remember", "one")
    assert "exists" in user.fails(4, "demo", "--store", str(store)).err

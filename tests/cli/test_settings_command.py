"""`perdure settings`: what is in force, who decided it, and of keys only whether they are there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import perdure
from perdure.settings import API_KEYS, SETTINGS

if TYPE_CHECKING:
    from cli.user import User


def test_every_setting_is_shown_with_who_decided_it(user: User, tmp_path: Path):
    file = tmp_path / "perdure.toml"
    file.write_text('recipe = "facts"\nactor = "file"\negress = ["api.openai.com"]\n', encoding="utf-8")
    answer = user.done("settings", "--namespace", "team", PERDURE_CONFIG=str(file))
    shown = {name: (value, origin) for name, value, origin in answer.rows}
    assert list(shown) == [setting.name for setting in SETTINGS]
    assert shown["recipe"] == ("facts", "file")
    assert shown["egress"] == ("api.openai.com", "file")
    assert shown["actor"] == ("ana", "PERDURE_ACTOR")
    assert shown["namespace"] == ("team", "option")
    assert shown["decay"] == ("true", "default")
    assert shown["llm"] == ("none", "default")
    assert f"settings file: {file}" in answer.err


def test_of_a_key_it_says_only_that_it_is_there(user: User):
    answer = user.done("settings", OPENAI_API_KEY="sk-do-not-show-me", PERDURE_LLM_KEY="nor-me")
    assert "API keys in the environment: OPENAI_API_KEY, PERDURE_LLM_KEY" in answer.err
    document = user.done("settings", "--json", OPENAI_API_KEY="sk-do-not-show-me").json
    assert [key["variable"] for key in document["api_keys"] if key["is_set"]] == ["OPENAI_API_KEY"]
    assert "not-show" not in f"{answer} {document}"


def test_a_password_in_a_url_is_not_shown(user: User):
    for arguments in (("settings",), ("settings", "--json")):
        done = user.done(*arguments, PERDURE_EMBEDDER_URL="https://alice:correct-horse-9@models.example/v1")
        assert "models.example" in done.out
        assert "correct-horse-9" not in done.out + done.err


def test_it_needs_no_store_and_makes_none(newcomer: User, store: Path):
    assert "which does not exist" in newcomer.done("settings").err
    assert not store.exists()


def test_a_bad_setting_is_named_with_its_remedy(user: User):
    answer = user.fails(2, "settings", PERDURE_EMBEDDER="cloud")
    assert "ollama:nomic-embed-text" in answer.err


def test_every_variable_that_a_provider_reads_a_key_from_is_known():
    sources = "".join(path.read_text(encoding="utf-8") for path in Path(perdure.__file__).parent.rglob("*.py"))
    assert set(re.findall(r'"([A-Z]+(?:_[A-Z]+)*_KEY|PERDURE_TOKEN)"', sources)) == set(API_KEYS)

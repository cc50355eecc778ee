"""`perdure config`: what is in force, who decided it, and of keys only whether they are there."""

from __future__ import annotations

import errno
import os
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import perdure
from perdure.settings import API_KEYS, SETTINGS

if TYPE_CHECKING:
    from cli.user import User


def test_every_setting_is_shown_with_who_decided_it(user: User, tmp_path: Path):
    file = tmp_path / "perdure.toml"
    file.write_text('recipe = "facts"\nactor = "file"\negress = ["api.openai.com"]\n', encoding="utf-8")
    answer = user.done("config", "--namespace", "team", PERDURE_CONFIG=str(file))
    shown = {name: (value, origin) for name, value, origin in answer.rows}
    assert list(shown) == [setting.name for setting in SETTINGS]
    assert shown["recipe"] == ("facts", "file")
    assert shown["egress"] == ("api.openai.com", "file")
    assert shown["actor"] == ("ana", "PERDURE_ACTOR")
    assert shown["namespace"] == ("team", "option")
    assert shown["decay"] == ("true", "default")
    assert shown["llm"] == ("none", "default")
    assert f"settings file: {file}" in answer.err


def test_a_terminal_shows_what_people_usually_change_and_what_is_set_and_all_when_it_is_asked_for(user: User):
    few = user.done("config", PERDURE_LAYOUT="terminal", PERDURE_DECAY="false")
    assert "embedder " in few.out
    assert "decay " in few.out
    assert "grace_days" not in few.out
    assert re.search(r"[0-9]+ more have their default: .*perdure config --all", few.err)
    every = user.done("config", "--all", PERDURE_LAYOUT="terminal")
    assert "grace_days" in every.out
    assert "more have" not in every.err


def test_a_file_that_cannot_be_written_is_a_wrong_setting_and_not_something_unexpected(
    user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(_path: Path):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("perdure.cli.config.replacing", refuse)
    file = tmp_path / "perdure.toml"
    refused = user.fails(2, "config", "set", "recipe", "tiered", PERDURE_CONFIG=str(file))
    assert f"{file} cannot be written: Permission denied." in refused.err
    assert "PERDURE_CONFIG" in refused.err


@pytest.mark.parametrize(
    ("setting", "value", "expected"),
    [
        ("min_relevance", "high", "a number from 0 to 1"),
        ("max_items", "many", "a whole number, 0 or more"),
        ("decay", "perhaps", "true or false"),
        ("busy_seconds", "0", "a number above 0"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_what_it_can_be(user: User, setting: str, value: str, expected: str):
    assert f"it is {expected}." in user.fails(2, "config", "set", setting, value).err


def test_the_folder_of_the_settings_is_its_owner_s_alone_whatever_the_umask(user: User, tmp_path: Path):
    file = tmp_path / "config" / "perdure" / "perdure.toml"
    before = os.umask(0)
    try:
        user.done("config", "set", "recipe", "learnings", PERDURE_CONFIG=str(file))
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in (file.parent.parent, file.parent, file)] == [0o700, 0o700, 0o600]


def test_of_a_key_it_says_only_that_it_is_there(user: User):
    answer = user.done("config", OPENAI_API_KEY="sk-do-not-show-me", PERDURE_LLM_KEY="nor-me")
    assert "API keys in the environment: OPENAI_API_KEY, PERDURE_LLM_KEY" in answer.err
    document = user.done("config", "--json", OPENAI_API_KEY="sk-do-not-show-me").json
    assert [key["variable"] for key in document["api_keys"] if key["is_set"]] == ["OPENAI_API_KEY"]
    assert "not-show" not in f"{answer} {document}"


def test_a_password_in_a_url_is_not_shown(user: User):
    for arguments in (("config",), ("config", "--json")):
        done = user.done(*arguments, PERDURE_EMBEDDER_URL="https://alice:correct-horse-9@models.example/v1")
        assert "models.example" in done.out
        assert "correct-horse-9" not in done.out + done.err


def test_it_needs_no_store_and_makes_none(newcomer: User, store: Path):
    assert "which does not exist" in newcomer.done("config").err
    assert not store.exists()


def test_after_a_model_is_named_the_command_that_tries_it_is_named_too(user: User):
    assert "whether its key is set" in user.done("config", "set", "llm", "openai:gpt-5").err
    assert "whether its key is set" not in user.done("config", "set", "llm", "none").err


def test_a_bad_setting_is_named_with_its_remedy(user: User):
    answer = user.fails(2, "config", PERDURE_EMBEDDER="cloud")
    assert "ollama:nomic-embed-text" in answer.err


FILE = """# Mine.
recipe = "facts"  # for the team
egress = [  # where texts may go
    "api.openai.com",
]

# What models cost.
[prices]
"openai:gpt-5-mini" = {input = 0.25, output = 2}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "conf" / "perdure.toml"
    path.parent.mkdir()
    path.write_text(FILE, encoding="utf-8")
    return path


def test_setting_a_value_changes_its_line_and_nothing_else(user: User, file: Path):
    done = user.done("config", "set", "recipe", "learnings", "--json", PERDURE_CONFIG=str(file))
    assert done.json == {"name": "recipe", "value": "learnings", "origin": "file", "path": str(file)}
    assert file.read_text(encoding="utf-8") == FILE.replace('"facts"', '"learnings"')


def test_a_value_of_many_lines_is_replaced_whole(user: User, file: Path):
    user.done("config", "set", "egress", "api.voyageai.com, 10.0.0.0/8", PERDURE_CONFIG=str(file))
    changed = file.read_text(encoding="utf-8")
    assert tomllib.loads(changed)["egress"] == ["api.voyageai.com", "10.0.0.0/8"]
    assert "# Mine." in changed
    assert "# What models cost." in changed


@pytest.mark.parametrize(
    ("name", "value", "stored"),
    [("decay", "no", False), ("max_items", "300", 300), ("min_relevance", "0.25", 0.25), ("llm", "ollama:qwen3", None),
     ("PERDURE_SAVE_PHRASES", "keep this,note it", ["keep this", "note it"]), ("store", "~/team.db", None),
     ("decay-rates", "{normal = 0.02}", {"normal": 0.02})],
)  # fmt: skip
def test_a_new_value_goes_before_the_first_table(user: User, file: Path, name: str, value: str, stored: object):
    user.done("config", "set", name, value, PERDURE_CONFIG=str(file))
    plain = name.lower().removeprefix("perdure_").replace("-", "_")
    changed = file.read_text(encoding="utf-8")
    assert tomllib.loads(changed)[plain] == (value if stored is None else stored)
    assert "".join(line for line in changed.splitlines(keepends=True) if not line.startswith(plain)) == FILE


def test_unset_takes_a_value_out_and_says_what_counts_now(user: User, file: Path):
    user.done("config", "unset", "egress", PERDURE_CONFIG=str(file))
    done = user.done("config", "unset", "recipe", PERDURE_CONFIG=str(file))
    assert "now balanced, from: default" in done.err
    assert tomllib.loads(file.read_text(encoding="utf-8")) == {
        "prices": {"openai:gpt-5-mini": {"input": 0.25, "output": 2}}
    }


def test_get_and_path_answer_with_one_word(user: User, file: Path):
    assert user.done("config", "get", "recipe", PERDURE_CONFIG=str(file)).out == "facts\n"
    assert user.done("config", "path", PERDURE_CONFIG=str(file)).out == f"{file}\n"


def test_the_first_value_makes_the_file(newcomer: User, store: Path):
    where = Path(newcomer.done("config", "path").out.strip())
    assert not where.exists()
    newcomer.done("config", "set", "actor", "Zoë")
    assert where.read_text(encoding="utf-8") == 'actor = "Zoë"\n'
    assert not store.exists()


def test_what_a_variable_overrules_is_said(user: User, file: Path):
    done = user.done("config", "set", "actor", "team", PERDURE_CONFIG=str(file))
    assert "In force is ana still, from PERDURE_ACTOR." in done.err


def test_a_relative_store_is_the_same_one_from_everywhere(
    user: User, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    user.done("config", "set", "store", "team.db", PERDURE_CONFIG=str(file))
    assert tomllib.loads(file.read_text(encoding="utf-8"))["store"] == str(tmp_path / "team.db")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("set", "embedder", "cloud"), "ollama:nomic-embed-text"),
        (("set", "recipe", "no-such"), "balanced"),
        (("set", "max_items", "many"), "cannot be"),
        (("set", "recip", "facts"), "Did you mean recipe?"),
        (("set", "OPENAI_API_KEY", "sk-secret"), "from the environment alone"),
        (("set", "llm_url", "https://alice:correct-horse-9@models.example/v1"), "holds a secret"),
        (("set", "prices", '{"a:b" = {input = 1}}'), "table of its own"),
        (("unset", "prices"), "table of its own"),
        (("set", "recipe"), "perdure config set NAME VALUE"),
        (("path", "recipe"), "perdure config path"),
    ],
)
def test_what_is_not_valid_is_refused_and_the_file_stays(user: User, file: Path, words: tuple[str, ...], said: str):
    answer = user("config", *words, PERDURE_CONFIG=str(file))
    assert answer.code != 0
    assert said in answer.err
    assert "correct-horse" not in answer.err
    assert file.read_text(encoding="utf-8") == FILE


def test_a_file_that_is_no_toml_is_not_touched(user: User, file: Path):
    file.write_text("recipe = = 3\n", encoding="utf-8")
    user.fails(2, "config", "set", "recipe", "facts", PERDURE_CONFIG=str(file))
    assert file.read_text(encoding="utf-8") == "recipe = = 3\n"


def test_a_value_that_was_wrong_can_be_put_right(user: User, file: Path):
    file.write_text('recipe = "facts"\nmax_items = "many"\n', encoding="utf-8")
    user.done("config", "set", "max_items", "5", PERDURE_CONFIG=str(file))
    assert file.read_text(encoding="utf-8") == 'recipe = "facts"\nmax_items = 5\n'


def test_every_variable_that_a_provider_reads_a_key_from_is_known():
    sources = "".join(path.read_text(encoding="utf-8") for path in Path(perdure.__file__).parent.rglob("*.py"))
    assert set(re.findall(r'"([A-Z]+(?:_[A-Z]+)*_KEY|PERDURE_TOKEN)"', sources)) == set(API_KEYS)


def test_show_is_the_same_as_no_action(user: User):
    assert user.done("config", "show").out == user.done("config").out
    user.fails(2, "config", "show", "recipe")


@pytest.mark.parametrize("name", ["embedder", "llm"])
def test_a_provider_that_is_not_installed_is_refused_before_it_is_written(user: User, tmp_path: Path, name: str):
    file = tmp_path / "perdure.toml"
    answer = user.fails(2, "config", "set", name, "foo:bar", PERDURE_CONFIG=str(file), PERDURE_EMBEDDER="")
    assert "that is called 'foo'." in answer.err
    assert "`none`" in answer.err
    assert f"`perdure config unset {name}`" in answer.err
    assert not file.exists()


def test_with_an_embedder_that_is_not_installed_all_goes_on_by_words_and_doctor_names_it(user: User):
    remembered = user.done("remember", "Alice likes tea", PERDURE_EMBEDDER="foo:bar")
    assert "No embedder is installed that is called 'foo'." in remembered.err
    assert "Alice likes tea" in user.done("list", PERDURE_EMBEDDER="foo:bar").out
    recalled = user.done("recall", "tea", PERDURE_EMBEDDER="foo:bar")
    assert "Alice likes tea" in recalled.out
    assert "Found by keyword alone" in recalled.err
    examined = user("doctor", PERDURE_EMBEDDER="foo:bar", PERDURE_LLM="foo:bar")
    assert examined.code == 7
    found = {row[1]: row for row in examined.rows if row[0] == "problem"}
    assert set(found) == {"embedder", "llm"}
    assert "Set `embedder` to `local`, `none`" in found["embedder"][3]
    assert "`perdure config unset embedder`" in found["embedder"][3]


def test_to_unset_what_is_not_set_is_no_failure(user: User, tmp_path: Path):
    file = tmp_path / "perdure.toml"
    done = user.done("config", "unset", "recipe", PERDURE_CONFIG="", XDG_CONFIG_HOME=str(tmp_path))
    assert done.out.startswith("Nothing to do: recipe was not in ")
    file.write_text('recipe = "facts"\n', encoding="utf-8")
    assert user.done("config", "unset", "recipe", PERDURE_CONFIG=str(file)).out == f"Took recipe out of {file}\n"

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from perdure import Memory, settings
from perdure.errors import NotAllowed, SettingsInvalid


def write(directory: Path, content: str) -> dict[str, str]:
    path = directory / "perdure.toml"
    path.write_text(content, encoding="utf-8")
    return {"PERDURE_CONFIG": str(path), "HOME": str(directory)}


def test_without_anything_set_the_defaults_hold(tmp_path: Path):
    found = settings.load({"HOME": str(tmp_path), "USER": "ada"})
    assert (found.namespace, found.embedder, found.recipe, found.actor) == ("default", "local", "balanced", "ada")
    assert found.store.path.name == "memory.db"
    assert tmp_path in found.store.path.parents


@pytest.mark.parametrize("has_name", [True, False])
def test_where_no_variable_names_the_user_the_system_does(monkeypatch: pytest.MonkeyPatch, has_name: bool):
    settings._login_name.cache_clear()
    nobody = max(entry.pw_uid for entry in pwd.getpwall() if entry.pw_uid < 2**31) + 1
    monkeypatch.setattr(os, "getuid", lambda: os.geteuid() if has_name else nobody)
    name = pwd.getpwuid(os.geteuid()).pw_name if has_name else "unknown"
    assert settings.load({"HOME": "/nowhere"}).actor == name
    settings._login_name.cache_clear()


def test_the_environment_beats_the_file_and_an_argument_beats_both(tmp_path: Path):
    environment = write(tmp_path, 'namespace = "file"\nactor = "file"\nrecipe = "file"\n')
    environment |= {"PERDURE_NAMESPACE": "env", "PERDURE_ACTOR": "env"}
    found = settings.load(environment, namespace="argument", actor=None)
    assert (found.namespace, found.actor, found.recipe) == ("argument", "env", "file")


def test_every_setting_can_come_from_its_variable(tmp_path: Path):
    samples = {"path": "/x/y", "text": "none", "words": "moods, dreams", "number": "5", "switch": "off"}
    samples |= {"count": "9", "share": "0.5", "tables": "{mine = {like = 'facts'}}"}
    samples |= {"amount": "1.5", "patterns": "{badge = 'BDG-[0-9]+'}", "shares": "{normal = 0.02}"}
    environment = {row.variable: samples[row.kind] for row in settings.SETTINGS} | {"HOME": str(tmp_path)}
    environment |= {"PERDURE_DECAY_EXEMPT": "important", "PERDURE_KEYWORDS": "off", "PERDURE_LEARN": "rules"}
    environment |= {"PERDURE_LEARN_SCOPE": "conversation"}
    environment |= {"PERDURE_DEFAULT_TIER": "important", "PERDURE_DEFAULT_CONTEXT_TYPE": "research"}
    environment |= {"PERDURE_PRICES": "{'openai:gpt-5-mini' = {input = 0.25, output = 2}}"}
    environment |= {"PERDURE_WRITER": "model"}
    found = settings.load(environment)
    assert found.store.path == Path("/x/y")
    assert {"moods", "dreams", "preference"} <= found.categories
    assert (found.redact, found.busy_seconds, found.session) == (False, 5.0, "none")
    assert (found.max_items, found.importance_low, found.decay_exempt) == (9, 0.5, ("important",))
    assert (found.decay_rates, found.default_tier) == ({"normal": 0.02}, "important")
    assert found.recipes == {"mine": {"like": "facts"}}
    assert found.prices == {"openai:gpt-5-mini": {"input": 0.25, "output": 2}}


@pytest.mark.parametrize(
    "content",
    [
        "namespace = 5",
        "embedder = 'cloud'",
        "colour = 'red'",
        "busy_seconds = -1",
        "learn = 'someone'",
        "default_tier = 'constitutional'",
        "default_context_type = 'weather'",
        "decay_rates = {normal = 2}",
        "decay_rates = {often = 0.1}",
        "redact = 'maybe'",
        "not toml",
        "store = 1",
        "max_items = 1.5",
        "max_tokens = -1",
        "grace_days = true",
        "importance_high = 1.1",
        "importance_low = 0.8",
        "decay_exempt = ['criticl']",
        "recipes = 'mine'",
        "recipes = {mine = 5}",
        "prices = {'gpt-5-mini' = {input = 1}}",
        "prices = {'openai:gpt-5-mini' = {}}",
        "prices = {'openai:gpt-5-mini' = {entrance = 1}}",
        "prices = {'openai:gpt-5-mini' = {input = -1}}",
        "prices = {'openai:gpt-5-mini' = {input = 'a lot'}}",
    ],
)
def test_a_bad_value_in_the_file_is_an_error_that_names_it(tmp_path: Path, content: str):
    with pytest.raises(SettingsInvalid) as raised:
        settings.load(write(tmp_path, content))
    assert raised.value.remedy


def test_a_named_file_that_is_missing_is_an_error(tmp_path: Path):
    with pytest.raises(SettingsInvalid):
        settings.load({"PERDURE_CONFIG": str(tmp_path / "gone.toml")})


def test_a_file_in_the_working_directory_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "perdure.toml").write_text('namespace = "hostile"', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert settings.load({"HOME": str(tmp_path / "home")}).namespace == "default"


@pytest.mark.parametrize(("platform", "part"), [("darwin", "Library"), ("win32", "AppData"), ("linux", ".local")])
def test_each_system_has_its_own_place_for_data(platform: str, part: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.platform", platform)
    assert part in settings.directory("data", {"HOME": "/home/ada"}).parts


def test_the_xdg_directories_are_respected_when_absolute(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.platform", "linux")
    assert settings.directory("cache", {"HOME": "/h", "XDG_CACHE_HOME": "/c"}) == Path("/c/perdure")
    assert settings.directory("cache", {"HOME": "/h", "XDG_CACHE_HOME": "c"}) == Path("/h/.cache/perdure")


def test_whoever_decides_what_is_written_can_be_said_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PERDURE_WRITER", "model")
    with Memory(tmp_path / "agent.db", embedder="none") as memory:
        number = memory.remember("The staging server is in Oslo").record.number
        with pytest.raises(NotAllowed):
            memory.erase(number, confirm=True)
        with pytest.raises(NotAllowed):
            memory.writing_as(writer="person")
    with Memory(tmp_path / "agent.db", embedder="none", writer="person") as memory:
        assert memory.erase(number, confirm=True).records
    monkeypatch.setenv("PERDURE_WRITER", "robot")
    with pytest.raises(SettingsInvalid, match="writer"):
        Memory(tmp_path / "agent.db", embedder="none")

"""The settings of a project: S3's `config.jsonc`, below the user's own."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from cli.user import User
from mcp_server.host import started

from perdure import Memory, settings
from perdure.bank.memory_files import save_is_due, save_phrase
from perdure.errors import SettingsInvalid
from perdure.session.start import session_block
from perdure.trusted_projects import trust

PLACE = ".opencode/memory/config.jsonc"
# The example of the specification.
SPECIFIED = """{
  "semantic": {
    "enabled": true,
    "model": "local",  // "local" | "openai"
    "dimensions": 384,
    "indexPath": ".opencode/memory/database/memory-index.sqlite"
  },
  "triggers": {
    "autoSaveInterval": 20,
    "phrases": ["save context", "document this"]
  },
  "memory": {
    "decay": {
      "enabled": true,
      "rates": {
        "constitutional": 0,
        "critical": 0.001,
        "important": 0.005,
        "normal": 0.01,
        "temporary": 0.05,
        "deprecated": 0.1
      },
      "minFloor": 0.1,
      "exemptTiers": ["constitutional", "critical"]
    },
    "defaultTier": "normal",
    "defaultContextType": "general"
  }
}
"""


def project(tmp_path: Path, config: str | dict[str, Any], place: str = PLACE) -> Path:
    file = tmp_path / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(config if isinstance(config, str) else json.dumps(config, indent=1), encoding="utf-8")
    return tmp_path


def loaded(tmp_path: Path, config: str | dict[str, Any], **environment: str) -> settings.Settings:
    return settings.load({"HOME": str(tmp_path), **environment}, project=project(tmp_path, config))


def test_the_file_of_the_specification_is_read_whole(tmp_path: Path):
    found = loaded(tmp_path, SPECIFIED)
    assert (found.embedder, found.embedder_dimensions) == ("local", 0)
    assert (found.auto_save_interval, found.save_phrases) == (20, ("save context", "document this"))
    assert (found.decay, found.decay_rates["temporary"], found.decay_floor) == (True, 0.05, 0.1)
    assert found.decay_exempt == ("constitutional", "critical")
    assert (found.default_tier, found.default_context_type) == ("normal", "general")


def test_the_users_own_settings_count_more(tmp_path: Path):
    config = {"semantic": {"model": "openai", "dimensions": 256}, "memory": {"defaultTier": "important"}}
    trust(tmp_path, {"HOME": str(tmp_path)})
    found = loaded(tmp_path, config)
    assert (found.embedder, found.embedder_dimensions) == ("openai:text-embedding-3-small", 256)
    own = loaded(tmp_path, config, PERDURE_EMBEDDER="none", PERDURE_DEFAULT_TIER="critical")
    assert (own.embedder, own.embedder_dimensions, own.default_tier) == ("none", 0, "critical")


def test_a_project_cannot_choose_where_memories_go(tmp_path: Path):
    found = loaded(tmp_path, {"semantic": {"indexPath": "/elsewhere.db"}, "store": "/x.db", "egress": ["evil.example"]})
    assert found.store.path == tmp_path / ".local/share/perdure/memory.db"
    assert found.egress == ()


# What a project may not choose: code, a folder, a server, a package that somebody installed; and which of these it may
# when a person trusts it.
CHOICES = {
    "sentence-transformers:/proc/self/cwd/model": False,
    "fastembed:/usr/lib": False,
    "someone-s-plugin:x": False,
    "openai": True,
    "ollama:nomic-embed-text": True,
    "gemini:gemini-embedding-001": True,
}


@pytest.mark.parametrize(("model", "trustable"), CHOICES.items())
def test_which_model_is_asked_is_for_the_user_to_say(tmp_path: Path, model: str, *, trustable: bool):
    found = loaded(tmp_path, {"semantic": {"model": model, "dimensions": 256}, "memory": {"defaultTier": "important"}})
    assert (found.embedder, found.embedder_dimensions, found.egress) == ("local", 0, ())
    assert found.default_tier == "important"
    user = User({"HOME": str(tmp_path), "CLAUDE_PROJECT_DIR": str(tmp_path), "PERDURE_STORE": str(tmp_path / "m.db")})
    user.done("remember", "Alice prefers dark mode")
    told = user("doctor", "--json").json["findings"]
    (finding,) = (each for each in told if each["check"] == "configuration")
    assert (finding["level"], PLACE in finding["sentence"]) == ("warning", True)
    assert "perdure config set embedder" in finding["remedy"]
    assert ("perdure session trust" in finding["remedy"]) is trustable
    user.done("session", "trust", "--project", str(tmp_path))
    again = settings.load({"HOME": str(tmp_path)}, project=tmp_path)
    assert again.embedder.startswith(model if trustable else "local")
    assert any(each["check"] == "configuration" for each in user("doctor", "--json").json["findings"]) is not trustable


@pytest.mark.parametrize("tier", ["critical", "temporary", "deprecated"])
def test_a_stranger_hides_nothing_that_is_remembered_in_its_project(tmp_path: Path, tier: str):
    assert loaded(tmp_path, {"memory": {"defaultTier": tier}}).default_tier == "normal"
    user = User({"HOME": str(tmp_path), "CLAUDE_PROJECT_DIR": str(tmp_path), "PERDURE_STORE": str(tmp_path / "m.db")})
    user.done("remember", "Alice prefers dark mode")
    assert "dark mode" in user.done("recall", "dark mode").out
    (finding,) = (each for each in user("doctor", "--json").json["findings"] if each["check"] == "configuration")
    assert f"perdure config set default_tier {tier}" in finding["remedy"]
    user.done("session", "trust", "--project", str(tmp_path))
    assert settings.load({"HOME": str(tmp_path)}, project=tmp_path).default_tier == tier


@pytest.mark.parametrize("file", [PLACE, ".claude/iflow-dev.local.md"])
def test_a_session_is_told_that_a_choice_is_not_a_project_s(tmp_path: Path, file: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PERDURE_STORE", str(tmp_path / "m.db"))
    with Memory(embedder="none") as memory:
        memory.remember("Never deploy on Friday", title="Fridays", category="anti-patterns")
    text = "---\nmemory_embedding_provider: gemini\nmemory_keyword_provider: ollama\n---\n"
    project(tmp_path, {"semantic": {"model": "openai"}} if file == PLACE else text, file)
    told = session_block(None, tmp_path, budget=50)
    assert "Never deploy on Friday" in told.text
    line = told.text.splitlines()[-2]
    assert line == (
        "*Memory: A file of the project chooses its embedder, which only its user may: `perdure doctor` says how. "
        "The defaults are in use.*"
    )
    assert "session trust" not in told.text


def test_the_model_of_a_project_is_not_loaded_by_the_server(tmp_path: Path):
    """A stand-in for the library tells whether somebody loads a model with it."""
    library = tmp_path / "packages" / "sentence_transformers.py"
    library.parent.mkdir()
    library.write_text(f"open({str(tmp_path / 'loaded')!r}, 'w').close()\nclass SentenceTransformer: pass\n", "utf-8")
    folder = project(tmp_path / "project", {"semantic": {"model": "sentence-transformers:/proc/self/cwd/model"}})
    (folder / "model").mkdir()
    (folder / "model" / "modules.json").write_text("[]", "utf-8")
    environment = {"PYTHONPATH": str(library.parent), "CLAUDE_PROJECT_DIR": str(folder), "PERDURE_EMBEDDER": ""}
    with started("--store", str(tmp_path / "m.db"), environment=environment, folder=folder) as host:
        host.result("remember", text="Alice prefers dark mode")
        assert "dark mode" in host.text("recall", query="dark mode")
    assert not (tmp_path / "loaded").exists()


@pytest.mark.parametrize("what", ["large", "pipe", "device"])
def test_a_file_without_an_end_is_not_read(tmp_path: Path, what: str):
    path = project(tmp_path, "{}") / PLACE
    path.unlink()
    if what == "pipe":
        os.mkfifo(path)
    elif what == "device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as file:
            file.truncate(6 << 40)
    if what == "large":
        with pytest.raises(SettingsInvalid, match="has more than"):
            settings.load({"HOME": str(tmp_path)}, project=tmp_path)
    else:
        assert settings.load({"HOME": str(tmp_path)}, project=tmp_path).embedder == "local"


def test_search_by_meaning_can_be_switched_off_in_a_project(tmp_path: Path):
    assert loaded(tmp_path, {"semantic": {"enabled": False, "model": "openai"}}).embedder == "none"


def test_a_file_beside_the_database_counts_as_well(tmp_path: Path):
    place = ".opencode/memory/database/config.jsonc"
    folder = project(tmp_path, {"triggers": {"autoSaveInterval": 5}}, place)
    assert settings.load({"HOME": str(tmp_path)}, project=folder).auto_save_interval == 5


@pytest.mark.parametrize(
    ("config", "line", "remedy"),
    [
        ('{\n  "semantic": {\n    "enabled": "yes"\n  }\n}', 3, "true or false"),
        ('{\n\n"semantic": {"model": "cloud"}}', 3, '"local", "openai"'),
        ('{"semantic": {"model": "local",\n "dimensions": 768}}', 2, "384"),
        ('{"triggers": {"autoSaveInterval": -1}}', 1, "whole number"),
        ('{"triggers": {"phrases": "save"}}', 1, "list of texts"),
        ('{"memory": {\n"decay": {"rates": {"often": 1}}}}', 2, "temporary"),
        ('{"memory": {\n"decay": {"minFloor": 2}}}', 2, "from 0 to 1"),
        ('{"memory": {"decay": {\n"exemptTiers": ["some"]}}}', 2, "critical"),
        ('{"memory": {"defaultTier": "constitutional"}}', 1, "important"),
        ('{"memory": {"defaultContextType": "x"}}', 1, "discovery"),
        ('{"memory": 5}', 1, "between { and }"),
        ('{\n"memory": {,}\n}', 2, "Mend that line"),
        ("[]", 1, "between { and }"),
    ],
)
def test_a_mistake_is_named_with_its_file_its_line_and_what_to_do(tmp_path: Path, config: str, line: int, remedy: str):
    with pytest.raises(SettingsInvalid) as refused:
        loaded(tmp_path, config)
    assert f"{PLACE}, line {line}, " in refused.value.sentence
    assert remedy in refused.value.remedy


def test_perdure_settings_shows_what_comes_from_the_project(tmp_path: Path):
    folder = project(tmp_path, SPECIFIED)
    user = User({"HOME": str(tmp_path), "CLAUDE_PROJECT_DIR": str(folder), "PERDURE_DECAY_FLOOR": "0.3"})
    shown = {one["name"]: one for one in user.done("config", "--json").json["settings"]}
    assert (shown["auto_save_interval"]["value"], shown["auto_save_interval"]["origin"]) == (20, str(folder / PLACE))
    assert (shown["decay_floor"]["value"], shown["decay_floor"]["origin"]) == (0.3, "PERDURE_DECAY_FLOOR")
    assert shown["max_items"]["origin"] == "default"


def test_a_new_memory_gets_the_tier_and_the_context_type_of_the_settings(tmp_path: Path):
    chosen = loaded(tmp_path, {"memory": {"defaultTier": "important", "defaultContextType": "research"}})
    with Memory(":memory:", settings=chosen, embedder="none") as memory:
        first = memory.remember("Alice prefers dark mode").record
        other = memory.remember("Bob likes tea", tier="critical", context_type="decision").record
    assert (first.tier, first.context_type) == ("important", "research")
    assert (other.tier, other.context_type) == ("critical", "decision")


@pytest.mark.parametrize(("messages", "due"), [(0, False), (19, False), (20, True), (21, False), (40, True)])
def test_the_context_is_to_be_saved_after_so_many_messages(tmp_path: Path, messages: int, *, due: bool):
    assert save_is_due(messages, loaded(tmp_path, SPECIFIED)) is due
    assert save_is_due(messages, loaded(tmp_path, "{}")) is False


@pytest.mark.parametrize(
    ("prompt", "phrase"),
    [
        ("Save context, please", "save context"),
        ("could you document this?", "document this"),
        ("save the context", None),
        ("", None),
    ],
)
def test_a_prompt_asks_to_save_with_a_phrase_of_the_settings(tmp_path: Path, prompt: str, phrase: str | None):
    assert save_phrase(prompt, loaded(tmp_path, SPECIFIED)) == phrase

"""S3 section 6, "config.jsonc": each of its entries by the setting that does the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from clocks import START, HandClock

from perdure import Memory, settings
from perdure.bank.memory_files import save_is_due, save_phrase
from perdure.embed.local import unavailable
from perdure.errors import SettingsInvalid
from perdure.testing.embedder import WordEmbedder


@pytest.mark.parametrize(("embedder", "mode"), [("none", "keyword"), (WordEmbedder(), "hybrid")], ids=["off", "on"])
def test_search_by_meaning_can_be_switched_off(tmp_path: Path, embedder: str | WordEmbedder, mode: str):
    """S3 config enabled: `embedder = "none"` is `"enabled": false`."""
    with Memory(tmp_path / "m.db", embedder=embedder) as memory:
        memory.remember("Alice prefers dark mode")
        assert memory.recall("dark mode").mode == mode


def test_the_model_is_local_or_one_of_openai():
    """S3 config model: one setting, and what is neither is refused."""
    assert settings.load().embedder == "local"
    assert settings.load(embedder="openai:text-embedding-3-small").embedder == "openai:text-embedding-3-small"
    with pytest.raises(SettingsInvalid, match="embedder is 'cloud'"):
        settings.load(embedder="cloud")


@pytest.mark.skipif(unavailable() is not None, reason="the local model is not installed")
def test_the_local_model_has_384_dimensions(tmp_path: Path):
    """S3 config dimensions: those of the packaged model; `embedder_dimensions` chooses where a model lets you."""
    with Memory(tmp_path / "m.db") as memory:
        memory.remember("Alice prefers dark mode")
        (finding,) = (one for one in memory.doctor() if one.check == "embedder")
    assert "384" in finding.sentence
    assert settings.load(embedder_dimensions=384).embedder_dimensions == 384


def test_the_place_of_the_database_is_a_setting(tmp_path: Path):
    """S3 config place: `store`, in the file, in the environment or as an argument."""
    place = tmp_path / "deep" / "memory-index.sqlite"
    with Memory(settings=settings.load(store=str(place), embedder="none")) as memory:
        memory.remember("Alice prefers dark mode")
    assert place.exists()


def test_decay_can_be_switched_off():
    """S3 config decay: it is on unless `decay = false`; after a year only the switch tells the two scores apart."""
    clock = HandClock(START)
    with Memory(":memory:", embedder="none", clock=clock) as memory:
        memory.remember("Alice prefers dark mode")
        clock.forward(days=365)
        assert settings.load().decay
        fading = memory.recall("dark mode", recipe="tiered")[0].score
        assert memory.recall("dark mode", recipe="tiered", use_decay=False)[0].score > fading
    with Memory(":memory:", settings=settings.load(embedder="none", decay=False), clock=clock) as memory:
        memory.remember("Alice prefers dark mode")
        clock.forward(days=365)
        lasting = memory.recall("dark mode", recipe="tiered")[0].score
        assert lasting == memory.recall("dark mode", recipe="tiered", use_decay=False)[0].score > fading


def test_constitutional_and_critical_memories_do_not_fade_unless_the_settings_say_so():
    """S3 config exempt: `decay_exempt`."""
    assert settings.load().decay_exempt == ("constitutional", "critical")
    clock = HandClock(START)
    with Memory(":memory:", embedder="none", clock=clock) as memory:
        memory.remember("Alice prefers dark mode", tier="critical")
        clock.forward(days=365)
        answers = [memory.recall("dark mode", recipe="tiered", use_decay=use)[0].score for use in (True, False)]
        assert answers[0] == answers[1]


def test_a_memory_is_of_the_tier_normal_unless_somebody_says_otherwise():
    """S3 config tier: the same for every store."""
    with Memory(":memory:", embedder="none") as memory:
        assert memory.remember("Alice prefers dark mode").record.tier == "normal"


def test_a_memory_is_of_the_general_kind_unless_somebody_says_otherwise():
    """S3 config context: the same for every store."""
    with Memory(":memory:", embedder="none") as memory:
        assert memory.remember("Alice prefers dark mode").record.context_type == "general"


def from_file(tmp_path: Path, text: str) -> settings.Settings:
    file = tmp_path / ".opencode" / "memory" / "config.jsonc"
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    return settings.load({"HOME": str(tmp_path)}, project=tmp_path)


def test_the_file_is_read_where_the_tool_puts_it(tmp_path: Path):
    """S3 config file: comments and trailing commas are allowed."""
    found = from_file(tmp_path, '{\n  // the model\n  "semantic": {"enabled": false},\n}')
    assert found.embedder == "none"


def test_the_context_is_saved_after_so_many_messages(tmp_path: Path):
    """S3 config interval: every 20th message is one, the others are not."""
    found = from_file(tmp_path, '{"triggers": {"autoSaveInterval": 20}}')
    assert [count for count in range(1, 61) if save_is_due(count, found)] == [20, 40, 60]


def test_phrases_of_the_file_ask_for_the_context_to_be_saved(tmp_path: Path):
    """S3 config phrases: whatever stands around them."""
    found = from_file(tmp_path, '{"triggers": {"phrases": ["save context", "document this"]}}')
    assert save_phrase("Save context for the auth work", found) == "save context"
    assert save_phrase("What is a context?", found) is None


def test_each_tier_fades_as_fast_as_the_file_says(tmp_path: Path):
    """S3 config rates: a tier that it does not name fades as always."""
    found = from_file(tmp_path, '{"memory": {"decay": {"rates": {"normal": 0.001}}}}')
    assert decayed(found, days=50) == pytest.approx(0.95)
    assert decayed(settings.load(), days=50) == pytest.approx(0.5)


def test_decay_leaves_what_the_file_says(tmp_path: Path):
    """S3 config floor: for every tier."""
    found = from_file(tmp_path, '{"memory": {"decay": {"minFloor": 0.4}}}')
    assert decayed(found, days=1000) == pytest.approx(0.4)


def decayed(chosen: settings.Settings, *, days: int) -> float:
    """What decay leaves of a normal memory that was not used for so long."""
    clock = HandClock(START)
    with Memory(":memory:", settings=chosen, embedder="none", clock=clock) as memory:
        memory.remember("Alice prefers dark mode")
        clock.forward(days=days)
        return memory.recall("dark mode", recipe="tiered")[0].explain["decay"].normalised

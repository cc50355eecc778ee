"""Language models are opened by the name in the settings: ours, and those of any package that is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from llm.scripted import ABOUT_BRIDGES

from perdure.errors import ModelUnavailable, SettingsInvalid
from perdure.llm.port import LanguageModel
from perdure.llm.registry import open_llm
from perdure.llm.structured import ask
from perdure.providers.access import Access
from perdure.settings import load

Install = Callable[[str], None]
PARROT = """
import json

class Parrot:
    name = "parrot:grey"

    def answer(self, question, *, seconds):
        return json.dumps({"keywords": question.text.split()[:3]})

def open_model(model, options):
    return Parrot()
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a package with a language model called `parrot` where Python finds it."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    def put(source: str) -> None:
        information = tmp_path / "parrot_llm-1.0.dist-info"
        information.mkdir()
        (information / "METADATA").write_text("Metadata-Version: 2.1\nName: parrot_llm\nVersion: 1.0\n", "utf-8")
        (information / "entry_points.txt").write_text("[perdure.llms]\nparrot = parrot_llm:open_model\n", "utf-8")
        (tmp_path / "parrot_llm.py").write_text(source, "utf-8")
        monkeypatch.delitem(sys.modules, "parrot_llm", raising=False)

    return put


def open_named(name: str) -> LanguageModel:
    return open_llm(name, load(llm=name), Access(redact=lambda text: text))


def test_a_package_brings_a_language_model_in_one_file_and_one_entry_point(install: Install):
    install(PARROT)
    assert ask(open_named("parrot:grey"), ABOUT_BRIDGES, seconds=5) == {"keywords": ["The", "bridge", "over"]}


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            "def open_model(model, options): raise OSError('no perch')",
            "parrot:grey cannot be opened: OSError: no perch.",
        ),
        ("def open_model(model, options): return None", "parrot:grey is None, which is not a language model."),
    ],
)
def test_a_package_whose_model_cannot_be_opened_says_why(install: Install, source: str, said: str):
    install(source)
    with pytest.raises(ModelUnavailable) as refused:
        open_named("parrot:grey")
    assert refused.value.sentence == said


def test_a_provider_that_nobody_has_is_a_wrong_setting_and_the_others_are_named():
    with pytest.raises(SettingsInvalid) as refused:
        open_named("antropic:claude")
    assert "anthropic, gemini, ollama, openai" in refused.value.remedy

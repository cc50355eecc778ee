"""Providers are found by their entry points: ours, and those of any package that is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from perdure.errors import ProviderUnavailable, SettingsInvalid
from perdure.providers.plugins import load, provider_names

Install = Callable[[str, str, str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a package with one module and one entry point where Python finds it, as an installer would."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    def put(package: str, entry_point: str, source: str) -> None:
        information = tmp_path / f"{package}-1.0.dist-info"
        information.mkdir()
        (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", "utf-8")
        (information / "entry_points.txt").write_text(f"[perdure.embedders]\n{entry_point}\n", "utf-8")
        (tmp_path / f"{package}.py").write_text(source, "utf-8")

    return put


def test_a_package_brings_a_provider_by_naming_it_in_an_entry_point(install: Install):
    install("moon_embedder", "moon = moon_embedder:open_moon", "def open_moon(): return 'risen'")
    assert "moon" in provider_names("perdure.embedders")
    assert "moon" not in provider_names("perdure.llms")
    assert load("perdure.embedders", "moon")() == "risen"


def test_a_name_that_nobody_has_is_refused_with_the_names_that_exist(install: Install):
    install("sun_embedder", "sun = sun_embedder:x", "x = 1")
    with pytest.raises(SettingsInvalid) as refused:
        load("perdure.embedders", "sunn")
    assert "'sunn'" in refused.value.sentence
    assert "sun" in refused.value.remedy


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import a_library_that_is_not_here", "ModuleNotFoundError: No module named 'a_library_that_is_not_here'"),
        ("raise RuntimeError('needs a GPU')", "RuntimeError: needs a GPU"),
        ("", "AttributeError"),
    ],
)
def test_a_provider_that_cannot_be_imported_says_why_in_its_own_words(install: Install, source: str, said: str):
    install("broken_embedder", "broken = broken_embedder:open_broken", source)
    with pytest.raises(ProviderUnavailable) as refused:
        load("perdure.embedders", "broken")
    assert said in refused.value.sentence
    assert "broken_embedder" in refused.value.remedy


def test_no_other_package_takes_the_name_of_a_provider_that_is_built_in(install: Install):
    names = provider_names("perdure.embedders")
    if not names:
        pytest.skip("perdure is not installed with its entry points")
    install("aaa_impostor", f"{names[0]} = aaa_impostor:steal", "def steal(): return 'the key'")
    assert load("perdure.embedders", names[0]).__module__.startswith("perdure.")

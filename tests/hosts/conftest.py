"""Coding agents that `make test-hosts` has installed; without it these tests are skipped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hosts.running import Claude, Codex, Copilot, Gemini, Host

HOSTS: dict[str, type[Host]] = {each.name: each for each in (Claude, Codex, Copilot, Gemini)}


@pytest.fixture(autouse=True)
def installed() -> None:
    if "PERDURE_HOSTS" not in os.environ:
        pytest.skip("`make test-hosts` runs these")


@pytest.fixture(params=HOSTS)
def host(request: pytest.FixtureRequest, installed: None, tmp_path: Path) -> Host:
    """Each of them in turn, of a person with a home directory and a project named garden."""
    return HOSTS[request.param](tmp_path / "home", tmp_path / "garden")


@pytest.fixture
def claude(installed: None, tmp_path: Path) -> Claude:
    return Claude(tmp_path / "home", tmp_path / "garden")


@pytest.fixture
def codex(installed: None, tmp_path: Path) -> Codex:
    return Codex(tmp_path / "home", tmp_path / "garden")


@pytest.fixture
def copilot(installed: None, tmp_path: Path) -> Copilot:
    return Copilot(tmp_path / "home", tmp_path / "garden")


@pytest.fixture
def gemini(installed: None, tmp_path: Path) -> Gemini:
    return Gemini(tmp_path / "home", tmp_path / "garden")

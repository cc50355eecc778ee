"""One line installs recall by meaning: with pip into an empty environment, and in a project of uv, where it stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
# Set-up from a package index; a line that is slower than this has failed.
PATIENCE_SECONDS = 300


def run(command: Sequence[str | Path], folder: Path) -> str:
    """What a command prints; it has an empty environment of Python around it, not ours."""
    environ = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    environ["UV_SYSTEM_CERTS"] = "1"
    done = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, encoding="utf-8", check=False, timeout=PATIENCE_SECONDS
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two wheels of `make build`."""
    folder = tmp_path_factory.mktemp("wheels")
    for package in (REPOSITORY, REPOSITORY / "packages" / "minilm"):
        run([BIN / "hatchling", "build", "--target", "wheel", "--directory", folder], package)
    assert len(list(folder.glob("*.whl"))) == 2
    return folder


def recalled_by_meaning(perdure: Sequence[str | Path], folder: Path) -> bool:
    """Whether a question is answered that shares no word with its answer."""
    run([*perdure, "remember", "Alice prefers dark mode"], folder)
    answer = json.loads(run([*perdure, "recall", "which theme does she like?", "--json"], folder))
    return [hit["record"]["text"] for hit in answer["hits"]] == ["Alice prefers dark mode"]


def test_one_line_of_pip_gives_recall_by_meaning(wheels: Path, tmp_path: Path):
    environment = tmp_path / "environment"
    run([sys.executable, "-m", "venv", environment], tmp_path)
    pip = [environment / "bin" / "python", "-m", "pip"]
    run([*pip, "install", "--quiet", "--find-links", wheels, "perdure[local]"], tmp_path)
    assert recalled_by_meaning([environment / "bin" / "perdure"], tmp_path)
    installed = {package["name"] for package in json.loads(run([*pip, "list", "--format", "json"], tmp_path))}
    assert "perdure-minilm" in installed
    assert installed.isdisjoint({"torch", "sentence-transformers"})
    run([*pip, "check"], tmp_path)


def test_recall_by_meaning_stays_in_a_project_of_uv_when_it_is_synchronised(wheels: Path, tmp_path: Path):
    project = tmp_path / "agent"
    uv = BIN / "uv"
    run([uv, "init", "--bare", "--python", sys.executable, project], tmp_path)
    run([uv, "add", "--quiet", "--find-links", wheels, "perdure[local]"], project)
    assert recalled_by_meaning([uv, "run", "--offline", "perdure"], project)
    run([uv, "sync", "--quiet", "--find-links", wheels], project)
    assert recalled_by_meaning([project / ".venv" / "bin" / "perdure"], project)

"""What Perdure shows to the world is a list, and importing it costs next to nothing. Modules are counted, not time."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import perdure
from perdure.cli.app import COMMANDS

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"

# Loaded by nobody who only asks for a memory.
NEVER = {"pydantic", "typer", "torch", "transformers", "sentence_transformers", "huggingface_hub", "sqlite3"}
NETWORK = {"asyncio", "http.client", "requests", "ssl", "urllib.request"}
HEAVY = {"apsw", "click", "numpy", "onnxruntime", "rich", "tokenizers"}


def loaded_by(script: str) -> set[str]:
    """The modules that a fresh process has after running `script`, above what it started with."""
    around = (
        f"import sys, json\nbefore = set(sys.modules)\n{script}\nprint(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", around], capture_output=True, text=True, encoding="utf-8", check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def command(*arguments: str) -> str:
    return f"""
sys.argv = ["perdure", *{list(arguments)!r}]
from perdure.cli.app import main
try:
    main()
except SystemExit as stop:
    assert not stop.code, stop.code
"""


def test_the_documented_names_are_the_exported_names():
    documented = re.findall(
        r"^## `perdure\.(\w+)`", (REFERENCE / "python.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(documented) == sorted(perdure.__all__)


def test_every_exported_name_can_be_had():
    assert [name for name in perdure.__all__ if getattr(perdure, name, None) is None] == []
    assert set(perdure.__all__) <= set(dir(perdure))


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="Momory"):
        _ = perdure.Momory


def test_importing_perdure_loads_itself_alone_and_little_else():
    loaded = loaded_by("import perdure")
    assert {name for name in loaded if name.startswith("perdure")} == {"perdure"}
    assert loaded & (HEAVY | NEVER | NETWORK) == set()
    assert len(loaded) <= 40


def test_the_names_of_perdure_cost_no_model_and_no_command_line():
    loaded = loaded_by("from perdure import Memory, Record, Hit, errors")
    assert loaded & (HEAVY | NEVER | NETWORK) == set()


def test_asking_for_help_opens_no_store():
    loaded = loaded_by(command("--help"))
    assert loaded & ((HEAVY - {"click"}) | NEVER | NETWORK) == set()
    assert "perdure.memory" not in loaded


def test_recall_on_a_cold_process_loads_no_other_command(tmp_path: Path):
    store = str(tmp_path / "memory.db")
    with perdure.Memory(store) as memory:
        memory.remember("Alice prefers dark mode")
    loaded = loaded_by(command("recall", "which theme does she like?", "--store", store))
    others = {f"perdure.cli.{module}" for module, _ in COMMANDS.values()} - {"perdure.cli.recall"}
    assert "perdure.cli.recall" in loaded
    assert loaded & (others | NEVER | NETWORK) == set()
    # What asks providers, and how they are found, is for those who configured one.
    providers = ("perdure.providers", "perdure.llm", "perdure.embed.registry", "perdure.embed.server", "httpcore2")
    assert {name for name in loaded if name.startswith((*providers, "importlib.metadata"))} == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_loads_only_when_it_is_called(name: str):
    loaded = loaded_by(command(name, "--help"))
    commands = {f"perdure.cli.{module}" for module, _ in COMMANDS.values()}
    assert loaded & commands == {f"perdure.cli.{COMMANDS[name][0]}"}
    assert loaded & (NEVER | NETWORK | {"numpy", "apsw", "onnxruntime"}) == set()

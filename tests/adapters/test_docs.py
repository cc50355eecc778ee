"""Every block of the adapters' pages runs, as those of the other pages do (tests/test_docs_blocks.py)."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from test_docs_blocks import REPOSITORY, Reader
from transcripts import fences

PAGES = {path.stem: path.read_text(encoding="utf-8") for path in sorted((REPOSITORY / "docs/adapters").glob("*.md"))}
FRAMEWORKS = {
    "adk": "google.adk", "agent-framework": "agent_framework", "anthropic": "anthropic", "crewai": "crewai",
    "langchain": "langchain_core", "langgraph": "langgraph", "llama-index": "llama_index.core",
    "openai-agents": "agents", "pydantic-ai": "pydantic_ai_harness", "strands": "strands",
}  # fmt: skip


def is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("page", sorted(PAGES.keys() - {"README"}))
def test_every_block_of_the_page_runs(page: str, stranger: Path, monkeypatch: pytest.MonkeyPatch):
    if not is_there(FRAMEWORKS[page]):
        pytest.skip(f"`make test-adapters` has {FRAMEWORKS[page]}")
    reader = Reader(stranger, monkeypatch)
    try:
        for fence in fences(PAGES[page]):
            # The test of ADK loads such a file.
            if fence.language != "yaml":
                reader.reads(replace(fence))
    finally:
        reader.leaves()


def test_every_framework_is_tried_in_the_oldest_version_that_its_extra_names():
    extras: dict[str, list[str]] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    locks = ("adapters-floors.txt", "adapters-oldest.txt", "crewai.txt")
    pins = [
        line.split()[0].split("==")
        for lock in locks
        for line in (REPOSITORY / "requirements" / lock).read_text("utf-8").splitlines()
        if line[:1].isalpha()
    ]
    tried = {(name, re.sub(r"(\.0)+$", "", version)) for name, version in pins}
    for page in PAGES.keys() - {"README"}:
        (floor,) = extras[page]
        name, _, version = floor.partition(">=")
        assert (name, re.sub(r"(\.0)+$", "", version)) in tried, floor


def test_every_adapter_has_a_page_that_the_first_one_names_and_an_extra():
    adapters = {path.stem for path in (REPOSITORY / "src/perdure/adapters").glob("[!_]*.py")} - {"documents"}
    pages = PAGES.keys() - {"README"}
    assert {page.replace("-", "_") for page in pages} == adapters
    assert all(f"]({page}.md)" in PAGES["README"] for page in pages)

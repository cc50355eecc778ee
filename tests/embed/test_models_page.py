"""docs/models.md: its lines are taken as they stand, and its worked example is installed and used."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from embed.wires import WIRES, vectors_of
from providers.server import FaultServer, Received, Refuse, answering
from transcripts import blocks

from perdure import settings
from perdure.embed import gemini, ollama, openai, voyage
from perdure.embed.registry import open_embedder
from perdure.providers.access import Access
from perdure.providers.plugins import provider_names

PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")


def section(heading: str) -> str:
    return PAGE.split(f"\n{heading}\n")[1].split(f"\n{heading.partition(' ')[0]} ")[0]


@pytest.mark.parametrize("provider", provider_names("perdure.embedders"))
def test_every_embedder_has_a_section_whose_lines_choose_it(provider: str):
    lines = tomllib.loads(blocks(section(f"### {provider}"), "toml")[0])
    chosen = settings.load(**lines)
    assert chosen.embedder.partition(":")[0] == provider
    assert f'`embedder = "{provider}:' in section("## Embedders")
    assert open_embedder(chosen.embedder, chosen, Access(redact=str, egress=chosen.egress))


@pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
def test_the_page_names_each_provider_s_key_host_and_dimensions_as_they_are(wire: Any):
    (row,) = (line for line in section("## Embedders").splitlines() if f'"{wire.model}"`' in line and "|" in line)
    assert f"| {wire.dimensions} |" in row
    if wire.key:
        assert f"| `{wire.key}` | `{wire.host}` |" in row
        text = section(f"### {wire.model.partition(':')[0]}")
        assert f'egress = ["{wire.host}"]' in text
        assert f"export {wire.key}=" in text


@pytest.mark.parametrize(
    ("name", "module"), [("Ollama", ollama), ("OpenAI and alike", openai), ("Gemini", gemini), ("Voyage", voyage)]
)
def test_the_page_names_the_limits_as_they_are(name: str, module: Any):
    (row,) = (line for line in PAGE.splitlines() if line.startswith(f"| {name} |"))
    numbers = [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*\d|\d", row)]
    limits = module._LIMITS
    assert numbers == [limits.texts, limits.tokens, limits.window]


@pytest.mark.parametrize("provider", provider_names("perdure.llms"))
def test_every_language_model_is_in_its_table(provider: str):
    assert f'`llm = "{provider}:' in section("## Language models")


USE = """
from perdure import Memory
with Memory(":memory:", embedder="tei:bge-small-en-v1.5") as memory:
    assert not memory.remember("Alice prefers dark mode").vector_pending
    print(memory.recall("which mode is preferred?").mode)
    print(next(one.sentence for one in memory.doctor() if one.check == "embedder"))
"""


def test_the_worked_example_is_a_package_that_can_be_installed_and_used(server: FaultServer, tmp_path: Path):
    """https://huggingface.github.io/text-embeddings-inference: POST /embed takes `inputs` and `truncate`, at most 32
    texts unless it was started otherwise, and answers with a list of vectors.
    """

    def tei(received: Received) -> Sequence[Sequence[float]]:
        body = received.json
        if received.path != "/embed" or set(body) != {"inputs", "truncate"} or not 0 < len(body["inputs"]) <= 32:
            raise Refuse(422, "not what text-embeddings-inference takes")
        return vectors_of(body["inputs"], 384)

    server.always(answering(tei))
    text = section("## Adding a provider")
    source, target = tmp_path / "source", tmp_path / "installed"
    source.mkdir()
    (project,), (module,) = blocks(text, "toml"), blocks(text, "python")
    (source / "pyproject.toml").write_text(project, "utf-8")
    (source / "perdure_tei.py").write_text(module, "utf-8")
    install = "pip install --quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation --target"
    subprocess.run([sys.executable, "-m", *install.split(), target, source], check=True, capture_output=True)
    environment = os.environ | {"PYTHONPATH": str(target), "PERDURE_EMBEDDER_URL": server.url}
    done = subprocess.run(
        [sys.executable, "-c", USE], env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "hybrid",
        "Recall by meaning asks tei/bge-small-en-v1.5/384/1; `perdure doctor --online` says whether it answers.",
    ]
    assert {(request.method, request.path) for request in server.requests} == {("POST", "/embed")}

"""S1's configuration: the front matter of `.claude/iflow-dev.local.md`, every key of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from embed.wires import WIRES
from providers.server import FaultServer, answering
from specs.projects import configure, git, inside, learn, repository, told

from perdure import Memory
from perdure.errors import SettingsInvalid
from perdure.session.configuration import read_configuration, session_settings
from perdure.testing.embedder import WordEmbedder
from perdure.trusted_projects import trust

if TYPE_CHECKING:
    from clocks import HandClock

EXAMPLE = """---
# Core toggle
memory_semantic_enabled: true          # true = SQLite + embeddings; false = MD-based fallback
memory_vector_weight: 0.6             # Weight for vector cosine similarity
memory_keyword_weight: 0.1            # Weight for FTS5 BM25 keyword match
memory_prominence_weight: 0.3         # Weight for prominence
memory_embedding_provider: "ollama"
memory_embedding_model: 'mxbai-embed-large'
memory_keyword_provider: off
memory_injection_enabled: true
memory_injection_limit: 7
---
memory_injection_limit: 99
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "website")


@pytest.fixture
def learned(clock: HandClock) -> Iterator[Memory]:
    with Memory(":memory:", embedder=WordEmbedder(), clock=clock) as memory:
        for number in range(12):
            learn(memory, f"Heuristic{number} about number {number}")
        yield memory


def test_the_front_matter_is_read_with_its_comments_and_quotes(project: Path):
    """S1 configuration file: only what stands between its two lines, and in folders below as well."""
    configure(project).write_text(EXAMPLE, encoding="utf-8")
    trust(project)
    (project / "src").mkdir()
    for folder in (project, project / "src"):
        read = read_configuration(folder)
        assert (read.semantic, read.injection, read.limit, read.problems) == (True, True, 7, ())
        assert dict(read.weights) == {"vector": 0.6, "keyword": 0.1, "prominence": 0.3}
        assert (read.embedder, read.keywords) == ("ollama:mxbai-embed-large", "off")


def test_the_weights_of_the_file_are_those_of_the_scores(project: Path, learned: Memory):
    """S1 configuration weights: what each signal gives is weighed by them."""
    configure(project, memory_vector_weight=0.1, memory_keyword_weight=0.7, memory_prominence_weight=0.2)
    configuration = read_configuration(project)
    chosen = session_settings(project)
    with Memory(learned._services.store, settings=chosen, embedder=WordEmbedder()) as memory:
        answer = memory.learnings("number 3", recipe=configuration.recipe).recall
        weights = {name: signal.weight for name, signal in answer[0].explain.items()}
    assert weights["vector"] == pytest.approx(0.1)
    assert weights["keyword"] == pytest.approx(0.7)
    assert sum(weights.values()) == pytest.approx(1)


@pytest.mark.parametrize("weights", [(0.5, 0.2, 0.5), (0.9, 0.2, -0.1), (0.5, 0.2, 0.2)])
def test_weights_that_do_not_sum_to_one_are_refused(project: Path, learned: Memory, weights: tuple[float, ...]):
    """S1 configuration sum: a person is told; a session goes on with the defaults and says so."""
    names = ("memory_vector_weight", "memory_keyword_weight", "memory_prominence_weight")
    configure(project, **dict(zip(names, weights, strict=True)))
    with pytest.raises(SettingsInvalid, match=r"sum to 1\.0") as refusal:
        read_configuration(project).require_valid()
    assert "iflow-dev.local.md" in str(refusal.value)
    block = told(project, learned)
    assert block.entries
    assert "must each be from 0 to 1 and sum to 1.0" in inside(block)[-1]
    assert sum(signal.weight for signal in block.entries[0].explain.values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("provider", "embedder", "host"),
    [
        ("gemini", "gemini:gemini-embedding-001", "generativelanguage.googleapis.com"),
        ("voyage", "voyage:voyage-code-3", "api.voyageai.com"),
        ("openai", "openai:text-embedding-3-small", "api.openai.com"),
        ("ollama", "ollama:nomic-embed-text", None),
    ],
)
def test_a_provider_in_the_user_s_file_is_leave_to_ask_it(
    project: Path, provider: str, embedder: str, host: str | None
):
    """S1 configuration provider: in a project that the user trusts, its own host may be asked, and nobody else."""
    configure(project, memory_embedding_provider=provider)
    stranger_s = session_settings(project)
    assert (stranger_s.embedder, stranger_s.egress) == ("local", ())
    trust(project)
    chosen = session_settings(project)
    assert chosen.embedder == embedder
    assert chosen.egress == ((host,) if host else ())


def test_a_file_that_git_tracks_is_no_leave(project: Path):
    """S1 configuration tracked: it came with the project, so nothing may leave because of it."""
    configure(project, memory_embedding_provider="gemini", memory_injection_limit=5)
    git(project, "add", "--force", ".")
    git(project, "commit", "--quiet", "--message", "theirs")
    read = read_configuration(project)
    assert (read.embedder, read.limit) == (None, 5)
    assert "git tracks the file" in read.problems[0]
    assert session_settings(project).egress == ()


def test_what_the_user_set_for_perdure_counts_first(project: Path, monkeypatch: pytest.MonkeyPatch):
    """S1 configuration one store: all projects share it, and one model makes its vectors."""
    configure(project, memory_embedding_provider="gemini", memory_keyword_provider="haiku")
    assert session_settings(project).keywords == "auto"
    trust(project)
    monkeypatch.setenv("PERDURE_EMBEDDER", "none")
    chosen = session_settings(project)
    assert (chosen.embedder, chosen.egress, chosen.keywords) == ("none", (), "haiku")


def test_the_model_of_the_file_is_asked(project: Path, monkeypatch: pytest.MonkeyPatch):
    """S1 configuration model: by the session's memory, at the provider's server."""
    wire = WIRES["gemini"]
    configure(project, memory_embedding_provider="gemini", memory_embedding_model="gemini-embedding-001")
    trust(project)
    with FaultServer() as server:
        server.always(answering(wire.answer))
        monkeypatch.setenv("PERDURE_EMBEDDER_URL", f"{server.url}/v1beta")
        monkeypatch.setenv(wire.key, "sk-test")
        with Memory(":memory:", settings=session_settings(project)) as memory:
            assert not memory.remember("Read real files").vector_pending
        assert "gemini-embedding-001" in server.requests[0].path


def test_no_more_learnings_than_the_limit_are_told(project: Path, learned: Memory):
    """S1 configuration limit: 20 by default, of which five are told where nothing says what the project is about; 0
    tells none.
    """
    assert len(told(project, learned).entries) == 5
    configure(project, memory_injection_limit=3)
    assert len(told(project, learned).entries) == 3
    configure(project, memory_injection_limit=0)
    assert told(project, learned).text == ""


def test_injection_can_be_switched_off(project: Path, learned: Memory):
    """S1 configuration injection: then a session is told nothing, and nothing counts as recalled."""
    configure(project, memory_injection_enabled=False)
    assert told(project, learned).text == ""
    assert learned.get(1).recall_count == 0


def test_a_file_without_these_keys_uses_the_defaults(project: Path):
    """S1 configuration defaults: the same as no file at all."""
    configure(project, other_tool="yes")
    read, none = read_configuration(project), read_configuration(project.parent)
    assert (read.semantic, read.limit, read.weights, read.injection) == (True, 20, none.weights, True)
    assert (read.embedder, read.keywords, read.problems) == (None, None, ())


def test_nothing_has_to_be_configured(project: Path, learned: Memory):
    """S1 configuration none: a session in a project without any file is told what is known."""
    assert told(project, learned).entries


def test_a_value_that_cannot_be_is_a_sentence_and_a_default(project: Path):
    """S1 configuration values: the others still count."""
    configure(project, memory_injection_limit="many", memory_semantic_enabled="perhaps", memory_keyword_provider="gpt")
    read = read_configuration(project)
    assert (read.limit, read.semantic, read.keywords) == (20, True, None)
    assert [problem.split()[0] for problem in read.problems] == [
        "memory_semantic_enabled", "memory_injection_limit", "memory_keyword_provider",
    ]  # fmt: skip

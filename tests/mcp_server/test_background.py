"""What `perdure mcp` does while nobody asks it anything: nobody has to run `perdure work` for a coding agent."""

from __future__ import annotations

from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hook.hosts import eventually
from mcp_server.host import started
from providers.server import FaultServer, hang

from perdure import Memory
from perdure.embed.local import LocalEmbedder
from perdure.session.kept import AskedBefore
from perdure.session.privacy import go_off_record
from perdure.session.signals import collect_signals
from perdure.session.spool import Spool, SpooledMessage

SAID = ("I live in Osaka now", "Noted.", "I prefer tea to coffee", "Good to know.", "Let us begin with the tests")
QUICK = {"PERDURE_CONSOLIDATION_EPISODES": "1"}
SESSION = "4a1c"


@pytest.fixture
def said(store: Path) -> Path:
    """Hooks kept what was said hours ago, and nobody has stored it since."""
    before = datetime.now(UTC) - timedelta(hours=3)
    for place, text in enumerate(SAID):
        role, at = ("user", "assistant")[place % 2], (before + timedelta(seconds=place)).isoformat()
        Spool(store).put(SpooledMessage("default", SESSION, role, text, at, f"{place:032}"))
    return store


@pytest.fixture
def model() -> Generator[FaultServer]:
    """A language model that never answers."""
    with FaultServer() as server:
        server.always(hang)
        yield server


def facts(store: Path) -> list[str]:
    with Memory(store, embedder="none") as memory:
        return [record.text for record in memory.list(source="consolidation", limit=10).records]


def test_what_was_said_becomes_facts_while_nobody_asks_anything(said: Path, tmp_path: Path):
    with started("--store", str(said), "--session", "another", environment=QUICK, folder=tmp_path) as host:
        eventually(lambda: any("Osaka" in text for text in facts(said)))
        assert host.call("recall", query="where does the user live?")["memories"]
        assert host.end() == 0
    with Memory(said, embedder="none") as memory:
        # Of no session, so that forgetting the one whose server it was takes back nothing of others.
        assert {line.change.session for line in memory.log(limit=50) if line.change.surface == "work (model)"} == {None}


def test_what_the_next_session_will_ask_is_embedded_before_it_starts(store: Path, tmp_path: Path):
    feature = tmp_path / "project" / "docs" / "features" / "001-parser"
    feature.mkdir(parents=True)
    told = '{"slug": "parser", "status": "active", "lastCompletedPhase": "design"}'
    (feature / ".meta.json").write_text(told, encoding="utf-8")
    with Memory(store, embedder="local") as memory:
        memory.remember("The parser reads real file samples", category="patterns")
    asked, folder = AskedBefore(), tmp_path / "project"
    with started("--store", str(store), environment={"PERDURE_EMBEDDER": "local"}, folder=folder) as host:
        question = (collect_signals(folder).query or "").strip()
        eventually(lambda: asked.get(LocalEmbedder().generation.name, question) is not None)
        assert host.end() == 0
    kept = asked.get(LocalEmbedder().generation.name, question)
    assert kept is not None
    assert kept.startswith(LocalEmbedder().embed_query(question).tobytes())


def test_a_server_answers_and_ends_while_work_waits_for_a_model(said: Path, tmp_path: Path, model: FaultServer):
    asked = {"PERDURE_LLM": "ollama:qwen3", "PERDURE_LLM_URL": model.url}
    with started("--store", str(said), environment=QUICK | asked, folder=tmp_path) as host:
        eventually(lambda: bool(model.requests))
        assert host.call("remember", text="The build runs on Friday")["outcome"] == "inserted"
        assert host.call("recall", query="When does the build run?")["memories"]
        assert host.end() == 0


def test_where_it_is_switched_off_or_a_session_off_the_record_nothing_is_done(
    said: Path, tmp_path: Path, model: FaultServer
):
    """A third server, which asks a model as soon as it works, shows that there was time enough."""
    go_off_record("secret")
    common = {**QUICK, "PERDURE_LLM": "ollama:idle", "PERDURE_LLM_URL": model.url}
    options, off = ("--store", str(said)), {"PERDURE_BACKGROUND": "false"}
    with (
        started(*options, environment=common | off, folder=tmp_path),
        started(*options, "--session", "secret", environment=common, folder=tmp_path),
        started(*options, environment=common | {"PERDURE_LLM": "ollama:qwen3"}, folder=tmp_path),
    ):
        eventually(lambda: bool(model.requests))
        assert {request.json["model"] for request in model.requests} == {"qwen3"}


def test_a_store_that_is_broken_is_survived(store: Path, tmp_path: Path):
    store.write_bytes(b"This is no store. " * 100)
    with started("--store", str(store), environment=QUICK, folder=tmp_path) as host:
        assert host.process is not None
        assert host.process.stderr is not None
        assert host.process.stderr.readline().startswith(b"work: ")
        assert host.request("ping") == {}
        assert host.end() == 0

"""S3 section 6, "Embedding Models": the local one by default, OpenAI's on request."""

from __future__ import annotations

from pathlib import Path

import pytest
from embed.wires import WIRES
from providers.server import FaultServer, answering

from perdure import Memory, settings
from perdure.embed.local import unavailable


@pytest.mark.skipif(unavailable() is not None, reason="the local model is not installed")
def test_the_local_model_of_384_dimensions_is_used_when_nothing_is_said(tmp_path: Path):
    """S3 embedder local: no setting, no key, no server."""
    with Memory(tmp_path / "m.db") as memory:
        assert not memory.remember("Alice prefers dark mode").vector_pending
        (finding,) = (one for one in memory.doctor() if one.check == "embedder")
    assert finding.level == "ok"
    assert "/384/" in finding.sentence


def test_openai_s_small_model_is_used_with_its_1536_dimensions(tmp_path: Path):
    """S3 embedder openai: `openai:text-embedding-3-small`."""
    wire = WIRES["openai"]
    with FaultServer() as server:
        server.always(answering(wire.answer))
        chosen = settings.load(embedder=wire.model, embedder_url=f"{server.url}/v1")
        with Memory(tmp_path / "m.db", settings=chosen) as memory:
            assert not memory.remember("Alice prefers dark mode").vector_pending
            assert memory.recall("dark mode").mode == "hybrid"
            (finding,) = (one for one in memory.doctor() if one.check == "embedder")
    assert "openai/text-embedding-3-small/1536/" in finding.sentence

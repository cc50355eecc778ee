"""S1 D4: one provider for what is written and what is asked, its parameters, its key, and what is done without it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import numpy as np
import pytest
from embed.wires import WIRES, Wire
from providers.server import FaultServer, answering, status

from perdure import Memory, settings
from perdure.embed.port import Vectors, checked_vectors
from perdure.errors import SettingsInvalid
from perdure.testing.embedder import WordEmbedder

if TYPE_CHECKING:
    from providers.cloud import Cloud

    from perdure.settings import Settings

GEMINI = WIRES["gemini"]
CLOUDS = [wire for wire in WIRES.values() if wire.key]
LEARNING = "Never parse a diff with regular expressions"
QUESTION = "how is a diff parsed?"


@pytest.fixture
def gemini() -> Iterator[FaultServer]:
    """Gemini's interface, on this machine."""
    with FaultServer() as server:
        server.always(answering(GEMINI.answer))
        yield server


@pytest.fixture
def chosen(gemini: FaultServer) -> Settings:
    return settings.load(embedder=GEMINI.model, embedder_url=f"{gemini.url}/v1beta")


def test_what_is_written_and_what_is_asked_goes_to_the_same_model(gemini: FaultServer, chosen: Settings):
    """S1 embedding model: both requests name it, and the vectors are of one generation."""
    with Memory(":memory:", settings=chosen) as memory:
        memory.remember(LEARNING)
        assert memory.recall(QUESTION).mode == "hybrid"
    assert {request.path for request in gemini.requests} == {GEMINI.path}
    models = {one["model"] for request in gemini.requests for one in request.json["requests"]}
    assert models == {"models/gemini-embedding-001"}


def test_gemini_is_asked_for_768_dimensions(gemini: FaultServer, chosen: Settings, tmp_path: Path):
    """S1 embedding gemini: and 768 numbers of four bytes are stored."""
    with Memory(tmp_path / "m.db", settings=chosen) as memory:
        memory.remember(LEARNING)
    assert {one["outputDimensionality"] for request in gemini.requests for one in request.json["requests"]} == {768}
    assert {len(vector) for vector in stored(tmp_path / "m.db")} == {768}


def stored(path: Path) -> list[Vectors]:
    connection: Any = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    with closing(connection):
        return [np.frombuffer(row[0], np.float32) for row in connection.execute("SELECT data FROM vector")]


def test_an_entry_is_a_document_to_gemini(gemini: FaultServer, chosen: Settings):
    """S1 embedding document: when it is created, and again when it is changed."""
    with Memory(":memory:", settings=chosen) as memory:
        memory.upsert("learning:diffs", LEARNING)
        memory.upsert("learning:diffs", f"{LEARNING}, use a parser")
    assert {one["taskType"] for request in gemini.requests for one in request.json["requests"]} == {
        "RETRIEVAL_DOCUMENT"
    }


def test_a_question_is_a_query_to_gemini(gemini: FaultServer, chosen: Settings):
    """S1 embedding query: the context query of a session is one."""
    with Memory(":memory:", settings=chosen) as memory:
        memory.remember(LEARNING)
        del gemini.requests[:]
        memory.recall("The parser. Phase: design. Files: diff.py", recipe="learnings")
    ((one,),) = (request.json["requests"] for request in gemini.requests)
    assert one["taskType"] == "RETRIEVAL_QUERY"


@pytest.mark.parametrize("wire", [WIRES["voyage"], WIRES["openai"], WIRES["ollama"]], ids=lambda wire: wire.model)
def test_voyage_openai_and_ollama_take_gemini_s_place_with_one_line(wire: Wire):
    """S1 embedding alternatives: voyage-code-3, text-embedding-3-small, nomic-embed-text."""
    with FaultServer() as server:
        server.always(answering(wire.answer))
        own = settings.load(embedder=wire.model, embedder_url=server.url + wire.url.split(wire.host)[1])
        with Memory(":memory:", settings=own) as memory:
            assert not memory.remember(LEARNING).vector_pending
            assert memory.recall(QUESTION).mode == "hybrid"
        assert {request.path for request in server.requests} == {wire.path}


def test_an_entry_is_stored_when_the_provider_fails_and_found_by_its_words(gemini: FaultServer, chosen: Settings):
    """S1 embedding fallback: alone without a vector, beside entries that have one."""
    with Memory(":memory:", settings=chosen) as memory:
        memory.remember("Mock the clock in tests")
        gemini.next(status(400))
        done = memory.remember(LEARNING)
        assert done.vector_pending
        assert "the server says no" in done.notes[0]
        found = memory.recall(QUESTION)
        assert found[0].record.text == LEARNING
        assert "vector" not in found[0].explain or found[0].explain["vector"].raw == 0


@pytest.mark.parametrize("wire", CLOUDS, ids=lambda wire: wire.key)
def test_the_key_of_each_provider_is_read_from_its_variable(wire: Wire, cloud: Cloud, monkeypatch: pytest.MonkeyPatch):
    """S1 embedding keys: GEMINI_API_KEY, VOYAGE_API_KEY, OPENAI_API_KEY."""
    server = cloud(wire.host)
    server.always(answering(wire.answer))
    monkeypatch.setenv(wire.key, "sk-test")
    with Memory(":memory:", settings=settings.load(embedder=wire.model, egress=[wire.host])) as memory:
        assert not memory.remember(LEARNING).vector_pending
    assert all(wire.headers.items() <= dict(request.headers).items() for request in server.requests)


def test_ollama_is_asked_without_a_key(monkeypatch: pytest.MonkeyPatch):
    """S1 embedding no key: whatever keys of others are in the environment."""
    wire = WIRES["ollama"]
    for other in CLOUDS:
        monkeypatch.setenv(other.key, "sk-test")
    with FaultServer() as server:
        server.always(answering(wire.answer))
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        with Memory(":memory:", embedder=wire.model) as memory:
            assert not memory.remember(LEARNING).vector_pending
        assert all("sk-test" not in str(request) for request in server.requests)


@pytest.mark.parametrize("wire", CLOUDS, ids=lambda wire: wire.key)
def test_without_its_key_a_provider_is_one_that_cannot_be_asked(wire: Wire, cloud: Cloud):
    """S1 embedding key missing: the entry is stored and found by keyword, the variable is named, nobody is asked."""
    server = cloud(wire.host)
    with Memory(":memory:", settings=settings.load(embedder=wire.model, egress=[wire.host])) as memory:
        done = memory.remember(LEARNING)
        assert done.vector_pending
        assert wire.key in done.notes[0]
        found = memory.recall(QUESTION)
        assert (found.mode, found[0].record.text) == ("keyword", LEARNING)
        assert any(wire.key in note for note in found.notes)
    assert server.requests == []
    assert cloud.lookups == []


@pytest.mark.parametrize("name", ["gemini_api_key", "openai_api_key", "voyage_api_key", "embedder_key", "api_key"])
def test_a_key_in_the_file_of_settings_is_refused(name: str, stranger: Path):
    """S1 embedding key stored: there is no setting for one, and the error does not repeat it."""
    file = stranger / ".config" / "perdure" / "perdure.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f'{name} = "sk-test"\n', "utf-8")
    with pytest.raises(SettingsInvalid, match=name) as refused:
        settings.load()
    assert "sk-test" not in str(refused.value)


def test_every_vector_is_stored_at_length_one(chosen: Settings, tmp_path: Path):
    """S1 embedding norm: Gemini's vectors of 768 dimensions are of any length; here, of length 3."""
    with Memory(tmp_path / "m.db", settings=chosen) as memory:
        memory.remember(LEARNING)
        memory.import_({"text": f"Learning number {n}"} for n in range(5))
        memory.work()
        assert memory.recall(LEARNING)[0].explain["vector"].raw == pytest.approx(1, abs=1e-5)
    vectors = stored(tmp_path / "m.db")
    assert len(vectors) == 6
    assert np.allclose([np.linalg.norm(vector) for vector in vectors], 1, atol=1e-6)


def test_a_vector_that_is_normalised_already_stays_as_it_is():
    """S1 embedding norm again: to the last bit."""
    embedder = WordEmbedder()
    assert np.array_equal(checked_vectors(embedder, [LEARNING]), embedder.embed_passages([LEARNING]))


def test_the_vector_is_made_when_an_entry_is_created_or_changed(gemini: FaultServer, chosen: Settings):
    """S1 embedding write: no question waits for the vector of an entry."""
    with Memory(":memory:", settings=chosen) as memory:
        assert not memory.upsert("learning:diffs", LEARNING).vector_pending
        assert not memory.upsert("learning:diffs", f"{LEARNING}, use a parser").vector_pending
        del gemini.requests[:]
        memory.recall(QUESTION)
    ((one,),) = (request.json["requests"] for request in gemini.requests)
    assert one["content"]["parts"][0]["text"] == QUESTION


@pytest.mark.parametrize("code", [400, 401, 429, 500, 503])
def test_a_question_whose_provider_lost_for_now_is_answered_by_words_and_prominence(
    code: int, gemini: FaultServer, chosen: Settings
):
    """S1 embedding unavailable: the answer says why."""
    with Memory(":memory:", settings=chosen) as memory:
        memory.remember(LEARNING, category="patterns")
        gemini.always(status(code))
        found = memory.recall(QUESTION, recipe="learnings")
        assert (found.mode, found[0].record.text) == ("keyword", LEARNING)
        assert set(found[0].explain) == {"keyword", "observations", "confidence", "recency", "recalls"}
        assert any("the server says no" in note for note in found.notes)

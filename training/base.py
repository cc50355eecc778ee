"""The published model that training starts from, found and checked as packages/minilm does it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BUILDER: Final = Path(__file__).parent.parent / "packages" / "minilm" / "build_weights.py"


def builder() -> ModuleType:
    """The module that makes the package's weights."""
    spec = importlib.util.spec_from_file_location("build_weights", BUILDER)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{BUILDER} cannot be read.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def base_model() -> Path:
    """The folder of the published model, which requirements/model.in names."""
    return builder().source_directory()


def read_base(model: Path) -> dict[str, NDArray[np.float32]]:
    made = builder()
    return made.read_source(model / made.SOURCE_FILE)


def trained_weights(model: Path) -> dict[str, NDArray[np.float32]]:
    """The encoder as the package has it: the published model, and what our training changed."""
    made = builder()
    return made.add_delta(made.read_source(model / made.SOURCE_FILE), made.DELTA, made.DELTA_SHA256)

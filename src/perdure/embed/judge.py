"""The judge of two statements: what the newer one does to the older one. It is the local model again, with other layers
(training/judge.py); both share the table of words and the runtime.

Importing this module costs nothing. The model is loaded by the first pair, once for the process.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.embed import local, weights
from perdure.errors import EmbedderUnavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Of each statement; the judge was trained on no longer ones.
MAX_TOKENS: Final = 96
_HEAD: Final = "head"
_BIAS: Final = "head.bias"
_loading: Final = Lock()


class PairVerdict(NamedTuple):
    """How likely it is that the newer statement ends the older one, says more of the same thing, says the same again,
    or leaves it alone. Together they are 1.
    """

    ends: float
    refines: float
    same: float
    apart: float


def is_available() -> bool:
    """Whether it can run here. Looks without importing anything."""
    directory = weights.model_directory()
    return local.unavailable() is None and directory is not None and (directory / weights.JUDGE).is_file()


def judge(pairs: Sequence[tuple[str, str]]) -> list[PairVerdict]:
    """A verdict for each pair of an older and a newer statement."""
    import numpy as np

    if not pairs:
        return []
    with _loading:
        model = _load()
    both: list[list[int]] = []
    for pair in pairs:
        # One text: the first without its end if it is too long, its end mark, then the second without its beginning.
        cut = [
            tokens if len(tokens) <= MAX_TOKENS else [*tokens[: MAX_TOKENS - 1], tokens[-1]]
            for tokens in map(model.model.tokens, pair)
        ]
        both.append([*cut[0], *cut[1][1:]])
    logits = local.vectors_in_batches(model.model, both) @ model.head.T + model.bias
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return [PairVerdict(*row) for row in shares.round(4).tolist()]


class _JudgeModel(NamedTuple):
    model: local.Model
    head: NDArray[np.float32]
    bias: NDArray[np.float32]


@lru_cache(maxsize=1)
def _load() -> _JudgeModel:
    directory = weights.model_directory()
    reason = local.unavailable()
    if reason is not None or directory is None:
        raise reason or EmbedderUnavailable
    own = weights.load(directory, weights.JUDGE)
    layers = {name: tensor for name, tensor in own.items() if name not in {_HEAD, _BIAS}}
    return _JudgeModel(local.open_model(directory, weights.load(directory) | layers), own[_HEAD], own[_BIAS])

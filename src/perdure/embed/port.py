"""What an embedder must do, and the function by which everything else calls one.

Adapters live beside this file; nothing above this layer knows which one runs. An embedder may be anybody's code, so
`checked_vectors` gives float32 unit vectors or raises `EmbedderUnavailable`, whatever it does.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib import import_module
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, cast

from perdure.errors import EmbedderUnavailable, InvalidInput, ProviderUnavailable, shown
from perdure.remedies import Remedy, Run
from perdure.values import value_class

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perdure.text.entry import Passage

Vectors: TypeAlias = "NDArray[np.float32]"
Progress: TypeAlias = Callable[[int, int], None]

_EMBEDDER: Final = (
    "Give 'local', 'none', a provider and its model such as 'ollama:nomic-embed-text', or an object like "
    "`perdure.embed.port.Embedder`."
)
_LATER: Final = Remedy(Run("work"), " embeds it.")
# A vector is left as it is if its squared length is as near to 1 as float32 can tell.
_UNIT: Final = 1e-5

# A model that reads fewer tokens of a text than this reads nothing beside a date and a title.
_LEAST_WINDOW: Final = 16

# A recall makes up to this many missing vectors itself; more are left for `work`.
FEW_VECTORS: Final = 512


@value_class(slots=False)
class Generation:
    """One vector space. Vectors of two generations are never compared."""

    provider: str
    model: str
    dimensions: int
    version: str

    @cached_property
    def name(self) -> str:
        return f"{self.provider}/{self.model}/{self.dimensions}/{self.version}"

    @property
    def label(self) -> str:
        """The model as the settings name it."""
        return f"{self.provider}:{self.model}"


def distinct_names(one: Generation, other: Generation) -> tuple[str, str]:
    """Two generations by the names of their models; in full where that is the same model."""
    return (one.name, other.name) if one.label == other.label else (one.label, other.label)


class Embedder(Protocol):
    """Turns text into vectors, which need not be of length 1. Raises `EmbedderUnavailable`, never anything else, when
    it cannot; its `good` has the vectors of the other texts if only some get none. One that reads only the beginning of
    a text may say how many tokens that are, as its `window`: longer memories then get several vectors.
    """

    @property
    def generation(self) -> Generation:
        """Raises `EmbedderUnavailable` while it is not known how long the vectors are."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """One vector, shape (dimensions,)."""
        ...

    def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        """One row per text, in the order given."""
        ...


def why_unavailable(model: object) -> ProviderUnavailable | None:
    """Why an embedder or a language model cannot be asked, if it can tell without a request: no key, or a host that may
    not be asked. Those on servers can; a plugin need not.
    """
    check = getattr(model, "unavailable", None)
    return check() if check else None


def check_embedder(value: object) -> Embedder:
    """Whether it has what an embedder has. What it makes is checked each time that it makes something."""
    try:
        missing = [name for name in ("embed_query", "embed_passages") if not callable(getattr(value, name, None))]
        if not isinstance(getattr(value, "generation", None), Generation):
            missing.append("generation")
        window: object = getattr(value, "window", None)
        if window is not None and not (isinstance(window, int) and window >= _LEAST_WINDOW):
            missing.append(f"a window of {_LEAST_WINDOW} tokens or more")
    except Exception as error:
        raise InvalidInput(f"The embedder does not name its generation: {error}.", remedy=_EMBEDDER) from error
    if missing:
        raise InvalidInput(f"{shown(value)} is not an embedder: {', '.join(missing)} missing.", remedy=_EMBEDDER)
    return cast("Embedder", value)


def import_runtime(name: str) -> Any:
    """A package that runs models here. onnxruntime reports its use to its maker unless the environment forbids it when
    it is imported: it keeps what it will send in a database below the cache directory, and sends it when it can.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    return import_module(name)


def checked_vectors(
    embedder: Embedder,
    texts: str | Sequence[str],
    progress: Progress | None = None,
    generation: Generation | None = None,
) -> Vectors:
    """The unit vector of a query, which is a single text, or one row for each of several passages. Only good vectors
    pass: a NaN that got into the store would spoil every answer after it. They have the dimensions of the `generation`
    that is asked for, whatever the embedder makes now.
    """
    import numpy as np

    is_query = isinstance(texts, str)
    try:
        made = np.asarray(embedder.embed_query(texts) if is_query else embedder.embed_passages(texts, progress))
    except EmbedderUnavailable as error:
        if error.good is not None:
            rows = {place: np.asarray(row)[np.newaxis] for place, row in error.good.items()}
            size = (1, (generation or embedder.generation).dimensions)
            checked = {place: _normalised(row)[0] for place, row in rows.items() if row.shape == size}
            error.good = {place: vectors[0] for place, vectors in checked.items() if vectors}
        raise
    except Exception as error:
        raise EmbedderUnavailable(f"The embedder failed: {type(error).__name__}: {error}.") from error
    dimensions = (generation or embedder.generation).dimensions
    shape = (dimensions,) if is_query else (len(texts), dimensions)
    if made.shape != shape:
        raise EmbedderUnavailable(f"The embedder gave vectors of shape {made.shape} instead of {shape}.")
    if made.dtype == np.float32 and made.size and made.flags.c_contiguous:
        with np.errstate(over="ignore"):
            if made.size == dimensions:
                flat = made.ravel()
                is_unit = abs(flat.dot(flat) - 1) < _UNIT
            else:
                is_unit = np.abs(np.vecdot(made, made) - 1).max() < _UNIT
        if is_unit:
            return made
    good, fault = _normalised(made.reshape(-1, dimensions))
    if fault:
        error = EmbedderUnavailable(f"The embedder gave {fault}.")
        error.good = good
        raise error
    return np.array(list(good.values()), dtype=np.float32).reshape(shape)


def passage_vectors(
    embedder: Embedder,
    passages: Sequence[Passage],
    progress: Progress | None = None,
    generation: Generation | None = None,
    most: int | None = None,
) -> list[Vectors]:
    """The vectors of each passage, one row for each of its windows, the first window first. A passage gets all of its
    vectors or none, and none if there are more windows than `most`; `progress` counts passages.
    """
    from perdure.text.windows import windows

    cut = [windows(each, window_of(embedder)) for each in passages]
    texts = [window.text for some in cut for window in some]
    ends = list(accumulate(map(len, cut), initial=0))
    if most is not None and len(texts) > most:
        raise EmbedderUnavailable("The text is long, so that it takes a while to embed.", remedy=_LATER)

    def report(embedded: int, _: int) -> None:
        if progress:
            progress(bisect_right(ends, embedded) - 1, len(passages))

    try:
        made = checked_vectors(embedder, texts, report if progress else None, generation)
    except EmbedderUnavailable as error:
        if error.good is not None and len(texts) > len(passages):
            import numpy as np

            good = error.good
            whole = [place for place, some in enumerate(pairwise(ends)) if good.keys() >= set(range(*some))]
            error.good = {place: np.stack([good[row] for row in range(*ends[place : place + 2])]) for place in whole}
        raise
    return [made[start:end] for start, end in pairwise(ends)]


def whole_vector(vectors: Vectors) -> Vectors:
    """One vector for a memory as a whole, from those of its windows: their mean, at length 1. It tells how near two
    memories are to each other, where no single part of one counts.
    """
    if len(vectors) == 1:
        return vectors[0]
    mean = vectors.sum(axis=0)
    length = float(mean @ mean) ** 0.5
    return mean / length if length else vectors[0]


def window_of(embedder: Embedder | None) -> int | None:
    """How many tokens of a text the embedder reads; None if it reads all, or does not say."""
    return getattr(embedder, "window", None)


def _normalised(made: NDArray[Any]) -> tuple[dict[int, Vectors], str]:
    """Each row that has a direction, at length 1, by its place; and what is wrong with another row, if any is."""
    import numpy as np

    if made.dtype.kind not in "fiu":
        return {}, "a vector that does not consist of numbers"
    rows = made.astype(np.float64)
    # The largest number first: the square of a large one would not fit.
    largest = np.abs(rows).max(axis=1)
    finite, zero = np.isfinite(largest), largest == 0
    good: dict[int, Vectors] = {}
    for place in np.flatnonzero(finite & ~zero):
        row = rows[place] / largest[place]
        good[int(place)] = (row / np.sqrt(row @ row)).astype(np.float32)
    if not finite.all():
        return good, "a vector that is not finite"
    return good, "a vector of zeros" if zero.any() else ""

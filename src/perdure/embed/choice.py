"""Which embedder is asked now.

Vectors of two models are never compared: a question is embedded by the model whose vectors are searched. After the
settings name another model, the target, the old one goes on answering until every memory has a vector of the new one.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from perdure.embed.port import Embedder, Generation
from perdure.errors import EmbedderUnavailable, PerdureError

# How long the target answers in the place of an earlier model that could not be asked, before that is tried again.
_PATIENCE: Final = 60.0
# What unrelated texts reach with the packaged model is known.
_PACKAGED: Final = "local"
_OTHER_VECTORS: Final = "It makes vectors of another kind now."
_INSTEAD: Final = "{} made the vectors until now and cannot be asked: {} Those of {} answer, as far as there are any."


class Chosen(NamedTuple):
    """`generation` is None while nobody knows how long the vectors are. `unrelated` is the cosine that unrelated texts
    have with this model, if that was measured. `note` is what an answer says about the choice.
    """

    embedder: Embedder | None
    generation: Generation | None
    unrelated: float | None = None
    is_unmeasured: bool = False
    note: str = ""


class GenerationStore(Protocol):
    """What a store tells about its generations."""

    def serving_generation(self) -> Generation | None: ...

    def calibration(self, generation: Generation) -> float | None: ...


class EmbedderChoice:
    """Safe to use from any thread. `open_target` opens the embedder of the settings, if they name one, and
    `open_earlier` that of another generation. Both make no request, and raise `EmbedderUnavailable` when they cannot.
    """

    def __init__(
        self,
        store: GenerationStore,
        open_target: Callable[[], Embedder | None],
        open_earlier: Callable[[Generation], Embedder],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.failure: EmbedderUnavailable | None = None
        self.has_tried_to_measure = False
        self._store = store
        self._open_target, self._open_earlier = open_target, open_earlier
        self._clock = clock
        self._lock = threading.RLock()
        self._target: Embedder | None = None
        # For which serving generation, which choice, until when, and whether nothing about it is open any more.
        self._settled: tuple[Generation | None, Chosen, float, bool] | None = None

    def current(self) -> Chosen:
        """Who embeds what is written and asked now. It costs nothing until the store says that another one serves."""
        serving, settled = self._store.serving_generation(), self._settled
        if settled is not None and settled[0] is serving and settled[3]:
            return settled[1]
        with self._lock:
            return self._choose(serving)

    def open_target(self) -> Embedder | None:
        """The embedder of the settings, without a request; `failure` says why there is none."""
        with self._lock:
            try:
                if self._target is None:
                    self._target = self._open_target()
                self.failure = None
            except EmbedderUnavailable as error:
                self.failure = error
            return self._target

    def target(self) -> Chosen:
        """The embedder of the settings. It is asked how long its vectors are, if nobody knows."""
        with self._lock:
            embedder = self.open_target()
            try:
                return Chosen(embedder, embedder.generation if embedder else None)
            except EmbedderUnavailable as error:
                self.failure = error
                return Chosen(embedder, None)

    def instead_of(self, failed: Chosen, error: EmbedderUnavailable) -> Chosen | None:
        """The target, where an earlier model could not be asked; None when there is nobody else."""
        target = self.target()
        if failed.generation is None or target.generation in {None, failed.generation}:
            return None
        note = _instead(failed.generation, target, error)
        with self._lock:
            return self._settle(self._store.serving_generation(), target._replace(note=note), self._clock() + _PATIENCE)

    def _choose(self, serving: Generation | None) -> Chosen:
        settled = self._settled
        if settled is not None and settled[0] is serving and self._clock() < settled[2]:
            return self._settle(*settled[:3])
        chosen = self.target()
        if serving is not None and serving != chosen.generation and (chosen.embedder or self.failure):
            try:
                earlier = self._open_earlier(serving)
                check = getattr(earlier, "unavailable", None)
                if reason := check() if check else None:
                    raise reason
                if earlier.generation != serving:
                    raise EmbedderUnavailable(_OTHER_VECTORS)
                chosen = Chosen(earlier, serving)
            except PerdureError as error:
                chosen = chosen._replace(note=_instead(serving, chosen, error))
        return chosen if chosen.generation is None else self._settle(serving, chosen, math.inf)

    def _settle(self, serving: Generation | None, chosen: Chosen, until: float) -> Chosen:
        """The choice, with what anybody has measured by now."""
        generation = chosen.generation
        final = until == math.inf
        if generation is not None and generation.provider != _PACKAGED and chosen.unrelated is None:
            unrelated = self._store.calibration(generation)
            final = final and unrelated is not None
            is_unmeasured = unrelated is None and not self.has_tried_to_measure
            chosen = chosen._replace(unrelated=unrelated, is_unmeasured=is_unmeasured)
        self._settled = serving, chosen, until, final
        return chosen


def _instead(serving: Generation, target: Chosen, error: PerdureError) -> str:
    if target.generation is None:
        return ""
    return _INSTEAD.format(serving.label, error.sentence, target.generation.label)

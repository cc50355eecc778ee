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

from perdure.embed.port import Embedder, Generation, distinct_names, why_unavailable
from perdure.errors import EmbedderUnavailable, PerdureError

# How long the target answers in the place of an earlier model that could not be asked, before that is tried again.
_PATIENCE: Final = 60.0
# The packaged model is not measured: what unrelated texts reach with it is known.
_PACKAGED: Final = "local"
_PACKAGED_UNRELATED: Final = 0.08
_OTHER_VECTORS: Final = "It makes vectors of another kind now."
_INSTEAD: Final = "{} made the vectors until now and cannot be asked: {} Those of {} answer, as far as there are any."


class Chosen(NamedTuple):
    """`generation` is None while the length of the vectors is unknown. `unrelated` is the cosine that unrelated texts
    have with this model, if that is known. `note` is what an answer says about the choice.
    """

    embedder: Embedder | None
    generation: Generation | None
    unrelated: float | None = None
    is_unmeasured: bool = False
    note: str = ""


class _Settled(NamedTuple):
    """A choice that holds while `serving` serves, and until a time. `is_final`: nothing about it is open any more."""

    serving: Generation | None
    chosen: Chosen
    until: float
    is_final: bool


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
        self._settled: _Settled | None = None

    def current(self) -> Chosen:
        """Who embeds what is written and asked now. It costs nothing until the store says that another one serves."""
        settled = self._settled
        if settled is None and self.open_target() is None and self.failure is None:
            return Chosen(None, None)
        serving = self._store.serving_generation()
        if settled is not None and settled.serving is serving and settled.is_final:
            return settled.chosen
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
        """The embedder of the settings. It is asked for the length of its vectors, if that is unknown."""
        with self._lock:
            embedder = self.open_target()
            try:
                return Chosen(embedder, embedder.generation if embedder else None)
            except EmbedderUnavailable as error:
                self.failure = error
                return Chosen(embedder, None)

    def instead_of(self, failed: Chosen, error: EmbedderUnavailable) -> Chosen | None:
        """The target, where an earlier model could not be asked; None if there is no other embedder."""
        target = self.target()
        if failed.generation is None or target.generation in {None, failed.generation}:
            return None
        note = _instead(failed.generation, target, error)
        with self._lock:
            return self._settle(self._store.serving_generation(), target._replace(note=note), self._clock() + _PATIENCE)

    def _choose(self, serving: Generation | None) -> Chosen:
        settled = self._settled
        if settled is not None and settled.serving is serving and self._clock() < settled.until:
            return self._settle(serving, settled.chosen, settled.until)
        chosen = Chosen(self.open_target(), None)
        # While another model answers, a server need not be asked how long its vectors are.
        if serving is None or getattr(chosen.embedder, "label", serving.label) == serving.label:
            chosen = self.target()
        if serving is not None and serving != chosen.generation and (chosen.embedder or self.failure):
            try:
                earlier = self._open_earlier(serving)
                if reason := why_unavailable(earlier):
                    raise reason
                if earlier.generation != serving:
                    raise EmbedderUnavailable(_OTHER_VECTORS)
                chosen = Chosen(earlier, serving)
            except PerdureError as error:
                chosen = self.target()
                chosen = chosen._replace(note=_instead(serving, chosen, error))
        return chosen if chosen.generation is None else self._settle(serving, chosen, math.inf)

    def _settle(self, serving: Generation | None, chosen: Chosen, until: float) -> Chosen:
        """The choice, with what anybody has measured by now."""
        generation = chosen.generation
        is_final = until == math.inf
        if generation is not None and generation.provider == _PACKAGED:
            chosen = chosen._replace(unrelated=_PACKAGED_UNRELATED)
        elif generation is not None and chosen.unrelated is None:
            unrelated = self._store.calibration(generation)
            is_final = is_final and unrelated is not None
            is_unmeasured = unrelated is None and not self.has_tried_to_measure
            chosen = chosen._replace(unrelated=unrelated, is_unmeasured=is_unmeasured)
        self._settled = _Settled(serving, chosen, until, is_final)
        return chosen


def _instead(serving: Generation, target: Chosen, error: PerdureError) -> str:
    if target.generation is None:
        return ""
    serving_name, target_name = distinct_names(serving, target.generation)
    return _INSTEAD.format(serving_name, error.sentence, target_name)

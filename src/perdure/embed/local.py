"""The embedder that needs no key, no server and no network: our own small model, in this process. It is
all-MiniLM-L6-v2, trained further for memories and the questions that people ask about them (training/README.md).

Importing this module costs nothing. The model is loaded by the first text, once, by whichever thread comes first.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from perdure.embed import weights
from perdure.embed.port import Generation, Progress, Vectors, import_runtime
from perdure.errors import EmbedderUnavailable
from perdure.installation import install_command
from perdure.text.tokens import ESTIMATE, TokenCounter
from perdure.turns import turn_given_up
from perdure.values import value_class

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Grid: TypeAlias = NDArray[np.int32]

DIMENSIONS: Final = 384
GENERATION: Final = Generation("local", weights.MODEL, DIMENSIONS, weights.QUANTISER)
# What `perdure-minilm` 1 made: the model that ours was trained from.
UNTRAINED: Final = Generation("local", "all-MiniLM-L6-v2", DIMENSIONS, "int8-1")
# Training left it as it was.
_TOKENIZER_NAME: Final = "all-MiniLM-L6-v2 tokenizer"

# No text needs more to fill the model's window; tokenising a megabyte to keep 256 tokens of it would take a second.
_MAX_CHARACTERS: Final = 8192
# The model's own [CLS] and [SEP], which are not of the text.
_SPECIAL_TOKENS: Final = 2
# A word of more than a hundred letters is one unknown token to this tokenizer, and many to every other.
_CHARACTERS_PER_TOKEN: Final = 8
# How many words and lines are known by their hash; about two megabytes.
_TEXTS_KNOWN: Final = 1 << 14
# Characters of a few short texts, which are embedded sooner than the model is loaded.
_LITTLE: Final = 4096
# Per batch; four times as many measured slower.
_BATCH_TOKENS: Final = 512
_MAX_WORKERS: Final = 4
_UNIT_TOLERANCE: Final = 1e-3

_RUNTIME: Final = ("numpy", "onnxruntime", "tokenizers")


def _remedy() -> str:
    return f"Install everything it needs with `{install_command('local')}`."


def unavailable() -> EmbedderUnavailable | None:
    """Why the local model cannot run here, or None. Looks without importing anything."""
    missing = [name for name in _RUNTIME if find_spec(name) is None]
    if weights.model_directory() is None:
        missing.append(weights.DISTRIBUTION)
    if not missing:
        return None
    return EmbedderUnavailable(f"The local model needs what is not installed: {', '.join(missing)}.", remedy=_remedy())


Sharing: TypeAlias = Literal["alone", "asks", "serves", "both"]
_ASKING: Final = ("asks", "both")
_SERVING: Final = ("serves", "both")


class LocalEmbedder:
    """Our model with int8 weights. In a store whose vectors are `UNTRAINED` it stands in for that model until `work`
    has made new ones: training moved texts so little that questions find them as they did before.
    """

    window = weights.MAX_TOKENS - _SPECIAL_TOKENS

    def __init__(
        self,
        load: Callable[[], Model] | None = None,
        generation: Generation = GENERATION,
        sharing: Sharing = "alone",
    ) -> None:
        """`asks`: before it loads the model, it asks a process that has; `serves`: it is one, once it has; `both`: it
        asks, and serves once it had to load the model.
        """
        self.generation = generation
        self._sharing: Sharing = sharing
        self._load = load or load_model
        self._lock = Lock()
        self._loaded: Model | None = None

    @cached_property
    def token_counter(self) -> TokenCounter:
        """Counts without loading the model, or estimates if the tokenizer cannot be opened: a write does not fail over
        a count. Of a long text the beginning is counted; the rest is taken to be like it.
        """
        directory = weights.model_directory()
        try:
            return open_counter(directory) if directory else ESTIMATE
        except Exception:  # noqa: BLE001 - whatever is wrong with the runtime is said when something is embedded
            return ESTIMATE

    def embed_query(self, text: str) -> Vectors:
        if (vectors := self._ask([text])) is not None:
            return vectors[0]
        model = self._loaded or self._load_once()
        return vectors_of(model, [model.tokens(text)])[0]

    def _ask(self, texts: Sequence[str]) -> Vectors | None:
        """The vectors of texts, from a process that has the model loaded; None where it is to be loaded here."""
        if self._sharing not in _ASKING or self._loaded is not None:
            return None
        from perdure.embed import model_socket

        return model_socket.ask(self.generation, texts)

    def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        import numpy as np

        if not texts:
            return np.empty((0, DIMENSIONS), dtype=np.float32)
        # One text that is written, or a few short ones, are a small matter for whoever has the model.
        is_little = len(texts) == 1 or sum(map(len, texts)) <= _LITTLE
        if is_little and (vectors := self._ask(texts)) is not None:
            if progress:
                progress(len(texts), len(texts))
            return vectors
        model = self._loaded or self._load_once()
        tokens = [model.tokens(text) for text in texts]
        if len(tokens) > 1:
            return vectors_in_batches(model, tokens, progress)
        vectors = vectors_of(model, tokens)
        if progress:
            progress(1, 1)
        return vectors

    def load_beside(self) -> None:
        """Begin to load the model in a thread of its own. The next call waits for it, and raises what failed."""

        def load() -> None:
            with suppress(EmbedderUnavailable):
                self._load_once()

        if self._sharing in _ASKING:
            from perdure.embed import model_socket

            if model_socket.is_served():
                return
        if self._loaded is None:
            Thread(target=load, name="perdure-model", daemon=True).start()

    def _load_once(self) -> Model:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
                if self._sharing in _SERVING:
                    from perdure.embed import model_socket

                    model_socket.serve(self.generation, self.embed_passages)
            return self._loaded


@value_class
class Model:
    """The two things asked of the runtime, and all that is known of its types."""

    tokens: Callable[[str], list[int]]
    run: Callable[[Grid, Grid], Vectors]
    # The session borrows this memory and does not keep it alive.
    mapped_weights: weights.Tensors


def load_model() -> Model:
    reason = unavailable()
    directory = weights.model_directory()
    if reason is not None or directory is None:
        raise reason or EmbedderUnavailable
    return open_model(directory, weights.load(directory))


def open_model(directory: Path, tensors: weights.Tensors) -> Model:
    """The graph with these tensors, and the tokenizer of the folder."""
    try:
        from importlib.resources import files

        graph = files("perdure.embed").joinpath("minilm.onnx").read_bytes()
        return Model(open_tokenizer(directory), open_session(graph, tensors), tensors)
    except EmbedderUnavailable:
        raise
    except Exception as error:
        raise EmbedderUnavailable(f"The local model could not be loaded: {error}", remedy=_remedy()) from error


@lru_cache(maxsize=1)
def _tokenizer(model: Path) -> Any:
    tokenizer: Any = import_module("tokenizers").Tokenizer.from_file(str(model / weights.TOKENIZER))
    tokenizer.no_padding()
    tokenizer.enable_truncation(weights.MAX_TOKENS)
    return tokenizer


def open_tokenizer(model: Path) -> Callable[[str], list[int]]:
    tokenizer = _tokenizer(model)

    # One text at a time takes microseconds; the batch call would bring a thread pool of its own.
    def tokens(text: str) -> list[int]:
        return tokenizer.encode(_encodable(text[:_MAX_CHARACTERS])).ids

    return tokens


def open_counter(model: Path) -> TokenCounter:
    tokenizer = _tokenizer(model)
    # By hash, so that no text is kept, and by length: two texts of the same bytes have one hash in Python, if one of
    # them is of wider characters.
    known: dict[int, int] = {}

    # No token of this tokenizer reaches over a space or the end of a line, so lines and words are counted one by one:
    # the memories of an answer are often those of answers before, and their words nearly always.
    def count_part(part: str, separator: str) -> int:
        """The tokens of a line, whose words are counted, or of one word, which has no separator."""
        key = hash(part) ^ len(part)
        if (counted := known.get(key)) is None:
            if separator:
                counted = sum([count_part(word, "") for word in part.split(separator)])
            else:
                first: Any = tokenizer.encode(_encodable(part))
                # What the window cut off comes in windows of its own.
                counted = sum(len(window.ids) - _SPECIAL_TOKENS for window in (first, *first.overflowing))
            if len(known) >= _TEXTS_KNOWN:
                known.clear()
            known[key] = counted
        return counted

    def count(text: str) -> int:
        beginning = text[:_MAX_CHARACTERS]
        tokens = sum([count_part(line, " ") for line in beginning.split("\n")])
        counted = max(tokens, len(beginning) // _CHARACTERS_PER_TOKEN)
        return counted if len(text) == len(beginning) else -(-counted * len(text) // len(beginning))

    return TokenCounter(_TOKENIZER_NAME, count)


def _encodable(text: str) -> str:
    """Surrogate pairs joined, lone surrogates replaced by a character that the tokenizer drops."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def open_session(graph: bytes, tensors: weights.Tensors) -> Callable[[Grid, Grid], Vectors]:
    """The graph with its weights, in the calling thread.

    With two threads of the runtime's own a question takes a fifth longer: its steps are too small to share. Several
    texts are spread over threads that call this instead, and a process without threads can be forked.
    """
    runtime: Any = import_runtime("onnxruntime")
    options: Any = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    # The graph is written as it should run, whatever a later runtime would make of it.
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    # Keeps a plan for every shape it ever saw.
    options.enable_mem_pattern = False
    options.log_severity_level = 4
    values = [runtime.OrtValue.ortvalue_from_numpy(tensor) for tensor in tensors.values()]
    # By the first of these calls the runtime uses the mapped weights where they are, and copies none; by the second it
    # knows that the file which the graph names need not exist.
    for name, value in zip(tensors, values, strict=True):
        options.add_initializer(name, value)
    options.add_external_initializers(list(tensors), values)
    session: Any = runtime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    return lambda ids, mask: session.run(None, {"ids": ids, "mask": mask})[0]


def vectors_in_batches(model: Model, tokens: Sequence[list[int]], progress: Progress | None = None) -> Vectors:
    """Unit vectors of any number of texts, in batches, on up to four processors."""
    import numpy as np

    # At most four processors: the rest is somebody else's.
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = min(allowed, _MAX_WORKERS)
    # Texts of about equal length together, longest first; fewer together when there would be idle workers.
    lengths = [len(ids) for ids in tokens]
    order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    budget = min(_BATCH_TOKENS, -(-sum(lengths) // workers))
    batches: list[list[int]] = []
    start = 0
    while start < len(order):
        size = max(1, budget // lengths[order[start]])
        batches.append(order[start : start + size])
        start += size
    vectors = np.empty((len(tokens), DIMENSIONS), dtype=np.float32)
    pool = None
    if workers > 1 and len(batches) > 1:
        # It brings logging along, which a question has no need of.
        from concurrent.futures import ThreadPoolExecutor

        pool = ThreadPoolExecutor(workers, thread_name_prefix="perdure-embed")
    try:
        groups = [[tokens[row] for row in rows] for rows in batches]
        waiting = [pool.submit(vectors_of, model, group) for group in groups] if pool else []
        done = 0
        for place, rows in enumerate(batches):
            if pool:
                # Whoever holds the turn would hold it while others work.
                with turn_given_up():
                    vectors[rows] = waiting[place].result()
            else:
                vectors[rows] = vectors_of(model, groups[place])
            done += len(rows)
            if progress:
                progress(done, len(tokens))
    finally:
        if pool:
            pool.shutdown(wait=True, cancel_futures=True)
    return vectors


def vectors_of(model: Model, tokens: Sequence[list[int]]) -> Vectors:
    """Unit vectors of a few texts. A text's vector does not depend on the texts beside it."""
    import numpy as np

    ids = np.zeros((len(tokens), max(map(len, tokens))), dtype=np.int32)
    mask = np.zeros_like(ids)
    for row, each in enumerate(tokens):
        ids[row, : len(each)] = each
        mask[row, : len(each)] = 1
    try:
        with turn_given_up():
            vectors = model.run(ids, mask)
    except Exception as error:
        raise EmbedderUnavailable(f"The local model could not embed the text: {error}", remedy=_remedy()) from error
    if not (np.abs(np.linalg.norm(vectors, axis=1) - 1) < _UNIT_TOLERANCE).all():
        raise EmbedderUnavailable("The local model gave a vector without a direction.", remedy=_remedy())
    return vectors

"""What all embedders on servers have in common: how much goes into one request, and what happens when it is refused.

An adapter is the rest: the address, the key, and the form of a request and of its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from perdure.embed.model_cache import read_cached, write_cached
from perdure.embed.port import Generation, Progress, Vectors
from perdure.errors import EmbedderUnavailable, ProviderUnavailable
from perdure.model import Json

if TYPE_CHECKING:
    from perdure.providers.client import ProviderClient
    from perdure.providers.options import Options
    from perdure.remedies import Remedy

# English has four bytes for a token; program text and other scripts have fewer.
_BYTES_PER_TOKEN: Final = 3
# The beginning of a refused text that is tried once more: it fits into the smallest window in use, 512 tokens.
_SHORT_BYTES: Final = 1200
# Bad request, too large, unprocessable: it may be one of the texts. Others, such as 401, are about all of them.
_REFUSES_A_TEXT: Final = frozenset({400, 413, 422})
_NOT_FOUND: Final = 404
# Written as JSON they have some twenty bytes each, and an answer may not have more than 32 MiB.
_NUMBERS_PER_ANSWER: Final = 1_000_000
# Requests for each text on average, however many of the texts are refused.
_REQUESTS_PER_TEXT: Final = 1.5
# Raise it when the texts are sent to the models in another form: the vectors will differ.
_VERSION: Final = "1"

# What a text is for: providers treat a question otherwise than what may answer it.
Task: TypeAlias = Literal["query", "passage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WireFormat:
    """How a provider is asked: the path below its URL, the body for some texts, and where its answer has the vectors,
    in the same order, and how many tokens it counted. `no_model` is the remedy when it does not know the model.
    """

    path: str
    body: Callable[[Sequence[str], Task], Mapping[str, Json]]
    vectors: Callable[[Any], Sequence[Json]]
    tokens: Callable[[Any], int] | None = None
    no_model: Remedy | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """How many texts, and how many tokens of them together, fit into one request; `window`: how many tokens of one
    text the model reads.
    """

    texts: int
    tokens: int
    window: int


class ServerEmbedder:
    """Asks a provider for vectors. How long they are is known, configured, or learned from the first answer."""

    def __init__(
        self, client: ProviderClient, options: Options, wire: WireFormat, limits: Limits, *, dimensions: int = 0
    ) -> None:
        """`dimensions` is what the adapter knows about this model; 0: nothing."""
        self._client = client
        self._provider, self._model = client.provider, client.model
        self._wire = wire
        self._limits = limits
        self._options = options
        self._place = f"{client.provider}:{client.model} {client.url}"
        self._known = options.dimensions or dimensions
        self._generation: Generation | None = None

    @property
    def generation(self) -> Generation:
        if self._generation is None:
            kept = read_cached(self._options.cache, self._place) or "0"
            dimensions = self._known or (int(kept) if kept.isdecimal() else 0)
            if not dimensions:
                (vector,) = self._ask(["How long are the vectors of this model?"], task="passage", dimensions=0)
                dimensions = len(vector)
                write_cached(self._options.cache, self._place, str(dimensions))
            self._generation = Generation(self._provider, self._model, dimensions, _VERSION)
        return self._generation

    @property
    def label(self) -> str:
        """The model as the settings name it."""
        return f"{self._provider}:{self._model}"

    def unavailable(self) -> EmbedderUnavailable | None:
        """Why it cannot be asked: no key, or a host that may not be asked. No request is made."""
        try:
            self._client.check()
        except ProviderUnavailable as error:
            return as_embedder_error(error)
        return None

    def embed_query(self, text: str) -> Vectors:
        return self._ask([self._cut(text)], task="query", dimensions=self.generation.dimensions)[0]

    def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        """A request that is refused is halved until the text that is not wanted stands alone."""
        import numpy as np

        dimensions = self.generation.dimensions
        cut = [self._cut(text) for text in texts]
        waiting = [*self._portions(cut)][::-1]
        vectors: dict[int, Vectors] = {}
        failure: EmbedderUnavailable | None = None
        requests = refused = 0
        while waiting:
            places = waiting.pop()
            requests += 1
            try:
                answer = self._ask([cut[place] for place in places], task="passage", dimensions=dimensions)
            except EmbedderUnavailable as error:
                failure, refused = error, refused + 1
                # After log2(n) halvings a bad text stands alone: more refusals than that are about all of them.
                if error.status not in _REFUSES_A_TEXT or refused > len(texts).bit_length() + 1:
                    break
                if len(places) > 1 and requests + len(waiting) + 2 <= _REQUESTS_PER_TEXT * len(texts):
                    middle = len(places) // 2
                    waiting += [places[middle:], places[:middle]]
                elif len(places) == 1 and (short := _beginning(cut[places[0]], _SHORT_BYTES)) != cut[places[0]]:
                    cut[places[0]] = short
                    waiting.append(places)
                continue
            refused = 0
            vectors.update(zip(places, answer, strict=True))
            if progress:
                progress(len(vectors), len(texts))
        if failure and len(vectors) < len(texts):
            failure.good = vectors
            raise failure
        return np.array([vectors[place] for place in range(len(texts))]).reshape(-1, dimensions)

    def _ask(self, texts: Sequence[str], *, task: Task, dimensions: int) -> list[Vectors]:
        import numpy as np

        provider, wire, count = self._provider, self._wire, self._wire.tokens
        try:
            answer = self._client.post(
                wire.path,
                wire.body(texts, task),
                purpose=f"embed {task}",
                items=len(texts),
                seconds=self._options.seconds_for(len(texts)),
                usage=(lambda answer: (count(answer), 0)) if count else None,
            )
            vectors = [np.array(row) for row in wire.vectors(answer)]
        except ProviderUnavailable as error:
            no_model = wire.no_model if error.status == _NOT_FOUND else None
            raise as_embedder_error(error, no_model) from error
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            form = f"{type(error).__name__}: {error}".rstrip(".")
            raise EmbedderUnavailable(f"The answer of {provider} does not have the documented form: {form}.") from error
        if len(vectors) != len(texts):
            raise EmbedderUnavailable(f"{provider} answered with {len(vectors)} vectors for {len(texts)} texts.")
        for vector in vectors:
            if vector.ndim != 1 or vector.dtype.kind not in "fi":
                raise EmbedderUnavailable(f"{provider} answered with a vector that does not consist of numbers.")
            if dimensions and len(vector) != dimensions:
                self._generation = None
                write_cached(self._options.cache, self._place, None)
                raise EmbedderUnavailable(
                    f"{provider}:{self._model} gives vectors of {len(vector)} numbers instead of {dimensions}.",
                    remedy=f"Write `embedder_dimensions = {len(vector)}` if that is what you want.",
                )
        return vectors

    def _portions(self, texts: Sequence[str]) -> Iterator[list[int]]:
        most = min(self._limits.texts, max(1, _NUMBERS_PER_ANSWER // self.generation.dimensions))
        places: list[int] = []
        tokens = 0
        for place, text in enumerate(texts):
            size = -(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)
            if places and (len(places) >= most or tokens + size > self._limits.tokens):
                yield places
                places, tokens = [], 0
            places.append(place)
            tokens += size
        if places:
            yield places

    def _cut(self, text: str) -> str:
        return _beginning(self._client.sendable(text), self._limits.window * _BYTES_PER_TOKEN)


def as_embedder_error(error: ProviderUnavailable, remedy: Remedy | None = None) -> EmbedderUnavailable:
    unavailable = EmbedderUnavailable(error.sentence, remedy=remedy or error.advice)
    unavailable.retry_after, unavailable.status = error.retry_after, error.status
    return unavailable


def by_index(data: Any) -> Sequence[Json]:
    """The vectors of OpenAI's form of an answer, in the order of the texts."""
    if sorted(item["index"] for item in data) != list(range(len(data))):
        raise ValueError("its indexes are not those of the texts")
    return [item["embedding"] for item in sorted(data, key=lambda item: item["index"])]


def _beginning(text: str, most: int) -> str:
    """As much of the text as fits into so many bytes of UTF-8."""
    return text if len(text) * 4 <= most else text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore")

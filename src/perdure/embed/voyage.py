"""Voyage AI's embeddings. Its `voyage-code-3` was made for program text and what is said about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from perdure.embed.port import Embedder
from perdure.embed.server import Limits, ServerEmbedder, Task, WireFormat, by_index
from perdure.model import Json
from perdure.providers.options import ApiKey, Options

_URL: Final = "https://api.voyageai.com/v1"
# Those whose vectors have 1024 numbers, or as many as one asks for.
_SIZABLE: Final = frozenset(
    "voyage-code-3 voyage-3-large voyage-3.5 voyage-3.5-lite voyage-4 voyage-4-large voyage-4-lite".split()
)
_DIMENSIONS: Final = {**dict.fromkeys(_SIZABLE, 1024), "voyage-finance-2": 1024, "voyage-law-2": 1024}
# Some models take more tokens in one request; none takes fewer.
_LIMITS: Final = Limits(texts=1000, tokens=120_000, window=32_000)


def open_embedder(model: str, options: Options) -> Embedder:
    def body(texts: Sequence[str], task: Task) -> dict[str, Json]:
        asked: dict[str, Json] = {"model": model, "input": list(texts), "truncation": True}
        asked["input_type"] = "query" if task == "query" else "document"
        if options.dimensions and model in _SIZABLE:
            asked["output_dimension"] = options.dimensions
        return asked

    wire = WireFormat(
        path="/embeddings",
        body=body,
        vectors=lambda answer: by_index(answer["data"]),
        tokens=lambda answer: answer["usage"]["total_tokens"],
    )
    client = options.client("voyage", model, url=_URL, api_key=ApiKey(variable="VOYAGE_API_KEY"))
    return ServerEmbedder(client, options, wire, _LIMITS, dimensions=_DIMENSIONS.get(model, 0))

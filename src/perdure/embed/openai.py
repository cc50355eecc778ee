"""OpenAI's embeddings, and those of every server that speaks like it, such as vLLM, LM Studio and llama.cpp's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from perdure.embed.port import Embedder
from perdure.embed.server import Limits, ServerEmbedder, Task, WireFormat, by_index
from perdure.model import Json
from perdure.providers.options import ApiKey, Options

_URL: Final = "https://api.openai.com/v1"
_DIMENSIONS: Final = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
# Only these give shorter vectors when they are asked for; of any other model `dimensions` only says what it gives.
_CAN_BE_SHORTER: Final = "text-embedding-3"
_LIMITS: Final = Limits(texts=2048, tokens=300_000, window=8191)


def open_embedder(model: str, options: Options) -> Embedder:
    def body(texts: Sequence[str], _: Task) -> dict[str, Json]:
        asked: dict[str, Json] = {"model": model, "input": list(texts), "encoding_format": "float"}
        if options.dimensions and model.startswith(_CAN_BE_SHORTER):
            asked["dimensions"] = options.dimensions
        return asked

    wire = WireFormat(
        path="/embeddings",
        body=body,
        vectors=lambda answer: by_index(answer["data"]),
        tokens=lambda answer: answer["usage"]["prompt_tokens"],
    )
    client = options.client("openai", model, url=_URL, api_key=ApiKey(variable="OPENAI_API_KEY"))
    return ServerEmbedder(client, options, wire, _LIMITS, dimensions=_DIMENSIONS.get(model, 0))

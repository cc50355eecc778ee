"""Google's Gemini embeddings, in 768 dimensions unless another number is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from perdure.embed.port import Embedder
from perdure.embed.server import Limits, ServerEmbedder, Task, WireFormat
from perdure.model import Json
from perdure.providers.options import ApiKey, Options

_URL: Final = "https://generativelanguage.googleapis.com/v1beta"
_DIMENSIONS: Final = 768
_TASK_TYPES: Final[dict[Task, str]] = {"query": "RETRIEVAL_QUERY", "passage": "RETRIEVAL_DOCUMENT"}
# The second generation of models has no task types: what a text is for stands before it.
_SECOND: Final = "gemini-embedding-2"
_PREFIXES: Final[dict[Task, str]] = {"query": "task: search result | query: ", "passage": "title: none | text: "}
_LIMITS: Final = Limits(texts=100, tokens=200_000, window=2048)


def open_embedder(model: str, options: Options) -> Embedder:
    dimensions = options.dimensions or _DIMENSIONS

    def request(text: str, task: Task) -> dict[str, Json]:
        second = model.startswith(_SECOND)
        content: Json = {"parts": [{"text": f"{_PREFIXES[task]}{text}" if second else text}]}
        asked: dict[str, Json] = {"model": f"models/{model}", "content": content, "outputDimensionality": dimensions}
        if not second:
            asked["taskType"] = _TASK_TYPES[task]
        return asked

    def body(texts: Sequence[str], task: Task) -> dict[str, Json]:
        return {"requests": [request(text, task) for text in texts]}

    wire = WireFormat(
        path=f"/models/{model}:batchEmbedContents",
        body=body,
        vectors=lambda answer: [embedding["values"] for embedding in answer["embeddings"]],
    )
    key = ApiKey(variable="GEMINI_API_KEY", header="x-goog-api-key", prefix="")
    client = options.client("gemini", model, url=_URL, api_key=key)
    return ServerEmbedder(client, options, wire, _LIMITS, dimensions=dimensions)

"""Ollama's embeddings: models that run on this machine, or on one of yours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from perdure.embed.port import Embedder
from perdure.embed.server import Limits, ServerEmbedder, Task, WireFormat
from perdure.model import Json
from perdure.providers.ollama import ollama_url
from perdure.providers.options import Options
from perdure.remedies import Remedy, Run

_DIMENSIONS: Final = {"nomic-embed-text": 768, "mxbai-embed-large": 1024, "all-minilm": 384, "bge-m3": 1024}
# Nomic's models were trained with these words before each text, and are worse without them.
_NOMIC: Final[dict[Task, str]] = {"query": "search_query: ", "passage": "search_document: "}
# Ollama names no limits; this is what a processor without a graphics card can do within the time of a request.
_LIMITS: Final = Limits(texts=64, tokens=16_000, window=8192)


def open_embedder(model: str, options: Options) -> Embedder:
    model = model.removesuffix(":latest")
    prefixes = _NOMIC if model.startswith("nomic-embed-text") else {"query": "", "passage": ""}

    def body(texts: Sequence[str], task: Task) -> dict[str, Json]:
        return {"model": model, "input": [prefixes[task] + text for text in texts], "truncate": True}

    wire = WireFormat(
        path="/api/embed",
        body=body,
        vectors=lambda answer: answer["embeddings"],
        tokens=lambda answer: answer["prompt_eval_count"],
        no_model=Remedy(f"Run `ollama pull {model}`, then ", Run("work"), "."),
    )
    client = options.client("ollama", model, url=ollama_url())
    return ServerEmbedder(client, options, wire, _LIMITS, dimensions=_DIMENSIONS.get(model, 0))

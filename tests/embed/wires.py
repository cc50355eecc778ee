"""The embedding providers as they document themselves. Each takes a request apart, refuses what its documentation does
not allow, and answers with vectors that are not of length 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from providers.server import Received, Refuse

from perdure.embed.port import Embedder
from perdure.settings import Settings
from perdure.testing.embedder import WordEmbedder

Open = Callable[[Settings], Embedder]

# What every request has besides its key.
HEADERS: Final = {
    "host", "content-type", "accept", "accept-encoding", "user-agent", "content-length",
}  # fmt: skip


def vectors_of(texts: Sequence[str], dimensions: int) -> list[list[float]]:
    return (WordEmbedder(dimensions).embed_passages(texts) * 3).tolist()


def require(condition: object, message: str) -> None:
    if not condition:
        raise Refuse(422, message)


def require_fields(body: Mapping[str, Any], needed: set[str], optional: set[str] | None = None) -> None:
    """All that are needed, and none that the provider does not know."""
    allowed = needed | (optional or set())
    require(needed <= set(body) <= allowed, f"fields {sorted(body)} instead of {sorted(allowed)}")


def require_texts(texts: list[Any], most: int) -> list[str]:
    require(1 <= len(texts) <= most, f"between 1 and {most} texts")
    require(all(isinstance(text, str) and text for text in texts), "each text has at least one character")
    return texts


def openai(received: Received) -> Any:
    """https://platform.openai.com/docs/api-reference/embeddings/create, as CreateEmbeddingRequest of its OpenAPI
    description has it: `input` (at most 2048 texts, none empty, of 8192 tokens each and 300,000 together), `model`,
    `encoding_format`, and `dimensions`, "only supported in text-embedding-3 and later models".
    """
    body = received.json
    require_fields(body, {"model", "input", "encoding_format"}, {"dimensions"})
    require("dimensions" not in body or body["model"].startswith("text-embedding-3"), "this model has no dimensions")
    require(body["encoding_format"] == "float", "float")
    texts = require_texts(body["input"], 2048)
    size = body.get(
        "dimensions", {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072}.get(body["model"], 8)
    )
    data = [{"object": "embedding", "index": n, "embedding": one} for n, one in enumerate(vectors_of(texts, size))]
    # The order is the one of `index`, whatever the list's is.
    return {
        "object": "list",
        "data": data[::-1],
        "model": body["model"],
        "usage": {"prompt_tokens": 8, "total_tokens": 8},
    }


def voyage(received: Received) -> Any:
    """https://docs.voyageai.com/reference/embeddings-api: `input` (at most 1,000 texts, and 120K tokens together for
    voyage-code-3), `model`, `input_type` (query or document), `truncation`, `output_dimension` (2048, 1024, 512, 256).
    """
    body = received.json
    require_fields(body, {"model", "input", "input_type", "truncation"}, {"output_dimension"})
    require(body["input_type"] in {"query", "document"} and body["truncation"] is True, "input_type")
    require(body.get("output_dimension", 1024) in {2048, 1024, 512, 256}, "output_dimension")
    made = vectors_of(require_texts(body["input"], 1000), body.get("output_dimension", 1024))
    data = [{"object": "embedding", "embedding": one, "index": n} for n, one in enumerate(made)]
    return {"object": "list", "data": data[::-1], "model": body["model"], "usage": {"total_tokens": 8}}


def gemini(received: Received) -> Any:
    """https://ai.google.dev/api/embeddings, models.batchEmbedContents: `requests`, each an EmbedContentRequest with
    `model` (models/{model}), `content`, `taskType`, `outputDimensionality`; the answer has `embeddings` with `values`
    in the order of the requests. "At most 100 requests can be in one batch" is what it says to more.
    """
    body = received.json
    require_fields(body, {"requests"})
    require(1 <= len(body["requests"]) <= 100, "at most 100 requests can be in one batch")
    values: list[list[float]] = []
    for one in body["requests"]:
        second = "gemini-embedding-2" in one["model"]
        require_fields(one, {"model", "content", "outputDimensionality"} | (set() if second else {"taskType"}))
        require(one.get("taskType") in {None, "RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT"}, "taskType")
        require(received.path == f"/v1beta/{one['model']}:batchEmbedContents", "the model of the path")
        require_fields(one["content"], {"parts"})
        (part,) = one["content"]["parts"]
        require_fields(part, {"text"})
        values += vectors_of(require_texts([part["text"]], 1), one["outputDimensionality"])
    return {"embeddings": [{"values": one} for one in values]}


def ollama(received: Received) -> Any:
    """https://docs.ollama.com/api/embed: `model`, `input`, `truncate`; the answer has `embeddings`, `total_duration`,
    `load_duration`, `prompt_eval_count`. The prefixes of nomic-embed-text are those of its model card.
    """
    body = received.json
    require_fields(body, {"model", "input", "truncate"})
    require(body["truncate"] is True, "truncate")
    texts = [text.removeprefix("search_query: ").removeprefix("search_document: ") for text in body["input"]]
    made = vectors_of(require_texts(texts, 10_000), 768)
    return {"model": body["model"], "embeddings": made, "total_duration": 1, "load_duration": 1, "prompt_eval_count": 8}


@dataclass(frozen=True)
class Wire:
    """`passages` and `query` are the bodies that the provider gets, made by hand from its documentation."""

    model: str
    dimensions: int
    url: str
    path: str
    answer: Callable[[Received], Any]
    passages: Callable[[Sequence[str]], Any]
    query: Callable[[str], Any]
    key: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def host(self) -> str:
        return self.url.split("/")[2]


def gemini_request(text: str, task: str) -> Any:
    return {
        "model": "models/gemini-embedding-001",
        "content": {"parts": [{"text": text}]},
        "taskType": task,
        "outputDimensionality": 768,
    }


WIRES: Final = {
    "openai": Wire(
        model="openai:text-embedding-3-small",
        dimensions=1536,
        url="https://api.openai.com/v1",
        path="/v1/embeddings",
        answer=openai,
        passages=lambda texts: {"model": "text-embedding-3-small", "input": [*texts], "encoding_format": "float"},
        query=lambda text: {"model": "text-embedding-3-small", "input": [text], "encoding_format": "float"},
        key="OPENAI_API_KEY",
        headers={"authorization": "Bearer sk-test"},
    ),
    "voyage": Wire(
        model="voyage:voyage-code-3",
        dimensions=1024,
        url="https://api.voyageai.com/v1",
        path="/v1/embeddings",
        answer=voyage,
        passages=lambda texts: {
            "model": "voyage-code-3", "input": [*texts], "input_type": "document", "truncation": True,
        },
        query=lambda text: {"model": "voyage-code-3", "input": [text], "input_type": "query", "truncation": True},
        key="VOYAGE_API_KEY",
        headers={"authorization": "Bearer sk-test"},
    ),
    "gemini": Wire(
        model="gemini:gemini-embedding-001",
        dimensions=768,
        url="https://generativelanguage.googleapis.com/v1beta",
        path="/v1beta/models/gemini-embedding-001:batchEmbedContents",
        answer=gemini,
        passages=lambda texts: {"requests": [gemini_request(text, "RETRIEVAL_DOCUMENT") for text in texts]},
        query=lambda text: {"requests": [gemini_request(text, "RETRIEVAL_QUERY")]},
        key="GEMINI_API_KEY",
        headers={"x-goog-api-key": "sk-test"},
    ),
    "ollama": Wire(
        model="ollama:nomic-embed-text",
        dimensions=768,
        url="http://127.0.0.1:11434",
        path="/api/embed",
        answer=ollama,
        passages=lambda texts: {
            "model": "nomic-embed-text", "input": [f"search_document: {text}" for text in texts], "truncate": True,
        },
        query=lambda text: {"model": "nomic-embed-text", "input": [f"search_query: {text}"], "truncate": True},
    ),
}  # fmt: skip

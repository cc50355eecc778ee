"""Two servers on this machine that understand a little: one speaks as Ollama does, one as OpenAI.

Ollama: POST /api/embed with `model`, `input` and `truncate`, answered by `embeddings` and `prompt_eval_count`; POST
/api/chat with `messages` and `format`, answered by `message` (docs.ollama.com/api). OpenAI: POST /v1/embeddings with
`model`, `input` and `encoding_format`, answered by `data` and `usage` (platform.openai.com/docs/api-reference).
"""

from __future__ import annotations

import json
import math
import re
from hashlib import sha256
from random import Random
from typing import Any

from providers.server import FaultServer, Received, Refuse, answering

DIMENSIONS = {"nomic-embed-text": 768, "text-embedding-3-small": 1536}
# What means the same, so that a question can be answered by a memory that shares no word with it.
SAME = {"theme": "mode", "appearance": "mode", "likes": "prefers", "beverage": "tea", "drink": "tea", "thirsty": "tea"}
SMALL = {"the", "a", "of", "is", "does", "she", "he", "which", "what", "search_query", "search_document"}


def vector(text: str, model: str) -> list[float]:
    """The words of a text, each in a direction of its own that depends on the model as well."""
    total = [0.0] * DIMENSIONS[model]
    for word in re.findall(r"\w+", text.lower()):
        if word not in SMALL:
            seed = sha256(f"{model} {SAME.get(word, word)}".encode()).digest()
            direction = Random(seed)
            total = [value + direction.gauss(0, 1) for value in total]
    length = math.sqrt(sum(value * value for value in total)) or 1.0
    return [value / length for value in total] if any(total) else [1.0] * len(total)


def ollama(received: Received) -> Any:
    asked = received.json
    if received.path == "/api/embed":
        assert set(asked) == {"model", "input", "truncate"}, asked
        if asked["model"] not in DIMENSIONS:
            raise Refuse(404, f'model "{asked["model"]}" not found, try pulling it first')
        rows = [vector(text, asked["model"]) for text in asked["input"]]
        return {"model": asked["model"], "embeddings": rows, "prompt_eval_count": 5 * len(rows)}
    assert received.path == "/api/chat", received.path
    answers = {"keywords": ["ferry", "turnstile", "timetable"], "answer": "yes"}
    content = json.dumps({name: answers[name] for name in asked["format"]["properties"]})
    message = {"role": "assistant", "content": content}
    return {"model": asked["model"], "message": message, "done": True, "done_reason": "stop"}


def openai(received: Received) -> Any:
    asked = received.json
    assert received.path == "/v1/embeddings", received.path
    assert {"model", "input", "encoding_format"} <= set(asked), asked
    rows = [vector(text, asked["model"]) for text in asked["input"]]
    data = [{"object": "embedding", "index": place, "embedding": row} for place, row in enumerate(rows)]
    return {"object": "list", "data": data, "model": asked["model"], "usage": {"prompt_tokens": 5, "total_tokens": 5}}


def start(server: FaultServer, speaks: Any) -> FaultServer:
    server.always(answering(speaks))
    return server

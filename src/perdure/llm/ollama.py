"""Models that Ollama runs, on this machine or on another."""

from __future__ import annotations

from typing import Any

from perdure.llm.port import LanguageModel, Question
from perdure.llm.server import SEED, Body, ChatFormat, ServerModel
from perdure.providers.ollama import ollama_url
from perdure.providers.options import Options
from perdure.remedies import Remedy, Run


def open_model(model: str, options: Options) -> LanguageModel:
    def body(question: Question) -> Body:
        return {
            "model": model,
            "messages": [
                {"role": "system", "content": question.instructions},
                {"role": "user", "content": question.text},
            ],
            "format": dict(question.schema),
            "stream": False,
            # A model on this machine would think longer than anybody waits for it.
            "think": False,
            "options": {"temperature": 0, "seed": SEED, "num_predict": question.max_output_tokens},
        }

    client = options.client("ollama", model, url=ollama_url())
    format = ChatFormat(
        path="/api/chat",
        body=body,
        answer=text_of,
        usage=lambda said: (said["prompt_eval_count"], said["eval_count"]),
        optional={"think": "think"},
        no_model=Remedy(f"Run `ollama pull {model}`, then ", Run("work"), "."),
    )
    return ServerModel(client, format)


def text_of(said: Any) -> str:
    return said["message"]["content"]

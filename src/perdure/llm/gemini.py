"""Gemini, by the method `generateContent` of Google's Gemini API."""

from __future__ import annotations

import re
from typing import Any, Final

from perdure.errors import shown
from perdure.llm.port import LanguageModel, Question
from perdure.llm.schema import SHAPES, reduced
from perdure.llm.server import SEED, THINKING_TOKENS, Body, ChatFormat, ServerModel, refused
from perdure.model import Json
from perdure.providers.options import ApiKey, Options

URL: Final = "https://generativelanguage.googleapis.com/v1beta"
_KNOWN: Final = (SHAPES - {"const"}) | {"minimum", "maximum", "minItems", "maxItems"}
# How a model is told to think little, by its name; others think as they like.
_THINKING: Final[tuple[tuple[str, dict[str, Json]], ...]] = (
    (r"gemini-2\.5-flash", {"thinkingBudget": 0}),
    (r"gemini-3", {"thinkingLevel": "low"}),
)


def open_model(model: str, options: Options) -> LanguageModel:
    model = model.removeprefix("models/")

    def body(question: Question) -> Body:
        settings: Body = {
            "responseMimeType": "application/json",
            "responseJsonSchema": reduced(question.schema, _KNOWN),
            "temperature": 0,
            "seed": SEED,
            "maxOutputTokens": question.max_output_tokens + THINKING_TOKENS,
        }
        for name, thinking in _THINKING:
            if re.match(name, model):
                settings["thinkingConfig"] = thinking
        return {
            "systemInstruction": {"parts": [{"text": question.instructions}]},
            "contents": [{"role": "user", "parts": [{"text": question.text}]}],
            "generationConfig": settings,
        }

    client = options.client(
        "gemini", model, url=URL, api_key=ApiKey(variable="GEMINI_API_KEY", header="x-goog-api-key", prefix="")
    )
    optional = {"temperature": "temperature", "seed": r"\bseed\b", "thinkingConfig": "[Tt]hinking"}
    optional |= {"responseJsonSchema": "[Jj]son_?[Ss]chema"}
    path = f"/models/{model}:generateContent"
    return ServerModel(client, ChatFormat(path=path, body=body, answer=text_of, usage=tokens_of, optional=optional))


def text_of(said: Any) -> str:
    if reason := said.get("promptFeedback", {}).get("blockReason"):
        raise refused(f"the question was blocked ({shown(reason)})")
    candidate = said["candidates"][0]
    parts = candidate.get("content", {}).get("parts", [])
    text = "".join(part.get("text", "") for part in parts if not part.get("thought"))
    # Where the limit was reached, what there is goes on to be checked. All other reasons are filters.
    if (reason := candidate.get("finishReason", "STOP")) not in {"STOP", "MAX_TOKENS"}:
        raise refused(f"it was stopped ({shown(reason)})", text)
    return text


def tokens_of(said: Any) -> tuple[int, int]:
    usage = said["usageMetadata"]
    return usage["promptTokenCount"], usage.get("candidatesTokenCount", 0) + usage.get("thoughtsTokenCount", 0)

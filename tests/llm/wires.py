"""How each provider says the same: an answer, half of one, a refusal; and where its adapter thinks that it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Said = dict[str, Any]


@dataclass(frozen=True)
class Wire:
    """`says` wraps a text as the provider does, `stops` does it where the limit of tokens was reached, `refusals` are
    the documented ways not to answer. `key` is the variable of the key, `header` what carries it.
    """

    model: str
    path: str
    module: str
    says: Callable[[str], Said]
    stops: Callable[[str], Said]
    refusals: tuple[Said, ...]
    usage: tuple[int, int]
    key: str = ""
    header: str = ""
    prefix: str = ""


def claude(*blocks: Said, stop: str = "end_turn") -> Said:
    return {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-4-5",
        "content": list(blocks),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 101, "output_tokens": 23},
    }


def completion(content: Any, *, refusal: str | None = None, finish: str = "stop") -> Said:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4.1-mini",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, "refusal": refusal},
                "logprobs": None,
                "finish_reason": finish,
            }
        ],
        "usage": {"prompt_tokens": 101, "completion_tokens": 23, "total_tokens": 124},
    }


def candidate(*parts: Said, finish: str = "STOP") -> Said:
    content = {"content": {"role": "model", "parts": list(parts)}} if parts else {}
    return {
        "candidates": [{"index": 0, "finishReason": finish, **content}],
        "usageMetadata": {"promptTokenCount": 101, "candidatesTokenCount": 20, "thoughtsTokenCount": 3},
        "modelVersion": "gemini-2.5-flash",
    }


def message(content: str, reason: str = "stop") -> Said:
    return {
        "model": "qwen3",
        "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": content},
        "done_reason": reason,
        "done": True,
        "total_duration": 1,
        "prompt_eval_count": 101,
        "eval_count": 23,
    }


WIRES = {
    "anthropic": Wire(
        model="claude-haiku-4-5",
        path="/v1/messages",
        module="perdure.llm.anthropic",
        says=lambda text: claude({"type": "text", "text": text}),
        stops=lambda text: claude({"type": "text", "text": text}, stop="max_tokens"),
        refusals=(claude({"type": "text", "text": "I cannot."}, stop="refusal"), claude(stop="refusal")),
        usage=(101, 23),
        key="ANTHROPIC_API_KEY",
        header="x-api-key",
    ),
    "openai": Wire(
        model="gpt-4.1-mini",
        path="/chat/completions",
        module="perdure.llm.openai",
        says=completion,
        stops=lambda text: completion(text, finish="length"),
        refusals=(completion(None, refusal="I cannot."), completion(None, finish="content_filter")),
        usage=(101, 23),
        key="OPENAI_API_KEY",
        header="authorization",
        prefix="Bearer ",
    ),
    "gemini": Wire(
        model="gemini-2.5-flash",
        path="/models/gemini-2.5-flash:generateContent",
        module="perdure.llm.gemini",
        says=lambda text: candidate({"text": text}),
        stops=lambda text: candidate({"text": text}, finish="MAX_TOKENS"),
        refusals=(
            {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 101}},
            candidate(finish="SAFETY"),
            candidate(finish="PROHIBITED_CONTENT"),
            candidate({"text": "{"}, finish="RECITATION"),
        ),
        usage=(101, 23),
        key="GEMINI_API_KEY",
        header="x-goog-api-key",
    ),
    "ollama": Wire(
        model="qwen3",
        path="/api/chat",
        module="perdure.llm.ollama",
        says=message,
        stops=lambda text: message(text, "length"),
        refusals=(),
        usage=(101, 23),
    ),
}

"""Models of OpenAI by its Chat Completions API, and those of every server that speaks it, too."""

from __future__ import annotations

import re
from typing import Any, Final

from perdure.llm.port import LanguageModel, Question
from perdure.llm.schema import SHAPES, reduced
from perdure.llm.server import SEED, THINKING_TOKENS, Body, ChatFormat, ServerModel, refused
from perdure.providers.options import Key, Options

URL: Final = "https://api.openai.com/v1"
# Models that reason refuse a temperature, and are told to reason little instead.
_REASONS: Final = re.compile(r"(o\d|gpt-5)(?!.*-(chat|pro|search))")
_KNOWN: Final = SHAPES | {"minimum", "maximum", "minItems", "maxItems"}


def open_model(model: str, options: Options) -> LanguageModel:
    official = options.url is None

    def body(question: Question) -> Body:
        form: Body = {"name": _name(question.purpose), "strict": True, "schema": reduced(question.schema, _KNOWN)}
        asked: Body = {
            "model": model,
            "messages": [
                {"role": "system", "content": question.instructions},
                {"role": "user", "content": question.text},
            ],
            "response_format": {"type": "json_schema", "json_schema": form},
            "seed": SEED,
        }
        if official:
            # Only OpenAI itself knows these two, and only it keeps what it is not told to forget.
            asked |= {"max_completion_tokens": question.max_output_tokens + THINKING_TOKENS, "store": False}
        else:
            asked |= {"max_tokens": question.max_output_tokens + THINKING_TOKENS}
        return asked | ({"reasoning_effort": "low"} if official and _REASONS.match(model) else {"temperature": 0})

    client = options.client("openai", model, url=URL, key=Key(variable="OPENAI_API_KEY"))
    optional = {name: name for name in ("temperature", "seed", "reasoning_effort", "max_tokens", "store")}
    optional["response_format"] = "response_format|json_schema"
    return ServerModel(
        client, ChatFormat(path="/chat/completions", body=body, answer=_answer, usage=_usage, optional=optional)
    )


def _name(purpose: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "_", purpose)[:64]


def _answer(said: Any) -> str:
    choice = said["choices"][0]
    message = choice["message"]
    content = message.get("content") or ""
    # Some servers send a list of parts, as in a question.
    text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
    if message.get("refusal"):
        raise refused("it refused", message["refusal"])
    if choice.get("finish_reason") == "content_filter":
        raise refused("a content filter stopped it", text)
    return text


def _usage(said: Any) -> tuple[int, int]:
    return said["usage"]["prompt_tokens"], said["usage"]["completion_tokens"]

"""Models of OpenAI by its Chat Completions API, and those of every server that speaks it, too."""

from __future__ import annotations

import re
from typing import Any, Final

from perdure.llm.port import LanguageModel, Question
from perdure.llm.schema import SHAPES, reduced
from perdure.llm.server import SEED, THINKING_TOKENS, Body, ChatFormat, ServerModel, refused
from perdure.providers.address import same_server
from perdure.providers.options import ApiKey, Options

URL: Final = "https://api.openai.com/v1"
# Models that reason refuse a temperature, and are told to reason little instead.
_REASONS: Final = re.compile(r"(o\d|gpt-5)(?!.*-(chat|pro|search))")
_KNOWN: Final = SHAPES | {"minimum", "maximum", "minItems", "maxItems"}


def open_model(model: str, options: Options) -> LanguageModel:
    client = options.client("openai", model, url=URL, api_key=ApiKey(variable="OPENAI_API_KEY"))
    official = same_server(client.url, URL)

    def body(question: Question) -> Body:
        form: Body = {
            "name": re.sub(r"[^a-zA-Z0-9_-]", "_", question.purpose)[:64],
            "strict": True,
            "schema": reduced(question.schema, _KNOWN),
        }
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

    optional = {name: rf"\b{name}\b" for name in ("temperature", "seed", "reasoning_effort", "max_tokens")}
    optional["response_format"] = "response_format|json_schema"
    return ServerModel(
        client,
        ChatFormat(
            path="/chat/completions",
            body=body,
            answer=text_of,
            usage=lambda said: (said["usage"]["prompt_tokens"], said["usage"]["completion_tokens"]),
            optional=optional,
        ),
    )


def text_of(said: Any) -> str:
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

"""Claude, by Anthropic's Messages API."""

from __future__ import annotations

import re
from typing import Any, Final

from perdure.llm.port import LanguageModel, Question
from perdure.llm.schema import SHAPES, reduced
from perdure.llm.server import THINKING_TOKENS, Body, ChatFormat, ServerModel, refused
from perdure.providers.options import ApiKey, Options

URL: Final = "https://api.anthropic.com"
# Models after Opus 4.6 refuse every temperature but their own; no other will be made that takes one.
_TAKES_TEMPERATURE: Final = re.compile(r"claude-([23][.-]|instant|[a-z]+-4(-[0-6])?(-20\d{6})?$)")


def open_model(model: str, options: Options) -> LanguageModel:
    def body(question: Question) -> Body:
        asked: Body = {
            "model": model,
            "max_tokens": question.max_output_tokens + THINKING_TOKENS,
            "system": question.instructions,
            "messages": [{"role": "user", "content": question.text}],
            # On by default since Claude 5. Models that always think refuse this, and are asked without it.
            "thinking": {"type": "disabled"},
            "output_config": {"format": {"type": "json_schema", "schema": reduced(question.schema, SHAPES)}},
        }
        return asked | {"temperature": 0} if _TAKES_TEMPERATURE.match(model) else asked

    client = options.client(
        "anthropic",
        model,
        url=URL,
        api_key=ApiKey(variable="ANTHROPIC_API_KEY", header="x-api-key", prefix=""),
        headers={"anthropic-version": "2023-06-01"},
    )
    optional = {"temperature": "temperature", "thinking": "[Tt]hinking"}
    optional["output_config"] = r"output[_ ](config|format)|[Ss]tructured output"
    return ServerModel(
        client,
        ChatFormat(
            path="/v1/messages",
            body=body,
            answer=text_of,
            usage=lambda said: (said["usage"]["input_tokens"], said["usage"]["output_tokens"]),
            optional=optional,
        ),
    )


def text_of(said: Any) -> str:
    """The text blocks; between them may be blocks of thoughts."""
    text = "".join(block["text"] for block in said["content"] if block["type"] == "text")
    if said.get("stop_reason") == "refusal":
        raise refused("it refused", text)
    return text

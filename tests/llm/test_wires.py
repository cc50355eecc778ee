"""Each provider is asked in exactly the form that it documents, and whatever it answers is understood.

A local server stands for the provider. No real one was asked; each test names the source of the form.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from llm.scripted import ABOUT_BRIDGES, GOOD, KEYWORDS
from llm.wires import WIRES, candidate, claude, completion, message
from providers.server import TRANSPORT_FAULTS, FaultServer, ok, status

from perdure.errors import ModelOutputInvalid, ModelUnavailable, ProviderRefused, ProviderUnavailable
from perdure.llm.port import LanguageModel, Question
from perdure.llm.registry import open_llm
from perdure.llm.structured import ask
from perdure.providers.access import Access
from perdure.settings import load

WANTED = {"keywords": ["bridge", "Limmat"]}
Open = Callable[..., LanguageModel]


@pytest.fixture
def open_model(tmp_path: Path) -> Iterator[Open]:
    """Opens what the setting `llm` names."""
    access = Access(redact=lambda text: text)

    def open(name: str, url: str | None = None) -> LanguageModel:
        settings = load({"HOME": str(tmp_path)}, llm=name, llm_url=url)
        return open_llm(name, settings, access)

    yield open
    access.close()


@pytest.fixture
def official(server: FaultServer, open_model: Open, monkeypatch: pytest.MonkeyPatch) -> Open:
    """The same without `llm_url`, where the provider's own server is the local one, and its key is set."""

    def open(provider: str, model: str | None = None) -> LanguageModel:
        wire = WIRES[provider]
        if wire.key:
            monkeypatch.setattr(importlib.import_module(wire.module), "URL", server.url)
            monkeypatch.setenv(wire.key, "a-key")
        else:
            monkeypatch.setenv("OLLAMA_HOST", server.url)
        return open_model(f"{provider}:{model or wire.model}")

    return open


def body_of(server: FaultServer) -> dict[str, Any]:
    (request,) = server.requests
    return request.json


def sent(server: FaultServer, *names: str) -> dict[str, str]:
    """Those headers of the only request that are the provider's own."""
    (request,) = server.requests
    assert request.headers["content-type"] == "application/json"
    return {name: request.headers[name] for name in request.headers if name in names}


def described(**limits: int) -> str:
    return f"({', '.join(f'{word}: {limits[word]}' for word in sorted(limits))})"


def test_claude_is_asked_as_the_messages_api_documents(server: FaultServer, official: Open):
    """platform.claude.com/docs/en/api/messages (model, max_tokens, system, messages, temperature; header
    anthropic-version 2023-06-01 and x-api-key), platform.claude.com/docs/en/about-claude/models/whats-new-sonnet-5
    (thinking is on unless its type is `disabled`) and platform.claude.com/docs/en/build-with-claude/structured-outputs
    (output_config.format; no minimum, maximum, minLength, maxLength, and minItems of 0 or 1 alone). The SDK
    anthropics/anthropic-sdk-python, lib/_parse/_transform.py, moves such limits into the description as we do.
    """
    server.always(ok(WIRES["anthropic"].says(GOOD)))
    assert official("anthropic").answer(ABOUT_BRIDGES, seconds=5) == GOOD
    assert server.requests[0].path == "/v1/messages"
    assert sent(server, "x-api-key", "anthropic-version", "authorization") == {
        "x-api-key": "a-key",
        "anthropic-version": "2023-06-01",
    }
    assert body_of(server) == {
        "model": "claude-haiku-4-5",
        "max_tokens": 200 + 4096,
        "system": ABOUT_BRIDGES.instructions,
        "messages": [{"role": "user", "content": ABOUT_BRIDGES.text}],
        "temperature": 0,
        "thinking": {"type": "disabled"},
        "output_config": {
            "format": {
                "type": "json_schema",
                "schema": {
                    **KEYWORDS,
                    "properties": {
                        "keywords": {
                            "type": "array",
                            "items": {"type": "string", "description": described(minLength=2, maxLength=40)},
                            "description": described(minItems=1, maxItems=10),
                        }
                    },
                },
            }
        },
    }


@pytest.mark.parametrize(
    ("model", "takes_temperature"),
    [
        ("claude-3-haiku-20240307", True),
        ("claude-3-7-sonnet-latest", True),
        ("claude-sonnet-4-20250514", True),
        ("claude-opus-4-1-20250805", True),
        ("claude-haiku-4-5-20251001", True),
        ("claude-opus-4-6", True),
        ("claude-opus-4-7", False),
        ("claude-opus-4-7-20260301", False),
        ("claude-sonnet-5", False),
        ("claude-opus-5-1-20270101", False),
    ],
)
def test_claude_gets_a_temperature_only_where_it_takes_one(
    server: FaultServer, official: Open, model: str, takes_temperature: bool
):
    """platform.claude.com/docs/en/api/messages: "Models released after Claude Opus 4.6 do not support setting
    temperature. […] all other values will be rejected with a 400 error".
    """
    server.always(ok(WIRES["anthropic"].says(GOOD)))
    official("anthropic", model).answer(ABOUT_BRIDGES, seconds=5)
    assert ("temperature" in body_of(server)) == takes_temperature


def test_openai_is_asked_as_the_chat_completions_api_documents(server: FaultServer, official: Open):
    """platform.openai.com/docs/api-reference/chat/create (openai/openai-python,
    types/chat/completion_create_params.py: max_completion_tokens in the place of max_tokens, seed, store) and
    platform.openai.com/docs/guides/structured-outputs (strict json_schema: minItems, maxItems, minimum and maximum are
    known, lengths of strings are not).
    """
    server.always(ok(completion(GOOD)))
    assert official("openai").answer(ABOUT_BRIDGES, seconds=5) == GOOD
    assert server.requests[0].path == "/chat/completions"
    assert sent(server, "authorization") == {"authorization": "Bearer a-key"}
    assert body_of(server) == {
        "model": "gpt-4.1-mini",
        "messages": [
            {"role": "system", "content": ABOUT_BRIDGES.instructions},
            {"role": "user", "content": ABOUT_BRIDGES.text},
        ],
        "temperature": 0,
        "seed": 42,
        "store": False,
        "max_completion_tokens": 200 + 4096,
        "response_format": {
            "type": "json_schema",
            "json_schema": {
                "name": "keywords",
                "strict": True,
                "schema": {
                    **KEYWORDS,
                    "properties": {
                        "keywords": {
                            "type": "array",
                            "items": {"type": "string", "description": described(minLength=2, maxLength=40)},
                            "minItems": 1,
                            "maxItems": 10,
                        }
                    },
                },
            },
        },
    }


@pytest.mark.parametrize(
    ("model", "reasons"),
    [
        ("o1", True),
        ("o3-mini-2025-01-31", True),
        ("o4-mini", True),
        ("gpt-5", True),
        ("gpt-5-nano", True),
        ("gpt-5.2", True),
        ("gpt-5-chat-latest", False),
        ("gpt-4o", False),
        ("gpt-4.1", False),
    ],
)
def test_a_model_of_openai_that_reasons_gets_an_effort_instead_of_a_temperature(
    server: FaultServer, official: Open, model: str, reasons: bool
):
    """platform.openai.com/docs/guides/reasoning: reasoning models take no sampling parameters; reasoning_effort `low`
    is known to all of them but the `pro` and `chat` ones.
    """
    server.always(ok(completion(GOOD)))
    official("openai", model).answer(ABOUT_BRIDGES, seconds=5)
    assert ("temperature" in body_of(server)) != reasons
    assert body_of(server).get("reasoning_effort") == ("low" if reasons else None)


def test_a_server_that_speaks_like_openai_is_asked_for_what_such_servers_know(server: FaultServer, open_model: Open):
    """vLLM, llama.cpp's server and LM Studio document `max_tokens`; `store` is OpenAI's alone."""
    server.always(ok(completion([{"type": "text", "text": GOOD[:9]}, {"type": "text", "text": GOOD[9:]}])))
    model = open_model("openai:qwen2.5-7b-instruct", f"{server.url}/v1")
    assert model.answer(ABOUT_BRIDGES, seconds=5) == GOOD
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.json["max_tokens"] == 200 + 4096
    assert request.json.keys().isdisjoint({"store", "max_completion_tokens", "reasoning_effort"})
    assert (request.json["temperature"], request.json["seed"]) == (0, 42)


def test_gemini_is_asked_as_generate_content_documents(server: FaultServer, official: Open):
    """ai.google.dev/api/generate-content (systemInstruction, contents, generationConfig with responseMimeType,
    responseJsonSchema, temperature, seed, maxOutputTokens; header x-goog-api-key). Of responseJsonSchema it says that
    enum, items, minItems, maxItems, minimum, maximum, anyOf, properties, additionalProperties and required are known.
    ai.google.dev/gemini-api/docs/thinking: thinkingBudget 0 switches thinking off in 2.5 Flash.
    """
    server.always(ok(candidate({"text": GOOD})))
    assert official("gemini").answer(ABOUT_BRIDGES, seconds=5) == GOOD
    assert server.requests[0].path == "/models/gemini-2.5-flash:generateContent"
    assert sent(server, "x-goog-api-key", "authorization") == {"x-goog-api-key": "a-key"}
    assert body_of(server) == {
        "systemInstruction": {"parts": [{"text": ABOUT_BRIDGES.instructions}]},
        "contents": [{"role": "user", "parts": [{"text": ABOUT_BRIDGES.text}]}],
        "generationConfig": {
            "responseMimeType": "application/json",
            "responseJsonSchema": {
                **KEYWORDS,
                "properties": {
                    "keywords": {
                        "type": "array",
                        "items": {"type": "string", "description": described(minLength=2, maxLength=40)},
                        "minItems": 1,
                        "maxItems": 10,
                    }
                },
            },
            "temperature": 0,
            "seed": 42,
            "maxOutputTokens": 200 + 4096,
            "thinkingConfig": {"thinkingBudget": 0},
        },
    }


@pytest.mark.parametrize(
    ("model", "thinking"),
    [("gemini-3-pro-preview", {"thinkingLevel": "low"}), ("gemini-2.5-pro", None), ("gemini-2.0-flash", None)],
)
def test_gemini_is_told_to_think_little_in_the_words_of_its_generation(
    server: FaultServer, official: Open, model: str, thinking: dict[str, str] | None
):
    """ai.google.dev/gemini-api/docs/thinking: Gemini 3 has thinkingLevel; 2.5 Pro cannot be kept from thinking."""
    server.always(ok(candidate({"text": GOOD})))
    official("gemini", model).answer(ABOUT_BRIDGES, seconds=5)
    assert body_of(server)["generationConfig"].get("thinkingConfig") == thinking


def test_ollama_is_asked_as_its_chat_endpoint_documents(server: FaultServer, official: Open):
    """ollama/ollama, docs/api.md, "Generate a chat completion": model, messages, format (a JSON schema), stream,
    think, options (temperature, seed, num_predict). llama.cpp's grammars know all limits of the schema.
    """
    server.always(ok(message(GOOD)))
    assert official("ollama").answer(ABOUT_BRIDGES, seconds=5) == GOOD
    assert server.requests[0].path == "/api/chat"
    assert sent(server, "authorization") == {}
    assert body_of(server) == {
        "model": "qwen3",
        "messages": [
            {"role": "system", "content": ABOUT_BRIDGES.instructions},
            {"role": "user", "content": ABOUT_BRIDGES.text},
        ],
        "format": KEYWORDS,
        "stream": False,
        "think": False,
        "options": {"temperature": 0, "seed": 42, "num_predict": 200},
    }


def test_a_model_that_ollama_does_not_have_is_named_with_the_command_that_fetches_it(
    server: FaultServer, official: Open
):
    """ollama/ollama, server/routes.go: 404 and {"error": "model 'qwen3' not found"}."""
    server.always(status(404, {"error": "model 'qwen3' not found"}))
    model = official("ollama")
    for _ in range(2):
        with pytest.raises(ProviderRefused) as refused:
            model.answer(ABOUT_BRIDGES, seconds=5)
        assert "model 'qwen3' not found" in refused.value.sentence
        assert refused.value.remedy == "Run `ollama pull qwen3`, then `memory.work()`."


def test_thoughts_are_no_part_of_the_answer(server: FaultServer, official: Open):
    """platform.claude.com/docs/en/build-with-claude/extended-thinking (blocks `thinking` and `redacted_thinking`),
    ai.google.dev/gemini-api/docs/thinking (parts with `thought`), ollama/ollama docs/api.md (`message.thinking`).
    """
    thinking = {"type": "thinking", "thinking": "Hm, {", "signature": "x"}
    hidden = {"type": "redacted_thinking", "data": "x"}
    half, rest = {"type": "text", "text": GOOD[:9]}, {"type": "text", "text": GOOD[9:]}
    thoughtful = message(GOOD)
    thoughtful["message"]["thinking"] = "Hm, {"
    answers = {
        "anthropic": claude(thinking, half, hidden, rest),
        "gemini": candidate({"text": "Hm, {", "thought": True}, {"text": GOOD[:9]}, {"text": GOOD[9:]}),
        "ollama": thoughtful,
    }
    for provider, answer in answers.items():
        server.always(ok(answer))
        assert official(provider).answer(ABOUT_BRIDGES, seconds=5) == GOOD


@pytest.mark.parametrize("provider", WIRES)
def test_an_answer_is_read_and_repaired_alike_with_every_provider(server: FaultServer, official: Open, provider: str):
    wire = WIRES[provider]
    server.next(ok(wire.stops(GOOD[:15])), ok(wire.says("Here you are: bridge, Limmat")))
    server.always(ok(wire.says(f"```json\n{GOOD}\n```")))
    assert ask(official(provider), ABOUT_BRIDGES, seconds=60) == WANTED
    first, second, third = (json.dumps(request.json) for request in server.requests)
    assert "could not be used" not in first
    assert "The JSON ends in the middle." in second
    assert "There is no JSON object in the answer." in third


@pytest.mark.parametrize("provider", WIRES)
@pytest.mark.parametrize("text", ["", " ", "{}", '{"keys": []}', '{"keywords": 7}', "no", "{" * 5000])
def test_three_unusable_answers_are_enough(server: FaultServer, official: Open, provider: str, text: str):
    server.always(ok(WIRES[provider].says(text)))
    with pytest.raises(ModelOutputInvalid) as caught:
        ask(official(provider), ABOUT_BRIDGES, seconds=60)
    assert len(server.requests) == 3
    assert caught.value.outputs == (text,) * 3


@pytest.mark.parametrize(
    ("provider", "refusal"), [(name, number) for name, wire in WIRES.items() for number in range(len(wire.refusals))]
)
def test_a_refusal_is_told_and_not_asked_again(server: FaultServer, official: Open, provider: str, refusal: int):
    """stop_reason `refusal` (platform.claude.com/docs/en/api/messages), message.refusal and finish_reason
    `content_filter` (openai/openai-python, types/chat), promptFeedback.blockReason and finishReason (ai.google.dev).
    """
    server.always(ok(WIRES[provider].refusals[refusal]))
    with pytest.raises(ModelOutputInvalid, match="did not want to answer"):
        ask(official(provider), ABOUT_BRIDGES, seconds=5)
    assert len(server.requests) == 1


@pytest.mark.parametrize("provider", WIRES)
@pytest.mark.parametrize("fault", TRANSPORT_FAULTS)
def test_a_server_that_fails_is_unavailable_and_asked_once(
    server: FaultServer, official: Open, provider: str, fault: str
):
    server.always(TRANSPORT_FAULTS[fault])
    model = official(provider)
    hangs = fault in {"hang", "slow drip", "slow headers"}
    with pytest.raises(ProviderUnavailable) as caught:
        ask(model, ABOUT_BRIDGES, seconds=0.1 if hangs else 30)
    assert not isinstance(caught.value, ModelOutputInvalid)
    assert len(server.requests) == 1


@pytest.mark.parametrize("provider", WIRES)
@pytest.mark.parametrize("value", [None, [], {}, "text", {"choices": []}, {"content": 7}, {"candidates": [7]}])
def test_an_answer_in_no_documented_form_is_unavailable(server: FaultServer, official: Open, provider: str, value: Any):
    server.always(ok(value))
    with pytest.raises(ModelUnavailable, match="did not answer in the form that it documents") as caught:
        ask(official(provider), ABOUT_BRIDGES, seconds=5)
    assert not isinstance(caught.value, ModelOutputInvalid)


NOT_KNOWN = [
    ("openai", "gpt-9", "temperature", "Unsupported value: 'temperature' does not support 0 with this model."),
    ("openai", "gpt-9", "seed", "Unrecognized request argument supplied: seed"),
    (
        "openai",
        "gpt-4",
        "response_format",
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported",
    ),
    ("anthropic", "claude-opus-4-6", "temperature", "`temperature` is deprecated for this model."),
    ("anthropic", "claude-3-haiku-20240307", "output_config", "output_config.format: not supported by this model"),
    ("anthropic", "claude-opus-5-5", "thinking", "thinking.type: disabled is not supported by this model"),
    ("gemini", "gemini-9", "seed", "seed is not supported by this model"),
    ("gemini", "gemini-3-x", "thinkingConfig", "Thinking level is not supported for this model."),
    ("ollama", "qwen3", "think", '"qwen3" does not support thinking'),
]


@pytest.mark.parametrize(("provider", "model", "field", "words"), NOT_KNOWN)
def test_a_field_that_a_model_does_not_know_is_left_out_from_then_on(
    server: FaultServer, official: Open, provider: str, model: str, field: str, words: str
):
    server.next(status(400, {"error": {"message": words}}))
    server.always(ok(WIRES[provider].says(GOOD)))
    opened = official(provider, model)
    for _ in range(2):
        assert ask(opened, ABOUT_BRIDGES, seconds=5) == WANTED
    flat = [{**request.json, **request.json.get("generationConfig", {})} for request in server.requests]
    assert [field in body for body in flat] == [True, False, False]


@pytest.mark.parametrize("provider", WIRES)
def test_any_other_refusal_of_the_request_is_told_in_the_providers_words(
    server: FaultServer, official: Open, provider: str
):
    server.always(status(400, {"error": {"message": "your prompt is too long"}}))
    with pytest.raises(ProviderRefused, match="your prompt is too long"):
        ask(official(provider), ABOUT_BRIDGES, seconds=5)
    assert len(server.requests) == 1


@pytest.mark.parametrize("provider", [name for name, wire in WIRES.items() if wire.key])
def test_a_key_goes_to_no_url_of_ones_own(
    server: FaultServer, open_model: Open, monkeypatch: pytest.MonkeyPatch, provider: str
):
    wire = WIRES[provider]
    monkeypatch.setenv(wire.key, "a-key")
    server.always(ok(wire.says(GOOD)))
    model = open_model(f"{provider}:{wire.model}", server.url)
    model.answer(ABOUT_BRIDGES, seconds=5)
    monkeypatch.setenv("PERDURE_LLM_KEY", "my-own")
    model.answer(ABOUT_BRIDGES, seconds=5)
    without, with_own = server.requests
    assert wire.header not in without.headers
    assert with_own.headers[wire.header] == f"{wire.prefix}my-own"
    assert all(b"a-key" not in request.body and "a-key" not in str(request.headers) for request in server.requests)


@pytest.mark.parametrize("provider", [name for name, wire in WIRES.items() if wire.key])
def test_without_its_key_a_provider_is_not_asked(
    server: FaultServer, official: Open, monkeypatch: pytest.MonkeyPatch, provider: str
):
    model = official(provider)
    monkeypatch.delenv(WIRES[provider].key)
    with pytest.raises(ProviderRefused) as caught:
        ask(model, ABOUT_BRIDGES, seconds=5)
    assert WIRES[provider].key in caught.value.remedy
    assert server.requests == []


def test_every_limit_of_a_schema_reaches_the_model_in_one_form_or_the_other(server: FaultServer, official: Open):
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "kind": {"const": "keyword"},
            "share": {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "null"}]},
        },
        "required": ["kind", "share"],
        "additionalProperties": False,
    }
    question = Question(purpose="two words", instructions="Say.", text="It.", schema=schema)
    for provider, kind, share in (
        ("anthropic", {"const": "keyword"}, {"type": "number", "description": described(minimum=0, maximum=1)}),
        ("openai", {"const": "keyword"}, {"type": "number", "minimum": 0, "maximum": 1}),
        ("gemini", {"enum": ["keyword"]}, {"type": "number", "minimum": 0, "maximum": 1}),
    ):
        server.requests.clear()
        server.always(ok(WIRES[provider].says('{"kind": "keyword", "share": null}')))
        assert ask(official(provider), question, seconds=5) == {"kind": "keyword", "share": None}
        properties = json.dumps({"kind": kind, "share": {"anyOf": [share, {"type": "null"}]}})
        assert properties in json.dumps(body_of(server))

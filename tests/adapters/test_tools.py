"""The functions of `tools.bind(memory)` are tools of each framework as they are: it reads their names, words and
arguments, and calls them.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest

from perdure import AsyncMemory, Memory, tools

Function = Callable[..., Any]


class Tool(NamedTuple):
    """What a framework tells a model of a function, and how it calls it."""

    name: str
    words: str
    arguments: set[str]
    call: Callable[..., Awaitable[Any]]


def of_langchain(function: Function) -> Tool:
    from langchain_core.tools import tool

    made = tool(function)

    async def call(**given: Any) -> Any:
        return await made.ainvoke(given)

    return Tool(made.name, made.description, set(made.args), call)


def of_openai_agents(function: Function) -> Tool:
    from agents import function_tool
    from agents.tool_context import ToolContext

    made = function_tool(function)

    async def call(**given: Any) -> Any:
        said = json.dumps(given)
        context: Any = ToolContext(context=None, tool_name=made.name, tool_call_id="1", tool_arguments=said)
        return await made.on_invoke_tool(context, said)

    return Tool(made.name, made.description, set(made.params_json_schema["properties"]), call)


def of_pydantic_ai(function: Function) -> Tool:
    from pydantic_ai import Tool as PydanticTool

    made = PydanticTool[Any](function)
    schema = made.function_schema

    async def call(**given: Any) -> Any:
        context: Any = None
        return await schema.call(given, context)

    return Tool(made.name, made.description or "", set(schema.json_schema["properties"]), call)


def of_adk(function: Function) -> Tool:
    from google.adk.tools.function_tool import FunctionTool

    made = FunctionTool(function)
    declared: Any = made._get_declaration()  # pyright: ignore[reportPrivateUsage]
    schema = declared.parameters_json_schema
    arguments = set(schema["properties"] if schema else declared.parameters.properties)

    async def call(**given: Any) -> Any:
        context: Any = None
        return await made.run_async(args=given, tool_context=context)

    return Tool(made.name, made.description, arguments, call)


def of_strands(function: Function) -> Tool:
    from strands import tool

    made: Any = tool(function)

    async def call(**given: Any) -> Any:
        answer = made(**given)
        return await answer if inspect.isawaitable(answer) else answer

    spec = made.tool_spec
    return Tool(made.tool_name, spec["description"], set(spec["inputSchema"]["json"]["properties"]), call)


def of_anthropic(function: Function) -> Tool:
    from anthropic import beta_async_tool, beta_tool

    made: Any = (beta_async_tool if inspect.iscoroutinefunction(function) else beta_tool)(function)

    async def call(**given: Any) -> Any:
        answer = made.call(given)
        return await answer if inspect.isawaitable(answer) else answer

    return Tool(made.name, made.description, set(made.input_schema["properties"]), call)


FRAMEWORKS: dict[str, Callable[[Function], Tool]] = {
    "langchain_core.tools": of_langchain, "agents": of_openai_agents, "pydantic_ai": of_pydantic_ai,
    "google.adk": of_adk, "strands": of_strands, "anthropic.lib.tools": of_anthropic,
}  # fmt: skip


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_framework_describes_and_calls_the_bound_functions_as_they_are(
    file_memory: Memory, framework: str, is_async: bool
):
    pytest.importorskip(framework, reason="`make test-adapters` has it")
    functions: list[Function] = [*(tools.bind(AsyncMemory(file_memory)) if is_async else tools.bind(file_memory))]
    remember, recall, detail = map(FRAMEWORKS[framework], functions)
    assert [each.name for each in (remember, recall, detail)] == ["remember", "recall", "recall_detail"]
    assert "a preference, a decision" in remember.words
    assert [remember.arguments, recall.arguments, detail.arguments] == [
        {"text", "role", "category"}, {"query", "limit"}, {"numbers"},
    ]  # fmt: skip

    async def talk() -> tuple[str, str, str]:
        told = await remember.call(text="The ferry leaves at noon", category="guideline")
        return told, await recall.call(query="ferry", limit=2), await detail.call(numbers=[1])

    told, found, read = asyncio.run(talk())
    assert told == "Remembered as #1."
    assert "The ferry leaves at noon" in found
    assert "The ferry leaves at noon" in read
    assert file_memory.get(1).category == "guideline"

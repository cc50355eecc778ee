"""The table of all tools, the sets that a host may choose, and how one is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from perdure.mcp.connector_tools import CONNECTOR_TOOLS
from perdure.mcp.core_tools import CORE_TOOLS
from perdure.mcp.lazy_memory import LazyMemory
from perdure.mcp.reference_tools import REFERENCE_TOOLS
from perdure.mcp.tool import Tool, ToolAnswer, ToolCall
from perdure.session.origin import Origin

TOOLS: Final = (*CORE_TOOLS, *REFERENCE_TOOLS, *CONNECTOR_TOOLS)


def tools_of(name: str) -> dict[str, Tool]:
    """`all` is what a model may need: those of connectors do the same once more."""
    wanted = {"core", "reference"} if name == "all" else {name}
    return {tool.name: tool for tool in TOOLS if wanted & {*tool.sets}}


def call_tool(
    tools: Mapping[str, Tool], memory: LazyMemory, name: object, given: object, origin: Origin
) -> dict[str, Any]:
    """The result of `tools/call`. Whatever goes wrong is an answer for the model: a code, a sentence, what to do."""
    from perdure.errors import PerdureError, StoreReplaced, shown

    tool = tools.get(name) if isinstance(name, str) else None
    if tool is None:
        return tool_failure("unknown_choice", f"There is no tool {shown(name)}.", f"The tools are: {', '.join(tools)}.")
    try:
        run = partial(tool.run, **tool.arguments(given))
        origin = origin.now() if tool.writes else origin
        place = memory.place(origin.session)
        if tool.writes:
            place.require_recording()
        namespaces = place.read_namespaces if place.private else None
        opened = memory.open(place)
        try:
            mine = memory.written_in(origin.session, opened)
            answer: ToolAnswer = run(ToolCall(mine, origin, memory.tasks, memory.project, namespaces))
        except StoreReplaced:
            # Somebody restored a backup: nothing was written to the file that was taken away.
            memory.discard(opened)
            mine = memory.written_in(origin.session, memory.open())
            answer = run(ToolCall(mine, origin, memory.tasks, memory.project, namespaces))
    except PerdureError as error:
        return tool_failure(error.code, error.sentence, error.remedy_for("mcp"), retryable=error.retryable)
    except Exception as error:  # noqa: BLE001 - a server answers whatever happens
        if os.environ.get("PERDURE_TRACEBACK"):
            sys.excepthook(type(error), error, error.__traceback__)
        sentence = f"Something unexpected happened in Perdure: {type(error).__name__}."
        return tool_failure("unexpected", sentence, "A person can run `perdure doctor`, and report it.")
    return {"content": [{"type": "text", "text": answer.text}], "structuredContent": answer.data, "isError": False}


def tool_failure(code: str, sentence: str, remedy: str, *, retryable: bool = False) -> dict[str, Any]:
    """Without structured content: clients would hold it against the schema of an answer."""
    return {
        "content": [{"type": "text", "text": f"{sentence} {remedy} ({code})"}],
        "isError": True,
        "_meta": {"perdure/error": {"code": code, "error": sentence, "remedy": remedy, "retryable": retryable}},
    }

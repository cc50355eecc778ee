"""The Python client of the first generation; run by an interpreter that has it. What it saw is printed as JSON."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from importlib import import_module
from typing import Any


async def main(command: list[str]) -> dict[str, Any]:
    mcp: Any = import_module("mcp")
    if command[0].startswith("http"):
        headers = {"Authorization": f"Bearer {os.environ['PERDURE_TOKEN']}"}
        connection = import_module("mcp.client.streamable_http").streamablehttp_client(command[0], headers=headers)
    else:
        server = mcp.StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
        connection = import_module("mcp.client.stdio").stdio_client(server)
    async with connection as streams, mcp.ClientSession(*streams[:2]) as talk:
        await talk.initialize()
        tools = [tool.name for tool in (await talk.list_tools()).tools]
        stored = await talk.call_tool("remember", {"text": "Alice prefers dark mode", "tags": ["ui"]})
        recalled = await talk.call_tool("recall", {"query": "which mode does Alice prefer?"})
        failed = await talk.call_tool("recall", {})
        read = await talk.read_resource("perdure://memory/1")
        prompt = await talk.get_prompt("recall", {"topic": "dark mode"})
        return {
            "tools": tools,
            "stored": stored.structuredContent,
            "recalled": recalled.structuredContent,
            "text": recalled.content[0].text,
            "failed": [failed.isError, failed.content[0].text],
            "resource": read.contents[0].text,
            "prompt": prompt.messages[0].content.text,
        }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[2:]))))  # noqa: T201

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
    async with connection as streams, mcp.ClientSession(*streams[:2]) as client:
        await client.initialize()
        tools = [tool.name for tool in (await client.list_tools()).tools]
        stored = await client.call_tool("remember", {"text": "Alice prefers dark mode", "tags": ["ui"]})
        recalled = await client.call_tool("recall", {"query": "which mode does Alice prefer?"})
        failed = await client.call_tool("recall", {})
        read = await client.read_resource(f"perdure://memory/{stored.structuredContent['number']}")
        prompt = await client.get_prompt("recall", {"topic": "dark mode"})
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
    print(json.dumps({sys.argv[1]: asyncio.run(main(sys.argv[2:]))}))  # noqa: T201

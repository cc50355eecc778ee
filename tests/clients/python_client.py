"""The Python client of the current generation; run by an interpreter that has it. It is told how to reach the server,
by an address or a command, and in which modes. What it saw in each is printed as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from importlib import import_module
from typing import Any


async def main(modes: list[str], command: list[str]) -> dict[str, Any]:
    return {mode: await talk(mode, command) for mode in modes}


async def talk(mode: str, command: list[str]) -> dict[str, Any]:
    mcp: Any = import_module("mcp")
    if command[0].startswith("http"):
        headers = {"Authorization": f"Bearer {os.environ['PERDURE_TOKEN']}"}
        http = import_module("httpx2").AsyncClient(headers=headers)
        server = import_module("mcp.client.streamable_http").streamable_http_client(command[0], http_client=http)
    else:
        server = mcp.StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    async with mcp.Client(server, mode=mode) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        stored = await client.call_tool("remember", {"text": "Alice prefers dark mode", "tags": ["ui"]})
        recalled = await client.call_tool("recall", {"query": "which mode does Alice prefer?"})
        failed = await client.call_tool("recall", {})
        read = await client.read_resource(f"perdure://memory/{stored.structured_content['number']}")
        prompt = await client.get_prompt("recall", {"topic": "dark mode"})
        return {
            "tools": tools,
            "stored": stored.structured_content,
            "recalled": recalled.structured_content,
            "text": recalled.content[0].text,
            "failed": [failed.is_error, failed.content[0].text],
            "resource": read.contents[0].text,
            "prompt": prompt.messages[0].content.text,
        }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1].split(","), sys.argv[2:]))))  # noqa: T201

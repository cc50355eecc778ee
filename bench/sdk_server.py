"""The smallest useful server on the official SDK, for `bench.serve` to compare with: one tool over texts in memory.
With a port it serves streamable HTTP, in the quickest way that the SDK has: no sessions, and answers without a stream.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

mcp: Any = import_module("mcp.server")
TEXTS = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
server = mcp.MCPServer("smallest", version="1")


@server.tool()
def recall(query: str, limit: int = 8) -> dict[str, list[str]]:
    """The texts that hold a word of the query."""
    words = query.lower().split()
    return {"memories": [text for text in TEXTS if any(word in text.lower() for word in words)][:limit]}


if len(sys.argv) > 2:  # noqa: PLR2004 - the port
    server.run("streamable-http", port=int(sys.argv[2]), json_response=True, stateless_http=True)
else:
    server.run("stdio")

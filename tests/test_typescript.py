"""The TypeScript client is what the OpenAPI document says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import perdure
from perdure.http.app import TABLES, build_app

REPOSITORY = Path(__file__).parent.parent
TOOL = REPOSITORY / "tools" / "typescript.py"


def test_the_client_is_made_of_the_routes_and_their_fields():
    done = subprocess.run([sys.executable, str(TOOL), "--check"], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_client_has_the_version_of_the_package():
    manifest = REPOSITORY / "packages" / "typescript" / "package.json"
    assert json.loads(manifest.read_text(encoding="utf-8"))["version"] == perdure.__version__


def test_another_field_or_route_of_the_document_is_another_client():
    sys.path.insert(0, str(TOOL.parent))
    try:
        import typescript  # pyright: ignore[reportMissingImports]
    finally:
        sys.path.remove(str(TOOL.parent))
    make = cast("Any", typescript).client
    document: dict[str, Any] = cast("Any", build_app)(None).openapi()
    as_it_is = make(document)
    changed = json.loads(json.dumps(document))
    changed["components"]["schemas"]["RememberRequest"]["properties"]["mood"] = {"type": "string"}
    assert "  mood?: string;" in make(changed).splitlines()
    assert "mood" not in as_it_is
    del changed["paths"]["/v1/recall"]
    assert "  recall(given: RecallRequest" in as_it_is
    assert "  recall(given: RecallRequest" not in make(changed)


def test_every_route_has_a_method_or_a_reason_for_none():
    text = (REPOSITORY / "packages/typescript/src/client.ts").read_text(encoding="utf-8")
    tool = TOOL.read_text(encoding="utf-8")
    missing = [
        f"{row.method} {row.shown_path}"
        for table in TABLES
        for row in table.rows
        if f'method: "{row.method}", path: "{row.shown_path}"' not in text
    ]
    assert [each for each in missing if not each.partition(" ")[2].startswith("/api/")] == [
        "GET /v1/memories", "GET /v1/facts", "POST /mcp",
    ]  # fmt: skip
    assert all(f'("{each.replace(" ", chr(34) + ", " + chr(34))}")' in tool for each in missing if "/api/" not in each)

"""Projects with memory files, as agents write them."""

from __future__ import annotations

from pathlib import Path

OAUTH = """---
title: OAuth callback
trigger_phrases: [oauth callback, "jwt tokens"]
importance_tier: important
context_type: decision
---
# OAuth callback flow

What was left open stands here.

<!-- ANCHOR:decision -->
## Decision
The callback verifies the state parameter before it asks for a token.
<!-- /ANCHOR:decision -->

<!-- ANCHOR:errors -->
Expired codes are answered with 400.
<!-- /ANCHOR:errors -->
"""
OAUTH_PATH = "specs/049-auth/memory/28-11-25_14-30__oauth.md"


def write(project: Path, path: str = OAUTH_PATH, text: str = OAUTH) -> Path:
    file = project / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file

"""What is missing is named with the command of the tool that installed Perdure."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cli.user import User


@pytest.mark.parametrize("program", ["serve", "ui"])
@pytest.mark.parametrize(
    ("written", "command"),
    [
        (None, "pip install 'perdure[server]'"),
        ("uv-receipt.toml", "uv tool install 'perdure[local,server]'"),
        ("pipx_metadata.json", "pipx install --force 'perdure[local,server]'"),
    ],
)
def test_the_remedy_fits_the_tool_and_keeps_what_that_installed(
    user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, written: str | None, command: str
):
    if written:
        (tmp_path / written).write_text("", encoding="utf-8")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    for missing in ("fastapi", "psycopg", "uvicorn"):
        monkeypatch.setitem(sys.modules, missing, None)
    refused = user.fails(2, program)
    assert refused.err.splitlines()[1].strip() == command

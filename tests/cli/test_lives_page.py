"""The page about the lives of a memory is a story: its commands work as they stand, in their order."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest
    from cli.user import User

PAGE = (Path(__file__).parents[2] / "docs" / "lives.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_every_command_and_program_of_the_page_works_as_it_stands(
    user: User, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    assert len(lines) > 30
    for line in lines:
        program, *words = shlex.split(line, comments=True)
        assert program == "perdure"
        user.done(*words)
    for variable, value in user.environment.items():
        monkeypatch.setenv(variable, value)
    for block in blocks("python"):
        done = subprocess.run(
            [sys.executable, "-c", block], capture_output=True, text=True, encoding="utf-8", check=False
        )
        assert (done.returncode, done.stdout) == (0, "['Alice lives in Osaka']\n"), done.stderr
    assert user.done("version", "city:alice", "1", "--json").json["record"]["text"] == "Alice lives in Osaka"
    assert store.exists()

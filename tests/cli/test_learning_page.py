"""The page about learning is a story: its commands and programs work as they stand, in their order."""

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

PAGE = (Path(__file__).parents[2] / "docs" / "learning.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_every_command_and_program_of_the_page_works_as_it_stands(
    user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    [chat] = blocks("json")
    (tmp_path / "chat.jsonl").write_text(chat, "utf-8")
    for line in [line for block in blocks("sh") for line in block.splitlines()]:
        program, *words = shlex.split(line, comments=True)
        assert program == "perdure"
        user.done(*words)
    for variable, value in user.environment.items():
        monkeypatch.setenv(variable, value)
    printed = ""
    for block in blocks("python"):
        done = subprocess.run(
            [sys.executable, "-c", block], capture_output=True, text=True, encoding="utf-8", check=False
        )
        assert done.returncode == 0, done.stderr
        printed += done.stdout
    assert "[identity] Ada lives in Tokyo now (sources: 1 conversation)" in printed
    assert "Ada lives in Osaka" in printed
    known = {fact["record"]["text"] for fact in user.done("facts", "--json").json["facts"]}
    assert known >= {
        "Ada lives in Tokyo now", "Ada works as a nurse", "Ada is allergic to shellfish",
        "Assistant should always answer in English", "Mina is Ada's sister",
    }  # fmt: skip
    assert "Ada lives in Osaka" not in known

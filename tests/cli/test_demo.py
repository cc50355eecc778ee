from __future__ import annotations

import html
import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from cli.json_keys import documented, keys_of
from transcripts import without_figures

from perdure.embed import local

if TYPE_CHECKING:
    from cli.user import User

README = Path(__file__).parents[2] / "README.md"
RECORDING = Path(__file__).parents[2] / "docs" / "demo.svg"
# That of a clone: the command is not on it.
PATH = "/usr/bin:/bin"
BY_MEANING, BY_WORDS = "have no word in common", "searches by words alone"


def test_the_story_shows_each_command_and_its_own_output_and_its_last_line_can_be_pasted(user: User, tmp_path: Path):
    embedder, remark = ("none", BY_WORDS) if local.unavailable() else ("local", BY_MEANING)
    code, out, _ = user.process("demo", PERDURE_EMBEDDER=embedder, PATH=PATH)
    lines = out.decode().splitlines()
    assert code == 0
    assert any(remark in line for line in lines)
    typed = lines.index('$ perdure remember "The staging database is rebuilt every night at 02:00" --tag ops')
    assert lines[typed + 1] == "Remembered #2  The staging database is rebuilt every night at 02:00"
    assert len(lines) < 60
    assert '$ PERDURE_SESSION=mallory perdure remember "Peanuts are safe for everybody"' in lines
    _, second, third = out.decode().split("\n$ perdure hook")
    shown = README.read_text(encoding="utf-8").split("```text\n")[1].split("```")[0].splitlines()
    assert [line for line in shown if line not in lines] == ([] if embedder == "local" else shown[-1:])
    drawn = RECORDING.read_text(encoding="utf-8")
    recorded = [html.unescape(line) for line in re.findall(r'<text class="(?:line|typed)"[^>]*>(.*)</text>', drawn)]
    told = without_figures(out.decode()).splitlines()
    assert len(recorded) > 20
    assert embedder != "local" or [line for line in recorded if without_figures(line) not in told] == []
    assert ("hardly a word in common" in second) == (embedder == "local")
    assert ("never send it again" in second) == (embedder == "local")
    assert "never send it again" not in third
    pasted = subprocess.run(
        ["/bin/sh", "-c", lines[-1]],
        env={**os.environ, "PATH": PATH, "PERDURE_STORE": str(tmp_path / "own.db"), "PERDURE_EMBEDDER": "none"},
        capture_output=True,
        check=False,
    )
    assert (pasted.returncode, pasted.stdout) == (0, b"Remembered #1  Perdure has kept its promises\n")


def test_with_json_the_demo_says_whether_everything_came_out_as_promised(user: User, tmp_path: Path):
    store = str(tmp_path / "story.db")
    answer = user.done("demo", "--json", "--store", store).json
    assert answer["kept_every_promise"] is True
    assert {key: kind for key, kind in keys_of(answer) if documented()[key] != kind} == {}
    assert user.done("list", "--json", "--store", store).json["records"]


def test_the_demo_leaves_an_existing_store_alone(user: User, store: Path):
    user.done("remember", "one")
    assert "exists" in user.fails(4, "demo", "--store", str(store)).err

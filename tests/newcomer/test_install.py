"""A newcomer knows nothing but README.md and the first five minutes: each line of them works in an empty environment,
as it stands there.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from transcripts import blocks, steps, without_figures

REPOSITORY = Path(__file__).parents[2]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
FIRST_STEPS = (REPOSITORY / "docs" / "first-steps.md").read_text(encoding="utf-8")
BIN = Path(sys.executable).parent
# Set-up from a package index; a line that is slower than this has failed.
PATIENCE_SECONDS = 300


def run(command: Sequence[str | Path], folder: Path, given: str = "", **environment: str) -> str:
    """What a command prints, errors included; it has an empty environment of Python around it, not ours."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=around_ours(environment),
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def around_ours(environment: Mapping[str, str]) -> dict[str, str]:
    ours = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONWARNDEFAULTENCODING")
    around = {name: value for name, value in os.environ.items() if name not in ours}
    return {**around, "UV_SYSTEM_CERTS": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", **environment}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two wheels of `make build`."""
    folder = tmp_path_factory.mktemp("wheels")
    for package in (REPOSITORY, REPOSITORY / "packages" / "minilm"):
        run([BIN / "hatchling", "build", "--target", "wheel", "--directory", folder], package)
    assert len(list(folder.glob("*.whl"))) == 2
    return folder


def recalled_by_meaning(perdure: Sequence[str | Path], folder: Path) -> bool:
    """Whether a question is answered that shares no word with its answer."""
    run([*perdure, "remember", "Alice prefers dark mode"], folder)
    answer = json.loads(run([*perdure, "recall", "which theme does she like?", "--json"], folder))
    return [hit["record"]["text"] for hit in answer["hits"]] == ["Alice prefers dark mode"]


def test_recall_by_meaning_stays_in_a_project_of_uv_when_it_is_synchronised(wheels: Path, tmp_path: Path):
    project = tmp_path / "agent"
    uv = BIN / "uv"
    run([uv, "init", "--bare", "--python", sys.executable, project], tmp_path)
    run([uv, "add", "--quiet", "--find-links", wheels, "perdure[local]"], project)
    assert recalled_by_meaning([uv, "run", "--offline", "perdure"], project)
    run([uv, "sync", "--quiet", "--find-links", wheels], project)
    assert recalled_by_meaning([project / ".venv" / "bin" / "perdure"], project)


class Newcomer:
    """Somebody with an empty environment of Python and an empty home, who types what README.md says."""

    def __init__(self, home: Path, wheels: Path) -> None:
        self.home = home
        (home / "dist").symlink_to(wheels)
        run([sys.executable, "-m", "venv", home / "environment"], home)
        self.bin = home / "environment" / "bin"
        (self.bin / "uv").symlink_to(BIN / "uv")
        self.environment = {
            "HOME": str(home),
            "PATH": f"{self.bin}:/usr/bin:/bin",
            "PERDURE_LAYOUT": "terminal",
            "NO_COLOR": "1",
            # A package index that has the release.
            "PIP_FIND_LINKS": str(wheels),
            "UV_FIND_LINKS": str(wheels),
            "UV_PYTHON": sys.executable,
            # As Claude Code names its session to what it starts.
            "CLAUDE_CODE_SESSION_ID": "first",
        }

    def types(self, line: str, given: str = "", **more: str) -> str:
        return run(["/bin/sh", "-c", line], self.home, given, **self.environment | more)

    def follows(self, page: str, **more: str) -> None:
        """Every transcript of a page, line by line, and then its first block of Python."""
        for line, shown in (step for transcript in blocks(page, "console") for step in steps(transcript)):
            assert without_figures(self.types(line, **more)) == without_figures(shown), line
        assert "Alice prefers dark mode" in self.types(f"python - <<'END'\n{blocks(page, 'python')[0]}END\n", **more)

    def asks(self, server: Mapping[str, Any], *requests: tuple[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
        """What an MCP server answers, as it is started from a host's configuration; a host waits for each answer."""
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "host", "version": "1"}}
        command = ["/bin/sh", "-c", " ".join([server["command"], *server["args"]])]
        environment = around_ours(self.environment)
        with subprocess.Popen(
            command, cwd=self.home, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            answers: list[dict[str, Any]] = []
            for number, (method, parameters) in enumerate((("initialize", hello), *requests)):
                message = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
                print(json.dumps(message), file=process.stdin, flush=True)
                answers.append(json.loads(process.stdout.readline())["result"])
                if not number:
                    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
                    print(json.dumps(initialized), file=process.stdin, flush=True)
            process.stdin.close()
        assert process.returncode == 0
        assert answers.pop(0)["serverInfo"]["name"] == "perdure"
        return answers


@pytest.fixture
def newcomer(stranger: Path, wheels: Path) -> Newcomer:
    return Newcomer(stranger, wheels)


def test_a_newcomer_who_follows_the_readme_comes_through(newcomer: Newcomer):
    """From installing to taking a session back; one test, since each step stands on the one before."""
    pip, uv, before_a_release = blocks(README, "sh")[0].splitlines()
    build, and_then, install = before_a_release.partition(" && ")
    assert (build, and_then) == ("make build", " && ")  # what the wheels are made by
    newcomer.types(install)
    newcomer.types(pip)
    installed = {package["name"] for package in json.loads(newcomer.types("pip list --format json"))}
    assert "perdure-minilm" in installed
    assert installed.isdisjoint({"torch", "sentence-transformers"})
    newcomer.types("pip check")

    newcomer.follows(README)
    newcomer.follows(FIRST_STEPS, PERDURE_STORE=str(newcomer.home / "memory.db"), PERDURE_ACTOR="alice")

    (configuration,) = blocks(README, "json")
    server = json.loads(configuration)["mcpServers"]["perdure"]
    question = {"name": "recall", "arguments": {"query": "which theme does she like?"}}
    tools, answer = newcomer.asks(server, ("tools/list", {}), ("tools/call", question))
    assert {"remember", "recall"} <= {tool["name"] for tool in tools["tools"]}
    assert "Alice prefers dark mode" in answer["content"][0]["text"]

    newcomer.types(said("perdure install claude-code"))
    hooks = json.loads((newcomer.home / ".claude" / "settings.json").read_text(encoding="utf-8"))["hooks"]
    begin = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "first", "cwd": str(newcomer.home)}
    newcomer.types(hooks["SessionStart"][0]["hooks"][0]["command"], json.dumps(begin))
    hosts = json.loads((newcomer.home / ".claude.json").read_text(encoding="utf-8"))["mcpServers"]
    lesson = {"name": "remember", "arguments": {"text": "Peanuts are safe for everybody"}}
    newcomer.asks(hosts["perdure"], ("tools/call", lesson))
    assert "Peanuts" in newcomer.types("perdure list")
    newcomer.types(said("perdure session forget --last") + " --yes")
    left = newcomer.types("perdure list")
    assert "Peanuts" not in left
    assert "Alice prefers dark mode" in left

    newcomer.types("pip uninstall --quiet --yes perdure")
    newcomer.types(uv)
    assert "Alice prefers dark mode" in newcomer.types("~/.local/bin/perdure recall 'which theme does she like?'")


def said(line: str) -> str:
    """The line, which README.md must name."""
    assert re.search(rf"`{re.escape(line)}`", README)
    return line

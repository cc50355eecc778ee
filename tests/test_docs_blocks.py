"""Every block of code in the documentation runs, in the order of its page: commands, transcripts, programs, files.

Each page has a reader of its own: alice, in an empty home directory.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from transcripts import Fence, fences, steps, without_figures

from perdure import Memory, settings
from perdure.cli.app import perdure as program

REPOSITORY = Path(__file__).parent.parent
PAGES = {
    path.relative_to(REPOSITORY).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted([*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/*.md"), REPOSITORY / "llms.txt"])
}
EXTRAS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]

# Programs that a page may name and that are not run here, with the reason.
OTHERS = {
    "make": "test_docs.py looks the target up",
    "pip": "tests/newcomer installs what the README says",
    "pipx": "the same as pip",
    "uv": "tests/newcomer",
    "ollama": "another's program",
    "claude": "tests/hosts runs it",
    "curl": "tests/serve asks the same routes",
    ".venv/bin/perdure": "tests/cli/test_demo.py runs the demo",
}
# Commands that are parsed and not run, with the reason.
PARSED = {
    "perdure serve": "it does not end; tests/serve",
    "perdure doctor --online": "it asks a provider; tests/cli/test_models.py",
}
# Blocks, by page and the beginning of their text, that cannot run, with the reason.
NOT_RUN: dict[tuple[str, str], str] = {}
# What a reader of the page has by then.
BEFORE: dict[str, str] = {}


class Reader:
    """Types what a page shows, and compares what comes."""

    def __init__(self, home: Path, environment: pytest.MonkeyPatch) -> None:
        self.home, self.environment = home, environment
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.printed = ""
        environment.chdir(home)
        for name, value in {
            "USER": "alice", "PERDURE_LAYOUT": "terminal", "NO_COLOR": "1", "COLUMNS": "100",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }.items():  # fmt: skip
            environment.setenv(name, value)

    def reads(self, fence: Fence) -> None:
        kinds: dict[str, Callable[[Fence], None]] = {
            "console": self.replays, "json": self.parses_json, "markdown": self.saves, "python": self.executes,
            "sh": self.runs, "text": self.compares, "toml": self.parses_toml,
        }  # fmt: skip
        assert fence.language in kinds, f"no kind of block: {fence.language}"
        kinds[fence.language](fence)

    def runs(self, fence: Fence) -> None:
        """Each line succeeds."""
        self.printed = ""
        for line in fence.text.replace("\\\n", " ").splitlines():
            if exported := re.fullmatch(r"export (\w+)=(.*?)( +#.*)?", line):
                self.environment.setenv(exported[1], str(Path(exported[2]).expanduser()))
            elif line.strip() and not line.startswith("#"):
                code, output = self.types(line)
                assert code == 0, f"{line}\n{output}"
                self.printed += output

    def replays(self, fence: Fence) -> None:
        """Each line shows what the page shows below it."""
        for line, shown in steps(fence.text):
            _, output = self.types(line)
            assert without_figures(output) == without_figures(shown), line

    def types(self, line: str) -> tuple[int, str]:
        for command in commands(line):
            if extra := re.search(r"perdure\[([a-z,]+)\]", " ".join(command)):
                assert set(extra[1].split(",")) <= set(EXTRAS)
            if command[0] in OTHERS:
                return 0, ""
            if any(line.startswith(start) for start in PARSED):
                return 0, str(parse(command[1:]))
        if re.search(r"[|&<>$;]", re.sub(r"'[^']*'|#.*", "", line)):
            both = subprocess.STDOUT
            done = subprocess.run(["/bin/sh", "-c", line], stdout=subprocess.PIPE, stderr=both, check=False)
            return done.returncode, done.stdout.decode()
        name, *words = (word.replace("~/", f"{self.home}/", 1) for word in shlex.split(line, comments=True))
        if name != "perdure":
            done = subprocess.run([name, *words], capture_output=True, text=True, encoding="utf-8", check=False)
            return done.returncode, done.stdout + done.stderr
        result = CliRunner().invoke(program, words)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result.exit_code, result.output

    def executes(self, fence: Fence) -> None:
        """The programs of a page share their names. A comment below a line that prints is what it prints."""
        output = io.StringIO()
        with redirect_stdout(output):
            exec(compile("\n" * (fence.line - 1) + fence.text, "page", "exec"), self.names)  # noqa: S102
        self.printed = output.getvalue()
        for shown in re.findall(r"^ *print\(.*\n *# (.*)$", fence.text, re.MULTILINE):
            assert without_figures(shown) in without_figures(self.printed)

    def compares(self, fence: Fence) -> None:
        """Plain text is what the block above it has printed."""
        assert without_figures(self.printed) == without_figures(fence.text)

    def parses_json(self, fence: Fence) -> None:
        """One document, or one in each line."""
        try:
            json.loads(fence.text)
        except json.JSONDecodeError:
            for line in fence.text.splitlines():
                json.loads(line)
        self.saves(fence)

    def parses_toml(self, fence: Fence) -> None:
        """A settings file is accepted by who reads it."""
        if "project" not in tomllib.loads(fence.text):
            settings.check_file(fence.text.encode(), Path("perdure.toml"), os.environ)

    def saves(self, fence: Fence) -> None:
        """Under the name that the page gives it."""
        if fence.file:
            path = Path(fence.file).expanduser()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(fence.text, encoding="utf-8")

    def leaves(self) -> None:
        for value in self.names.values():
            if isinstance(value, Memory):
                value.close()


def commands(line: str) -> Iterator[list[str]]:
    """The words of each command of a shell line."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.commenters = "#"
    command: list[str] = []
    for word in [*lexer, ";"]:
        if word in {"|", "&&", "||", ";"}:
            if command:
                yield command
            command = []
        else:
            command.append(word)


def parse(words: list[str]) -> click.Context:
    context = click.Context(program, info_name="perdure")
    command: click.Command = program
    while isinstance(command, click.Group):
        _, found, words = command.resolve_command(context, words)
        assert found is not None
        command = found
    return command.make_context(command.name, list(words), parent=context)


@pytest.mark.parametrize("page", [page for page, text in PAGES.items() if fences(text)])
def test_every_block_of_the_page_runs(page: str, stranger: Path, monkeypatch: pytest.MonkeyPatch):
    reader = Reader(stranger, monkeypatch)
    reader.runs(Fence("sh", BEFORE.get(page, ""), 0, ""))
    try:
        for fence in fences(PAGES[page]):
            if not any(page == name and fence.text.startswith(start) for name, start in NOT_RUN):
                try:
                    reader.reads(fence)
                except Exception as error:
                    error.add_note(f"{page}:{fence.line}")
                    raise
    finally:
        reader.leaves()


def test_every_exception_is_still_needed():
    assert [start for page, start in NOT_RUN if f"\n{start}" not in PAGES[page]] == []
    assert [line for line in PARSED if not any(f"\n{line}" in text for text in PAGES.values())] == []

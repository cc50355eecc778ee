"""Every block of code in the documentation runs, in the order of its page: commands, transcripts, programs, files.

Each page has a reader of its own: alice, in an empty home directory.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from serve.running import RunningServer
from transcripts import Fence, fences, steps, without_figures

from perdure import Memory, settings
from perdure.cli.app import perdure as program

REPOSITORY = Path(__file__).parent.parent
PAGES = {
    path.relative_to(REPOSITORY).as_posix(): path.read_text(encoding="utf-8")
    for pattern in ("*.md", "llms.txt", "docs/*.md", "docs/reference/recipes.md")
    for path in sorted(REPOSITORY.glob(pattern))
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
    ".venv/bin/perdure": "tests/cli/test_demo.py runs the demo",
}
# Commands that are parsed and not run, with the reason.
PARSED = {
    "perdure doctor claude-code": "it starts a server, and asks Claude Code: tests/hosts",
    "perdure ui": "it serves until it is ended: tests/web/test_running.py",
    "perdure doctor --online": "it asks a provider; tests/cli/test_models.py",
}
# Blocks, by page and how they begin, that are not run, with the reason.
NOT_RUN = {
    ("README.md", "$ perdure hook --seconds 20"): "it is of the demo: tests/cli/test_demo.py",
    ("docs/coding-agent.md", "$ perdure doctor claude-code"): "it needs Claude Code: tests/hosts",
    ("docs/postgres.md", "pip install"): "it needs a server: tests/store/test_postgres_docs.py",
    ("docs/postgres.md", "docker compose"): "it needs Docker: tests/store/test_postgres_docs.py starts the same pieces",
    ("docs/postgres.md", "perdure copy"): "it needs a server: tests/store/test_copy.py",
    ("docs/postgres.md", "CREATE ROLE"): "it needs a server: tests/store/test_postgres_docs.py",
    ("docs/postgres.md", "ALTER DATABASE"): "it needs a cluster of Citus: tests/postgres_server.py makes one so",
    ("docs/postgres.md", "perdure migrate"): "it needs a cluster of Citus: tests/postgres_server.py makes one so",
    ("docs/deploy.md", "uv tool install"): "it needs systemd: tests/test_packaging.py",
    ("docs/deploy.md", "sed "): "it needs launchd: tests/test_packaging.py",
    ("docs/deploy.md", "make build"): "it needs podman: tests/test_packaging.py",
    ("docs/typescript.md", ""): "it needs Node and a server: tests/clients/test_typescript.py",
    ("docs/postgres.md", "services:"): "it needs a server: tests/store/test_postgres_docs.py",
    ("docs/models.md", "$ perdure doctor"): "it needs 10,000 memories and another model: tests/test_model_change.py",
    ("docs/models.md", "import tiktoken"): "it needs a package that is not ours: tests/test_token_counters.py",
}
A_MEMORY = 'perdure remember "Alice prefers dark mode"'
# What a reader of the page has by then: files, and what they have typed.
FILES = {
    "docs/import.md": {"memories.jsonl": '{"text": "Bob is allergic to peanuts"}'},
    "docs/knowledge-bank.md": {
        "shop/docs/features/018-upload/.meta.json": '{"id": "018", "slug": "upload", "status": "active"}',
        "shop/docs/knowledge-bank/patterns.md": """### Pattern: Thin Orchestrator
The command calls one function.
- Observed in: Feature #004
- Last observed: Feature #004
- Observation count: 2

# More
### Pattern: Golden Files
""",
    },
    "docs/sessions.md": {
        "parser/docs/features/012-parser/.meta.json": (
            '{"id": "012", "slug": "parser", "status": "active", "lastCompletedPhase": "design"}'
        ),
        "parser/docs/features/012-parser/spec.md": "Build a file parser with error handling",
    },
}
BEFORE = {
    "docs/knowledge-bank.md": """
        cd shop
        git init -q -b main . && git config user.name Ada && git config user.email ada@example.org
        git config commit.gpgsign false && git commit -q --allow-empty -m First && git checkout -q -b feature/018-upload
        mkdir src && touch src/upload.py src/parser.py && git add src && git commit -q -m Upload
        cd docs/features && mkdir 005-a 006-b 007-c 008-d 009-e 010-f 011-g 012-h 013-i 014-j
    """,
    "docs/models.md": A_MEMORY,
    "docs/sessions.md": """
        perdure remember "Read real file samples before writing a parser." --title "Read samples" --category heuristics
        perdure remember "Read real file samples before writing a parser." --category heuristics
        perdure remember "Read real file samples before writing a parser." --category heuristics
        perdure remember "Never swallow parse errors." --title "Swallowed errors" --category anti-patterns
        perdure remember "Answer in British English." --tier constitutional --category guideline
        cd parser
    """,
    "docs/storage.md": f"{A_MEMORY} --store agent.db",
    "docs/time.md": A_MEMORY,
    "docs/troubleshooting.md": A_MEMORY,
}


class Reader:
    """Types what a page shows, and compares what comes."""

    def __init__(self, home: Path, environment: pytest.MonkeyPatch) -> None:
        self.home, self.environment = home, environment
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.printed = ""
        self.written: list[str] = []
        self.servers = ExitStack()
        # What a page says, and what it is here.
        self.meant: dict[str, str] = {}
        environment.chdir(home)
        for name, value in {
            "USER": "alice", "PERDURE_LAYOUT": "terminal", "NO_COLOR": "1", "COLUMNS": "100",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }.items():  # fmt: skip
            environment.setenv(name, value)

    def reads(self, fence: Fence) -> None:
        kinds: dict[str, Callable[[Fence], None]] = {
            "console": self.replays, "csv": self.saves, "json": self.parses_json, "markdown": self.saves,
            "python": self.executes, "sh": self.runs, "text": self.compares, "toml": self.parses_toml,
        }  # fmt: skip
        assert fence.language in kinds, f"no kind of block: {fence.language}"
        text = fence.text
        for said, meant in self.meant.items():
            text = text.replace(said, meant)
        kinds[fence.language](replace(fence, text=text))

    def runs(self, fence: Fence) -> None:
        """Each line succeeds."""
        self.printed = ""
        for line in map(str.strip, fence.text.replace("\\\n", " ").splitlines()):
            if exported := re.fullmatch(r"export (\w+)=(.*?)( +#.*)?", line):
                self.environment.setenv(exported[1], re.sub("^~/", f"{self.home}/", exported[2]))
            elif moved := re.fullmatch(r"cd ([\w/-]+)", line):
                self.environment.chdir(moved[1])
            elif line == "perdure serve":
                self.serves()
            elif line and not line.startswith("#"):
                code, output = self.types(line)
                assert code == 0, f"{line}\n{output}"
                self.printed += output

    def serves(self) -> None:
        """On a port of its own. Its token is the reader's, and curl fails where it refuses."""
        store = self.home / ".local/share/perdure/memory.db"
        server = self.servers.enter_context(RunningServer(store, environment={"PERDURE_EMBEDDER": "local"}))
        address = server.started["url"]
        self.meant = {
            "http://127.0.0.1:8733": address,
            "https://memory.example.org": address,
            "perdure_…": server.owner,
        }
        self.environment.setenv("TOKEN", server.owner)
        self.has(".curlrc", "silent\nfail-with-body\n")

    def replays(self, fence: Fence) -> None:
        """Each line shows what the page shows below it."""
        for line, shown in steps(fence.text):
            _, output = self.types(line)
            output = self.printed = output.replace(str(self.home), "~")
            assert without_figures(output) == without_figures(shown), line

    def types(self, line: str) -> tuple[int, str]:
        for command in commands(line):
            if extra := re.search(r"perdure\[([a-z,]+)\]", " ".join(command)):
                assert set(extra[1].split(",")) <= set(EXTRAS)
            if command[0] in OTHERS or (command[0] == "curl" and shutil.which("curl") is None):
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
        """Under the name that the page gives it. Markdown without a name is what the page's commands write."""
        if fence.file:
            self.has(fence.file, fence.text)
        elif fence.language == "markdown":
            self.written.append(fence.text)

    def has(self, file: str, text: str) -> None:
        path = Path(file).expanduser()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def leaves(self) -> None:
        self.servers.close()
        texts = [path.read_text(encoding="utf-8") for path in self.home.rglob("*.md")] if self.written else []
        assert [text for text in self.written if not any(text in each for each in texts)] == []
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
    for file, text in FILES.get(page, {}).items():
        reader.has(file, text)
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


def test_every_block_says_what_it_is():
    assert [
        page for page, text in PAGES.items() if len(re.findall(r"^ *```", text, re.MULTILINE)) != 2 * len(fences(text))
    ] == []


def test_every_exception_is_still_needed():
    assert {*FILES, *BEFORE} <= set(PAGES)
    assert [start for page, start in NOT_RUN if f"\n{start}" not in PAGES[page]] == []
    assert [line for line in PARSED if not any(f"\n{line}" in text for text in PAGES.values())] == []

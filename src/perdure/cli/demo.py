"""`perdure demo`: it runs real commands as real processes, and shows what they say."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT
from typing import Any, Final

import click

from perdure.cli.command import Target, command
from perdure.cli.demo_agent import AGENT_STORY
from perdure.cli.demo_script import QUESTION, STORY, Check
from perdure.cli.exit_codes import FAILED, OK
from perdure.cli.render import View
from perdure.cli.terminal import dim, safe, width
from perdure.cli.text_layout import wrap
from perdure.errors import Conflict

_PERDURE: Final = (sys.executable, "-P", "-m", "perdure")
_PROGRAMS: Final = {"perdure": _PERDURE, "python": (sys.executable, "-P")}


@dataclass(slots=True)
class Demo:
    """Plays the story. `output` is where the commands write to, `folder` where they are run. `told` is what sessions of
    the coding agent were told, `numbers` what its model stored, by name.
    """

    environment: dict[str, str]
    output: int | None
    folder: Path = Path()
    question: str = QUESTION
    kept: bool = True
    told: list[str] = field(default_factory=list[str])
    numbers: dict[str, int] = field(default_factory=dict[str, int])

    def play(self) -> Iterator[str]:
        for title, session, narration, steps in (*STORY, *AGENT_STORY):
            self.environment["PERDURE_SESSION"] = session
            yield from ("", click.style(title, bold=True), *wrap(narration, width()))
            for step in steps:
                if isinstance(step, str):
                    yield from self.run(step.replace("{question}", self.question))
                elif isinstance(step, Check):
                    good = step.holds(self)
                    yield from self.remark(step.good if good else step.bad, good=good)
                else:
                    yield from step(self)

    def run(self, line: str) -> Iterator[str]:
        """Run a command for everyone to see; it has to succeed."""
        yield self.prompt(line)
        words, variables = shlex.split(line), dict[str, str]()
        while "=" in words[0]:
            name, _, variables[name] = words.pop(0).partition("=")
        command = (*_PROGRAMS[words[0]], *words[1:])
        sys.stdout.flush()
        self.kept &= self._start(command, variables, stdout=self.output, stderr=STDOUT).wait() == 0

    def prompt(self, line: str) -> str:
        return f"{dim('$')} {click.style(line, fg='cyan')}"

    def remark(self, sentence: str, *, good: bool = True) -> Iterator[str]:
        self.kept &= good
        return (click.style(line, fg="green" if good else "red") for line in wrap(sentence, width()))

    def ask(self, *words: str) -> Any:
        """Run a command behind the scenes, for what it answers with --json."""
        return json.loads(self.answer(*words, "--json"))

    def recalled(self, *words: str) -> str:
        """The texts that a question finds, one a line."""
        return "\n".join(hit["record"]["text"] for hit in self.ask("recall", *words)["hits"])

    def facts(self, *words: str) -> list[str]:
        return [fact["record"]["text"] for fact in self.ask("facts", *words)["facts"]]

    def file(self, name: str) -> Path:
        return self.folder / name

    def stored(self) -> set[str]:
        return {json.loads(line).get("text", "") for line in self.answer("export", "-").splitlines()}

    def files(self) -> Iterator[bytes]:
        """The content of every file of the store."""
        store = Path(self.environment["PERDURE_STORE"])
        return (path.read_bytes() for path in store.parent.iterdir() if path.name.startswith(store.name))

    def writer(self, *words: str) -> subprocess.Popen[bytes]:
        """A process that is fed, or killed."""
        return self._start((*_PERDURE, *words), {}, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)

    def answer(self, *words: str, **variables: str) -> str:
        """What a command writes."""
        process = self._start((*_PERDURE, *words), variables, stdout=PIPE, stderr=DEVNULL)
        return process.communicate()[0].decode("utf-8")

    def _start(
        self, command: tuple[str, ...], variables: Mapping[str, str], *, stdin: int = DEVNULL, **streams: Any
    ) -> subprocess.Popen[bytes]:
        environment = {**os.environ, **self.environment, **variables}
        return subprocess.Popen[bytes](command, env=environment, cwd=self.folder, stdin=stdin, **streams)


@command("demo", examples=("perdure demo", "perdure demo --store story.db    # and look around afterwards"))
def main(target: Target) -> View:
    """Watch a short story on a temporary store.

    Remember, recall, correct, forget, undo, and a crash; then a coding agent, in three sessions and two projects. Real
    commands with their real output, offline, in under a minute. With --store the store is kept. Exit code 1 when
    anything did not come out as promised.
    """
    if target.store and Path(target.store).exists():
        raise Conflict(f"{target.store} exists; the demo wants a store of its own.", remedy="Name a new file.")
    namespace = target.namespaces[0] if target.namespaces else "default"
    # Hints name the program as a shell finds it.
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    environment = {"PERDURE_NAMESPACE": namespace, "PERDURE_LAYOUT": "terminal", "PATH": path}
    demo = Demo(environment, output=DEVNULL if target.json else None)
    seconds: list[float] = []

    def play() -> Iterator[str]:
        with tempfile.TemporaryDirectory(prefix="perdure-demo-", ignore_cleanup_errors=True) as directory:
            store = Path(target.store).absolute() if target.store else Path(directory) / "memory.db"
            demo.environment["PERDURE_STORE"] = str(store)
            demo.folder = Path(directory)
            yield click.style("Perdure: memory that outlives the session.", bold=True)
            yield dim(f"in a store of its own: {safe(str(store))}{'' if target.store else ', removed at the end'}")
            began = time.monotonic()
            yield from demo.play()
            seconds.append(time.monotonic() - began)
        yield ""
        if not demo.kept:
            yield click.style("Not everything came out as promised: see the red lines.", fg="red", bold=True)
        installed = shlex.quote(os.path.relpath(Path(sysconfig.get_path("scripts"), "perdure")))
        perdure = "perdure" if shutil.which("perdure") else safe(installed)
        yield f"That took {seconds[0]:.0f} seconds, and no network. For your coding agent, and for yourself:"
        yield f"  {perdure} install claude-code"
        yield f'  {perdure} remember "Perdure has kept its promises"'

    def document() -> dict[str, Any]:
        for _ in play():
            pass
        return {"kept_every_promise": demo.kept, "seconds": round(seconds[0], 1)}

    return View(json=document, lines=play(), exit_code=lambda: OK if demo.kept else FAILED)

"""Where the demonstration plays: it runs real commands as real processes, and shows or collects what they say."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from subprocess import DEVNULL, PIPE, STDOUT
from typing import Any, Final

import click

from perdure.cli.layout import wrap
from perdure.cli.screen import dim, safe, say, width

_PERDURE: Final = (sys.executable, "-P", "-m", "perdure")


@dataclass(frozen=True, slots=True)
class Stage:
    """`quiet` collects for --json instead of showing."""

    environment: Mapping[str, str]
    quiet: bool
    script: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def chapter(self, title: str, *narration: str) -> None:
        if self.quiet:
            self.script.append({"chapter": title, "said": list(narration), "commands": []})
            return
        say()
        say(click.style(title, bold=True))
        for sentence in narration:
            for line in wrap(sentence, width()):
                say(line)

    def remark(self, sentence: str, *, good: bool = True) -> None:
        if self.quiet:
            self.script[-1]["said"].append(sentence)
            return
        for line in wrap(sentence, width()):
            say(click.style(line, fg="green" if good else "red"))

    def prompt(self, line: str) -> None:
        if self.quiet:
            self.script[-1]["commands"].append({"command": line})
        else:
            say(f"{dim('$')} {click.style(line, fg='cyan')}")

    def show(self, output: str) -> None:
        """What the command just named has said."""
        if self.quiet:
            self.script[-1]["commands"][-1] |= {"output": output}
        else:
            say(safe(output))

    def perdure(self, *words: str, session: str = "") -> None:
        """Run a command for everyone to see."""
        self._show(" ".join(["perdure", *map(_quoted, words)]), (*_PERDURE, *words), session)

    def python(self, code: str, session: str = "") -> None:
        self._show(f"python -c {shlex.quote(code)}", (sys.executable, "-P", "-c", code), session)

    def ask(self, *words: str) -> Any:
        """Run a command behind the scenes, for what it answers with --json."""
        return json.loads(self.output(*words, "--json"))

    def output(self, *words: str) -> str:
        process = self.start((*_PERDURE, *words), stdout=PIPE, stderr=DEVNULL)
        return process.communicate()[0].decode("utf-8")

    def start(
        self, command: Sequence[str], session: str = "", stdin: int = DEVNULL, **streams: Any
    ) -> subprocess.Popen[bytes]:
        named = {"PERDURE_SESSION": session} if session else {}
        environment = {**os.environ, **self.environment, **named}
        return subprocess.Popen[bytes](command, env=environment, stdin=stdin, **streams)

    def writer(self, *words: str) -> subprocess.Popen[bytes]:
        """A process that the story means to kill."""
        return self.start((*_PERDURE, *words), stdin=PIPE, stdout=PIPE, stderr=DEVNULL)

    def _show(self, line: str, command: Sequence[str], session: str) -> None:
        self.prompt(line)
        if self.quiet:
            process = self.start(command, session, stdout=PIPE, stderr=STDOUT)
            said = process.communicate()[0].decode("utf-8", "replace")
            self.script[-1]["commands"][-1] |= {"output": said, "exit": process.returncode}
        else:
            sys.stdout.flush()
            self.start(command, session, stderr=STDOUT).wait()


def _quoted(word: str) -> str:
    """As a person would type it: in double quotes where the shell leaves their content alone."""
    quoted = shlex.quote(word)
    return f'"{word}"' if quoted != word and not set(word) & set('"$`\\!') else quoted

"""A user at the command line, in process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from click.testing import CliRunner

from perdure.cli.app import perdure


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def rows(self) -> list[list[str]]:
        return [line.split("\t") for line in self.out.splitlines()]


@dataclass(frozen=True)
class User:
    """Call it with the words of a command. `screen` answers as on a terminal, `fails` expects an exit code."""

    environment: dict[str, str]

    def __call__(self, *words: str, stdin: str | bytes | None = None, **environment: str) -> Answer:
        done = CliRunner().invoke(perdure, words, input=stdin, env={**self.environment, **environment})
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return Answer(done.exit_code, done.stdout, done.stderr)

    def done(self, *words: str, stdin: str | bytes | None = None, **environment: str) -> Answer:
        answer = self(*words, stdin=stdin, **environment)
        assert answer.code == 0, answer
        return answer

    def screen(self, *words: str, **environment: str) -> str:
        answer = self.done(*words, PERDURE_LAYOUT="terminal", **environment)
        return answer.out

    def fails(self, code: int, *words: str, stdin: str | bytes | None = None, **environment: str) -> Answer:
        answer = self(*words, stdin=stdin, **environment)
        assert answer.code == code, answer
        assert answer.out == ""
        assert "Traceback" not in answer.err
        return answer

    def start(
        self,
        *words: str,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        """`perdure` as a process of its own."""
        return subprocess.Popen[bytes](
            [sys.executable, "-P", "-m", "perdure", *words],
            env={**os.environ, **self.environment, **(environment or {})},
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
        )

    def on_a_terminal(self, answer: bytes, *words: str) -> tuple[int, str, str]:
        """As a person with a keyboard: standard input is a terminal, and they type `answer`."""
        keyboard, screen = os.openpty()
        running = self.start(*words, stdin=screen)
        os.write(keyboard, answer)
        out, err = running.communicate(timeout=120)
        os.close(keyboard)
        os.close(screen)
        return running.returncode, out.decode(), err.decode()

    def process(self, *words: str, **environment: str) -> tuple[int, bytes, bytes]:
        running = self.start(*words, environment=environment)
        out, err = running.communicate(timeout=120)
        return running.returncode, out, err

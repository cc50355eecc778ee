"""Child processes for tests: to lose privileges in, to be killed, or to hold a store open."""

from __future__ import annotations

import os
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

NOBODY = 65534


class Child:
    """A forked copy of this process that runs `job` and hands back what it returns."""

    def __init__(self, job: Callable[[], object]) -> None:
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            _run(job, writing)
        os.close(writing)
        self._answers = reading

    def result(self) -> tuple[Any, int]:
        """What the job returned, None when it was killed, and the exit status."""
        with os.fdopen(self._answers, "rb") as answers:
            answer = answers.read()
        _, status = os.waitpid(self.pid, 0)
        return pickle.loads(answer) if answer else None, status  # noqa: S301


def _run(job: Callable[[], object], writing: int) -> None:
    try:
        answer = pickle.dumps(job())
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        os._exit(70)
    os.write(writing, answer)
    os._exit(0)


def in_child(job: Callable[[], object]) -> Any:
    answer, status = Child(job).result()
    assert status == 0
    return answer


def unprivileged(job: Callable[[], object]) -> Any:
    """As a user whom permissions stop. Root would pass through all of them."""

    def without_rights() -> object:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        return job()

    return in_child(without_rights)


def give_away(*paths: Path) -> None:
    """To the user that `unprivileged` runs as."""
    if os.geteuid() == 0:
        for path in paths:
            os.chown(path, NOBODY, NOBODY)

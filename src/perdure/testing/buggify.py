"""How a test arms the places of `perdure.buggify`: by label, to raise or to kill, at the n-th time it is passed."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from contextlib import contextmanager

from perdure.buggify import arm, disarm

VARIABLE = "PERDURE_BUGGIFY"


class Buggified(Exception):
    """Raised on purpose at an armed label."""


@contextmanager
def buggified(label: str, action: str = "raise", nth: int = 1) -> Generator[None]:
    """At the `nth` time `label` is passed, `raise` or `kill` (SIGKILL to this process)."""
    _arm(label, action, nth)
    try:
        yield
    finally:
        disarm()


def arm_from_environment() -> None:
    """For child processes: PERDURE_BUGGIFY="label:kill" or "label:kill:3"."""
    value = os.environ.get(VARIABLE)
    if value:
        label, action, *nth = value.split(":")
        _arm(label, action, int(nth[0]) if nth else 1)


def _arm(label: str, action: str, nth: int) -> None:
    left = [nth]

    def act(passed: str) -> None:
        if passed != label:
            return
        left[0] -= 1
        if left[0]:
            return
        if action == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise Buggified(label)

    arm(act)

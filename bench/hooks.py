"""`python -m bench.hooks`: what a hook costs at each event, as ratios to a bare interpreter.

Each is a process as a host starts it, with bytecode, on a store of a few thousand memories. Processor time counts as
well as wall time: on a machine with other work, the first says what the hook itself takes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.machine import description
from perdure import Memory
from perdure.hook.program import BUDGET

_MEMORIES: Final = 5_000
_RUNS: Final = 9
_WORDS: Final = "alpha beta gamma delta deploy key rotated friday parser cache index".split()


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds: the median of wall times and of processor times."""

    wall: float
    processor: float


def main() -> int:
    with TemporaryDirectory() as folder:
        home = Path(folder)
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("PERDURE_", "PYTHON"))}
        environ |= {"HOME": folder, "PYTHONPYCACHEPREFIX": str(home / "bytecode")}
        with Memory(home / ".local/share/perdure/memory.db") as memory:
            memory.import_({"text": text(number)} for number in range(_MEMORIES))
            memory.work()
        bare = measure(["-c", "pass"], [b""] * _RUNS, environ)
        print(
            f"{', '.join(description(home).values())}; {_MEMORIES:,} memories, medians of {_RUNS}, "
            "ratios to a bare interpreter"
        )
        print(f"{'bare interpreter':34}{bare.wall:8.3f} s{bare.processor:8.3f} s of processor time")
        for name, event, options in EVENTS:
            told = [json.dumps({**event, **session(folder, number)}).encode() for number in range(_RUNS + 1)]
            run = ["-m", "perdure", "hook", *options]
            measure(run, told[:1], environ)
            cost = measure(run, told[1:], environ)
            ratios = f"{cost.wall / bare.wall:6.1f}x{cost.processor / bare.processor:8.1f}x"
            print(f"{name:34}{cost.wall:8.3f} s{cost.processor:8.3f} s{ratios}")
        print(f"A hook ends after {BUDGET:g} s at the latest.")
    return 0


EVENTS: Final[tuple[tuple[str, dict[str, Any], tuple[str, ...]], ...]] = (
    ("an event that means nothing", {"hook_event_name": "PreToolUse"}, ()),
    ("a trivial prompt", {"hook_event_name": "UserPromptSubmit", "prompt": "yes please"}, ()),
    (
        "a prompt",
        {"hook_event_name": "UserPromptSubmit", "prompt": "When is the deploy key rotated?"},
        ("--seconds", "60"),
    ),
    ("the model is done", {"hook_event_name": "Stop", "last_assistant_message": "Every Friday."}, ()),
    ("a session starts", {"hook_event_name": "SessionStart", "source": "startup"}, ()),
)
_sessions: Final = count(1)


def session(folder: str, number: int) -> dict[str, str]:
    return {"session_id": f"session-{next(_sessions)}", "prompt_id": f"turn-{number}", "cwd": folder}


def text(number: int) -> str:
    return f"{_WORDS[number % 11]} {_WORDS[number // 11 % 11]} number {number} {_WORDS[number // 121 % 11]}"


def measure(
    command: list[str], inputs: list[bytes], environ: dict[str, str], interpreter: str = sys.executable
) -> Cost:
    walls: list[float] = []
    processors: list[float] = []
    for content in inputs:
        # Not `os.times`, which counts in hundredths of a second: that is all that a bare interpreter takes.
        before, begun = getrusage(RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(  # noqa: S603 - ourselves
            [interpreter, *command], input=content, env=environ, stdout=subprocess.DEVNULL, check=True
        )
        walls.append(time.perf_counter() - begun)
        after = getrusage(RUSAGE_CHILDREN)
        processors.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return Cost(median(walls), median(processors))


if __name__ == "__main__":
    sys.exit(main())

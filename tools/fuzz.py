"""Look for failures that `make test` cannot find, because it tries the same examples every time.

    python tools/fuzz.py --seconds 300

The modules with hypothesis tests run one after the other, in an order and with seeds drawn anew, until the time is up.
A failure prints its example, the `@reproduce_failure` line that repeats it, and the command that finds it again.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300.0, help="start no further module after this many seconds")
    end = time.monotonic() + parser.parse_args().seconds
    tests = sorted((REPOSITORY / "tests").rglob("test_*.py"))
    modules = [path for path in tests if "from hypothesis" in path.read_text(encoding="utf-8")]
    waiting: list[Path] = []
    failures: list[str] = []
    runs = 0
    while time.monotonic() < end:
        waiting = waiting or random.sample(modules, len(modules))
        failure = fuzz(waiting.pop(), seed=random.randrange(2**32))  # noqa: S311 - no secret
        failures += [failure] if failure else []
        runs += 1
    print(f"fuzz: {runs} runs of {len(modules)} modules, {len(failures)} failed")
    for failure in failures:
        print(f"  find it again with: {failure}")
    return 1 if failures else 0


def fuzz(module: Path, *, seed: int) -> str | None:
    """Run the hypothesis tests of one module; print a failure, and return the command that finds it again."""
    name = module.relative_to(REPOSITORY).as_posix()
    command = [sys.executable, "-m", "pytest", "-q", "-m", "hypothesis", f"--hypothesis-seed={seed}", name]
    done = subprocess.run(  # noqa: S603 - our own tests
        command,
        cwd=REPOSITORY,
        env=os.environ | {"PERDURE_FUZZ": "1", "PYTHONWARNDEFAULTENCODING": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode == 0:
        return None
    print(done.stdout + done.stderr)
    return f"PERDURE_FUZZ=1 .venv/bin/pytest {' '.join(command[3:])}"


if __name__ == "__main__":
    sys.exit(main())

"""What git says about a project, asked as a command and never waited for long. No git, no repository: no answer."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

SECONDS: Final = 0.5
# Whatever the environment of the host says about another repository is not meant for this one.
_KEPT_OUT: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE")


def git(folder: str | os.PathLike[str], *arguments: str, seconds: float = SECONDS) -> str | None:
    """What the command prints; None when it fails, is not there, or takes too long."""
    environ = {name: value for name, value in os.environ.items() if name not in _KEPT_OUT}
    environ |= {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}
    # A repository may name programs that git runs by itself: none of them is wanted here.
    safe = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false")
    try:
        done = subprocess.run(  # noqa: S603 - the arguments are ours
            ["git", *safe, *arguments],  # noqa: S607 - the user's own git
            cwd=folder, env=environ, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False,
        )  # fmt: skip
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


def is_tracked(path: Path) -> bool:
    """Whether the file belongs to the repository that it lies in."""
    return git(path.parent, "ls-files", "--error-unmatch", "--", path.name) is not None

"""Which project an agent or a person works in. Every start asks that, so that nothing else is imported for it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from perdure.files import read_regular

_MOST_BYTES: Final = 4096
_PROJECT: Final = ("PERDURE_PROJECT", "CLAUDE_PROJECT_DIR")


def project_directory(environ: Mapping[str, str]) -> Path | None:
    """The directory of the project that a host or a person works in: what the host says, else the repository around the
    working directory, else that itself.
    """
    named = (Path(environ[name]) for name in _PROJECT if environ.get(name))
    told = next((path for path in named if path.is_absolute() and path.is_dir()), None)
    if told is not None:
        return told
    try:
        here = Path.cwd()
    except OSError:
        return None
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def project_root(folder: str | os.PathLike[str]) -> Path:
    """The repository that a folder is in, else the folder itself. A linked worktree belongs to its main one."""
    here = Path(os.path.realpath(folder))
    for candidate in (here, *here.parents):
        git = candidate / ".git"
        if git.is_dir():
            return candidate
        if git.is_file():
            return main_worktree(git) or candidate
    return here


def main_worktree(git_file: Path) -> Path | None:
    """`.git` of a linked worktree is a file: `gitdir: /main/.git/worktrees/NAME`."""
    try:
        line = read_regular(git_file, _MOST_BYTES)[:_MOST_BYTES].decode("utf-8", "replace").strip()
    except OSError:
        return None
    inside = Path(os.path.realpath(git_file.parent / line.removeprefix("gitdir:").strip()))
    if inside.parent.name != "worktrees" or inside.parent.parent.name != ".git":
        return None
    return inside.parent.parent.parent

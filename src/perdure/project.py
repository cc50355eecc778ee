"""Which project an agent or a person works in. Every start asks that, so that nothing else is imported for it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

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
    """The repository that a folder is in, else the folder itself. A linked worktree belongs to its main one, if that
    knows it.
    """
    root, worktree = _repository_around(folder)
    return worktree.main if worktree is not None and worktree.is_known else root


def unconfirmed_root(folder: str | os.PathLike[str]) -> Path | None:
    """The repository that a folder only claims to be a worktree of. One that was moved is known again after `git
    worktree repair`; that of somebody else would have what is another project's.
    """
    _, worktree = _repository_around(folder)
    return worktree.main if worktree is not None and not worktree.is_known else None


class LinkedWorktree(NamedTuple):
    """The main worktree of a linked one, and whether it says the same of the two."""

    main: Path
    is_known: bool


def _repository_around(folder: str | os.PathLike[str]) -> tuple[Path, LinkedWorktree | None]:
    here = Path(os.path.realpath(folder))
    for candidate in (here, *here.parents):
        git = candidate / ".git"
        if git.is_dir():
            return candidate, None
        if git.is_file():
            return candidate, linked_worktree(git)
    return here, None


def linked_worktree(git_file: Path) -> LinkedWorktree | None:
    """`.git` of a linked worktree is a file, `gitdir: /main/.git/worktrees/NAME`; what is there names that file."""
    named = _path_in(git_file, "gitdir:")
    if named is None or named.parent.name != "worktrees" or named.parent.parent.name != ".git":
        return None
    return LinkedWorktree(named.parent.parent.parent, _path_in(named / "gitdir") == Path(os.path.realpath(git_file)))


def _path_in(file: Path, prefix: str = "") -> Path | None:
    try:
        line = read_regular(file, _MOST_BYTES)[:_MOST_BYTES].decode("utf-8", "replace").strip()
        return Path(os.path.realpath(file.parent / line.removeprefix(prefix).strip()))
    except (OSError, ValueError):
        return None

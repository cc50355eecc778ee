"""Which project an agent or a person works in. Every start asks that, so that nothing else is imported for it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from perdure.files import read_regular

_MOST_BYTES: Final = 4096
_PROJECT: Final = ("PERDURE_PROJECT", "CLAUDE_PROJECT_DIR")
_MOST_OF_A_CONFIG: Final = 1 << 16
_MOST_OF_A_NAME: Final = 200
_ORIGIN: Final = '[remote "origin"]'


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


class LinkedWorktree(NamedTuple):
    """The main worktree of a linked one, and whether it says the same of the two."""

    main: Path
    is_known: bool


class ProjectFolder:
    """A folder, and the project that it is in. What git says of it is read once: whoever has several questions asks one
    of these, which every function here takes in the place of its folder.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder: Final = Path(folder)

    def __fspath__(self) -> str:
        return str(self.folder)

    @cached_property
    def _repository(self) -> tuple[Path, LinkedWorktree | None]:
        here = Path(os.path.realpath(self.folder))
        for candidate in (here, *here.parents):
            git = candidate / ".git"
            if git.is_dir():
                return candidate, None
            if git.is_file():
                return candidate, linked_worktree(git)
        return here, None

    @property
    def tree(self) -> Path:
        """Where the working tree begins that the folder is in, be it a linked one; else the folder itself."""
        return self._repository[0]

    @property
    def root(self) -> Path:
        """The repository that the folder is in, else the folder itself. A linked worktree belongs to its main one, if
        that knows it.
        """
        tree, worktree = self._repository
        return worktree.main if worktree is not None and worktree.is_known else tree

    @property
    def claimed_root(self) -> Path | None:
        """The repository that the folder only claims to be a worktree of. One that was moved is known again after `git
        worktree repair`; that of somebody else would have what is another project's.
        """
        _, worktree = self._repository
        return worktree.main if worktree is not None and not worktree.is_known else None

    @cached_property
    def label(self) -> str:
        """What memories call the project that they come from: the name of its repository, be this a folder inside, a
        worktree or a clone with another name. It is a label and no proof: whoever packs a repository chooses it.
        """
        return (_name_of_origin(self.root / ".git" / "config") or self.root.name)[:_MOST_OF_A_NAME]


def project_at(folder: str | os.PathLike[str]) -> ProjectFolder:
    return folder if isinstance(folder, ProjectFolder) else ProjectFolder(folder)


def project_root(folder: str | os.PathLike[str]) -> Path:
    return project_at(folder).root


def working_tree(folder: str | os.PathLike[str]) -> Path:
    return project_at(folder).tree


def nearest_with(folder: str | os.PathLike[str], *path: str) -> Path:
    """The nearest folder that has this path, from this one up to where its working tree begins; else that beginning."""
    here, root = Path(os.path.realpath(folder)), working_tree(folder)
    for candidate in (here, *here.parents):
        if candidate == root or candidate.joinpath(*path).exists():
            return candidate
    return root


def project_label(folder: str | os.PathLike[str]) -> str:
    return project_at(folder).label


def _name_of_origin(config: Path) -> str:
    """`website`, where a repository was cloned from `git@example.org:team/website.git` or from `/srv/website/.git`. Its
    settings are read as text: git would do what they say.
    """
    try:
        lines = read_regular(config, _MOST_OF_A_CONFIG)[:_MOST_OF_A_CONFIG].decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    section = url = ""
    for line in map(str.strip, lines):
        section = line if line.startswith("[") else section
        name, _, value = line.partition("=")
        if section == _ORIGIN and name.strip() == "url":
            url = value.strip()
    path = url.replace("\\", "/").rstrip("/").removesuffix("/.").removesuffix("/.git").removesuffix(".git").rstrip("/")
    name = path.rpartition("/")[2].rpartition(":")[2]
    return name if name.isprintable() and name.strip(". ") else ""


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

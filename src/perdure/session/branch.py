"""What a feature is, and which files its branch changed: whatever of it git and the project's folders can tell."""

from __future__ import annotations

import re
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple

from perdure.git import files_in_work, git, index_entries, work_tree
from perdure.session.signals import active_features

# What a branch may have begun at, the likeliest first.
_BASES: Final = ("origin/HEAD", "main", "master", "origin/main", "origin/master", "develop")
_NAMES: Final = ("--name-only", "-z", "--diff-filter=d", "--no-renames")
_BETWEEN: Final = ("diff-tree", "-r", *_NAMES)
# A person waits for this, and no host. It is for all questions together: a repository may answer none of them.
SECONDS: Final = 10.0
_NUMBER = re.compile(r"(?:^|/)#?(\d{1,9})[-_]")
_NOT_CODE: Final = frozenset({"", ".json", ".lock", ".md", ".rst", ".svg", ".txt"})
# Folders in which the work is written about.
_ABOUT_WORK: Final = ("docs/features/", "docs/knowledge-bank/")
MOST_REFERENCES: Final = 8


class FeatureWork(NamedTuple):
    """The feature that a project works on, as a bank names it (`Feature #018`), and the files that its branch changed.
    `observed` is None where nothing tells which feature it is.
    """

    observed: str | None
    files: tuple[str, ...]


def feature_work(project: Path, feature: str | None = None, *, seconds: float = SECONDS) -> FeatureWork:
    """`feature` is its number, if somebody said so. After so many seconds git is asked nothing more."""
    end = monotonic() + seconds
    active = active_features(project)
    meta = active[0].meta if active else {}
    branch = meta.get("branch") if isinstance(meta.get("branch"), str) else None
    known = branch and _asked(project, end, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")
    number = feature or (str(meta["id"]) if meta.get("id") not in {None, ""} else None)
    if number is None:
        name = _asked(project, end, "symbolic-ref", "--short", "HEAD")
        number = match[1] if (match := _NUMBER.search(name)) else None
    digits = re.search(r"\d{1,9}", number or "")
    return FeatureWork(
        f"Feature #{int(digits[0]):03}" if digits else None,
        branch_files(project, f"refs/heads/{branch}" if known else "HEAD", seconds=end - monotonic()),
    )


def branch_files(project: Path, head: str = "HEAD", *, seconds: float = SECONDS) -> tuple[str, ...]:
    """The files that a branch changed since it left the main one, and those that are changed and not committed. On the
    main branch itself those of its last commits; of a history that is cut short, what there is of it.
    """
    end = monotonic() + seconds
    tip = _asked(project, end, "rev-parse", "--verify", "--quiet", head)
    changed: tuple[str, ...] = ()
    for base in _BASES:
        fork = _asked(project, end, "merge-base", base, head)
        if fork and fork != tip and (changed := _names(project, end, *_BETWEEN, fork, head)):
            break
    added = _names(project, end, "diff-index", "--cached", *_NAMES, "HEAD")
    if not tip:
        added = tuple(entry.name for entry in index_entries(project, seconds=end - monotonic()))
    open_files = sorted({*added, *files_in_work(project, seconds=end - monotonic())})
    if not changed and not open_files and tip:
        for base in (f"{head}~3", f"{head}~1"):
            changed = changed or _names(project, end, *_BETWEEN, base, head)
        changed = changed or _names(project, end, *_BETWEEN, "--root", "--no-commit-id", head)
    return tuple(dict.fromkeys((*changed, *open_files)))


def _asked(project: Path, end: float, *arguments: str) -> str:
    return (git(project, *arguments, seconds=end - monotonic()) or "").strip()


def _names(project: Path, end: float, *arguments: str) -> tuple[str, ...]:
    return tuple(name for name in (git(project, *arguments, seconds=end - monotonic()) or "").split("\0") if name)


def code_references(files: tuple[str, ...], text: str) -> list[str]:
    """Pure: the files that a learning is most likely about. Those that it names come first, then code before the rest;
    otherwise the order of the files stays.
    """
    lowered = text.lower()
    files = tuple(name for name in files if not name.startswith(_ABOUT_WORK)) or files

    def rank(name: str) -> tuple[bool, bool]:
        path = Path(name)
        named = path.name.lower() in lowered or (len(path.stem) > 3 and path.stem.lower() in lowered)  # noqa: PLR2004
        return not named, path.suffix.lower() in _NOT_CODE

    return sorted(files, key=rank)[:MOST_REFERENCES]


def checkout(folder: Path) -> Path:
    """The working tree that a folder is in, be it a linked one, else the folder itself."""
    return work_tree(folder) or folder.resolve()

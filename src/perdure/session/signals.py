"""The signals of a session's context, and the query that is composed of them: what is being worked on, and where."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, Final, cast

from perdure.files import read_regular
from perdure.git import SECONDS, git
from perdure.project import nearest_with
from perdure.text.patterns import pattern
from perdure.values import value_class

MOST_FILES: Final = 20
MOST_WORDS: Final = 100
_MOST_BYTES: Final = 1 << 16
# What `git diff --name-only` lists between two commits, without the settings that it reads.
_CHANGED: Final = ("diff-tree", "-r", "--find-renames", "--name-only", "-z")
_HEADING: Final = pattern(r"^##", re.MULTILINE)
_TITLE: Final = pattern(r"^#\s.*$", re.MULTILINE)


@value_class
class Signals:
    """`feature` is the slug of the active feature, `files` are those that the latest commits changed."""

    feature: str = ""
    description: str = ""
    phase: str = ""
    files: tuple[str, ...] = ()

    @property
    def query(self) -> str | None:
        """None where nothing is known: nothing is searched for then."""
        files = " ".join(self.files)
        if self.feature:
            return f"{self.feature}: {self.description}. Phase: {self.phase}. Files: {files}"
        return files or None


def collect_signals(project_dir: str | os.PathLike[str], *, seconds: float = SECONDS) -> Signals:
    """Whatever cannot be read is no signal."""
    folder = Path(project_dir)
    files = changed_files(folder, seconds=seconds)
    for feature in active_features(nearest_with(folder, "docs", "features")):
        name, phase = feature.meta.get("slug"), feature.meta.get("lastCompletedPhase")
        return Signals(
            name if isinstance(name, str) and name else feature.folder.name,
            feature_description(feature.folder),
            phase if isinstance(phase, str) else "",
            files,
        )
    return Signals(files=files)


@value_class
class Feature:
    """A folder of `docs/features`, and what its `.meta.json` says."""

    folder: Path
    meta: dict[str, Any]


def active_features(project: Path) -> list[Feature]:
    """The features whose status is `active`; where there are several, the newest number first."""
    found: list[Feature] = []
    with suppress(OSError):
        for path in (project / "docs" / "features").glob("*/.meta.json"):
            with suppress(OSError, ValueError):
                meta = json.loads(_head(path))
                if isinstance(meta, dict) and cast("dict[str, Any]", meta).get("status") == "active":
                    found.append(Feature(path.parent, cast("dict[str, Any]", meta)))
    return sorted(found, key=lambda feature: feature_number(feature.folder.name), reverse=True)


def feature_description(folder: Path) -> str:
    """What `spec.md` says before its first `##` heading, else `prd.md`; at most 100 words."""
    for name in ("spec.md", "prd.md"):
        with suppress(OSError):
            return first_paragraph(_head(folder / name))
    return ""


def first_paragraph(text: str) -> str:
    """The text before the first `##` heading, on one line; where that is nothing but the title, the title."""
    before = _HEADING.split(text, maxsplit=1)[0]
    words = _TITLE.sub("", before).split() or before.lstrip("# ").split()
    return " ".join(words[:MOST_WORDS])


def changed_files(project: Path, *, seconds: float = SECONDS) -> tuple[str, ...]:
    """The files of the last three commits; where history is shorter, of the last; of no commit, none. All of it takes
    no longer than `seconds`.
    """
    end = monotonic() + seconds
    for base in ("HEAD~3", "HEAD~1"):
        names = git(project, *_CHANGED, base, "HEAD", seconds=max(end - monotonic(), 0.01))
        if names is not None:
            return tuple(name for name in names.split("\0") if name)[:MOST_FILES]
    return ()


def _head(path: Path) -> str:
    return read_regular(path, _MOST_BYTES)[:_MOST_BYTES].decode("utf-8", "replace")


def feature_number(name: str) -> tuple[int, str]:
    digits = re.match(r"\d{1,9}", name)
    return (int(digits[0]) if digits else -1, name)

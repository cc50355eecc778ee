"""Reads files and commits out of a git directory without a work tree."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

MAX_BYTES = 4 << 20  # larger files were absent where the data was first made; a full clone must give the same data


class Snapshot:
    """One repository, `FOLDER/owner+name/repo` or `FOLDER/owner+name`, at the commit its directory stands on."""

    def __init__(self, folder: Path, repository: str, commit: str) -> None:
        base = folder / repository.replace("/", "+")
        places = [base / "repo" / ".git", base / "repo", base / ".git", base]
        self._place = next((place for place in places if (place / "HEAD").is_file()), None)
        if self._place is None:
            raise FileNotFoundError(f"There is no git directory of {repository} under {folder}. Clone it there first.")
        self._commit = commit
        head = self._git("rev-parse", "HEAD").decode().strip()
        if head != commit:
            raise ValueError(f"{repository} stands at {head}, but the table says {commit}. Check out that commit.")

    def _git(self, *arguments: str, given: bytes = b"") -> bytes:
        command = ["git", "-C", str(self._place), *arguments]
        return subprocess.run(command, input=given, capture_output=True, check=True).stdout  # noqa: S603

    def paths(self, under: str, pattern: str) -> list[str]:
        """The paths below a folder that match, in order, without the files that are too large or not there."""
        listing = self._git("ls-tree", "-rlz", self._commit, under).decode("utf-8", "replace")
        entries = (entry.split("\t", 1) for entry in listing.split("\0") if entry)
        sizes = {path: meta.split()[3] for meta, path in entries if re.search(pattern, path)}
        return sorted(path for path, size in sizes.items() if size.isdigit() and int(size) <= MAX_BYTES)

    def texts(self, paths: list[str]) -> Iterator[tuple[str, str]]:
        """Each path with its text."""
        asked = "".join(f"{self._commit}:{path}\n" for path in paths).encode()
        answer = self._git("cat-file", "--batch", given=asked)
        at = 0
        for path in paths:
            end = answer.index(b"\n", at)
            size = int(answer[at:end].rsplit(b" ", 1)[1])
            at = end + 1 + size + 1
            yield path, answer[end + 1 : at - 1].decode("utf-8", "replace")

    def blob(self, path: str) -> bytes:
        return self._git("cat-file", "blob", f"{self._commit}:{path}")

    def text(self, path: str) -> str:
        return next(self.texts([path]))[1]

    def commits(self, limit: int) -> list[tuple[str, str]]:
        """The subject and the body of the newest commits that are no merges."""
        log = self._git("log", "--no-merges", "-n", str(limit), "--format=%s%x01%b%x02", self._commit)
        parts = (entry.strip().split("\x01", 1) for entry in log.decode("utf-8", "replace").split("\x02"))
        return [(part[0], part[1]) for part in parts if len(part) > 1]

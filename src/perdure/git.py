"""What git says about a project, asked as a command and never waited for long. No git, no repository: no answer.

The repository may be a stranger's, and what its settings name is never run, asked or fetched: git finds no program and
no transport here, runs no hook, and does not look at the working tree, whose filters it would run.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha1, sha256
from pathlib import Path
from time import monotonic
from typing import IO, Final, NamedTuple

from perdure.files import read_regular
from perdure.project import ProjectFolder
from perdure.text.patterns import pattern

SECONDS: Final = 0.5
_MAX_OUTPUT_BYTES: Final = 64 << 20
_READ_BYTES: Final = 1 << 20
_MOST_COMPARED: Final = 16 << 20
# A folder that is not there: nothing can be found in it.
_NOWHERE: Final = f"{os.devnull}/nothing"
# The user's own settings of git say which folders of others are safe; nothing else of the environment counts.
_KEPT: Final = ("HOME", "XDG_CONFIG_HOME", "USERPROFILE", "SYSTEMROOT")
_ENVIRONMENT: Final = {
    # A repository may allow a protocol for itself, against the option that forbids all; not against this list of none.
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_EXEC_PATH": _NOWHERE,
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_OPTIONS: Final = (
    "--no-pager", "--literal-pathspecs", "-c", "core.fsmonitor=", "-c", f"core.hooksPath={os.devnull}",
    "-c", "core.quotePath=false", "-c", "protocol.allow=never", "-c", "safe.bareRepository=explicit",
)  # fmt: skip
# An entry of the index as `ls-files --stage --debug -z` writes it.
_ENTRY: Final = pattern(
    r"([0-7]{6}) ([0-9a-f]{40}|[0-9a-f]{64}) ([0-3])\t([^\0]+)\0  ctime: .*\n  mtime: (\d+):(\d+)\n"
    r"  dev: .*\n  uid: .*\n  size: (\d+)\tflags: .*\n"
)
_SHA256_DIGITS: Final = 64
_LINK: Final = "120000"
_SUBMODULE: Final = "160000"


def git(folder: str | os.PathLike[str], *arguments: str, seconds: float = SECONDS) -> str | None:
    """What the command prints; None when it fails, is not there, or takes too long. It runs where the working tree of
    the folder begins: a folder inside that looks like a repository without one is not taken for it.
    """
    root, program = work_tree(folder), find_git()
    # Git would tell the other repository that its worktree is here now.
    if seconds <= 0 or root is None or program is None or ProjectFolder(root).claimed_root is not None:
        return None
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environ = {**kept, **_ENVIRONMENT, "PATH": os.pathsep.join(search_path()) if is_script(program) else _NOWHERE}
    end = monotonic() + seconds
    try:
        process = subprocess.Popen(  # noqa: S603 - the arguments are ours
            [program, *_OPTIONS, *arguments], cwd=root, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, bufsize=0, start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError):
        return None
    printed: list[bytes] = []
    reader = threading.Thread(target=_read, args=(process.stdout, printed), daemon=True)
    reader.start()
    try:
        reader.join(max(end - monotonic(), 0.0))
        if not reader.is_alive():
            process.wait(max(end - monotonic(), 0.01))
    except subprocess.TimeoutExpired:
        pass
    finally:
        if process.returncode is None:
            # With everything that it started; until it is waited for, its group is nobody else's.
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode != 0 or sum(map(len, printed)) > _MAX_OUTPUT_BYTES:
        return None
    return b"".join(printed).decode("utf-8", "replace")


def _read(stream: IO[bytes], printed: list[bytes]) -> None:
    """In a thread of its own, so that no caller waits for a pipe longer than it wants."""
    size = 0
    with suppress(OSError, ValueError), stream:
        while size <= _MAX_OUTPUT_BYTES and (part := stream.read(_READ_BYTES)):
            printed.append(part)
            size += len(part)


def work_tree(folder: str | os.PathLike[str]) -> Path | None:
    """Where the working tree begins that a folder is in, be it a linked one."""
    here = Path(os.path.realpath(folder))
    return next((place for place in (here, *here.parents) if (place / ".git").exists()), None)


def search_path() -> list[str]:
    """The folders that programs are looked for in. One may be the current folder, which is the repository's: no."""
    return [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if Path(folder).is_absolute()]


def find_git() -> Path | None:
    """The user's own git."""
    programs = (Path(folder, "git") for folder in search_path())
    return next((each for each in programs if os.access(each, os.X_OK) and each.is_file()), None)


def is_script(program: Path) -> bool:
    """Whether git stands behind a script, which needs other programs to find it."""
    try:
        return read_regular(program, 1) == b"#!"
    except OSError:
        return False


def is_tracked(path: Path) -> bool:
    """Whether the file belongs to the repository that it lies in."""
    root, real = work_tree(path.parent), Path(os.path.realpath(path.parent), path.name)
    return root is not None and git(root, "ls-files", "--error-unmatch", "--", str(real.relative_to(root))) is not None


class IndexEntry(NamedTuple):
    """A file as git last saw it. Its times and its size are those of the file, its `hash` is that of what it said."""

    name: str
    mode: str
    hash: str
    is_merged: bool
    mtime: tuple[int, int]
    size: int

    def differs(self, path: Path) -> bool:
        """Whether the file says something else by now. One that is gone does not, and submodules are not entered. What
        git would convert is compared as it stands, if the file was written since.
        """
        if self.mode == _SUBMODULE or not (path.is_symlink() or path.is_file()):
            return False
        if not self.is_merged:
            return True
        status = path.lstat()
        seconds, nanoseconds = divmod(status.st_mtime_ns, 10**9)
        if (status.st_size, seconds) == (self.size, self.mtime[0]) and self.mtime[1] in {0, nanoseconds}:
            return False
        is_link = path.is_symlink()
        content = os.fsencode(path.readlink()) if is_link else read_regular(path, _MOST_COMPARED)
        if is_link != (self.mode == _LINK) or len(content) > _MOST_COMPARED:
            return True
        algorithm = sha256 if len(self.hash) == _SHA256_DIGITS else sha1
        return algorithm(b"blob %d\0%s" % (len(content), content)).hexdigest() != self.hash


def index_entries(folder: Path, *, seconds: float = SECONDS) -> Iterator[IndexEntry]:
    """What git tracks here."""
    for found in _ENTRY.finditer(git(folder, "ls-files", "--stage", "--debug", "-z", seconds=seconds) or ""):
        mode, digest, stage, name, at, nanoseconds, size = found.groups()
        yield IndexEntry(name, mode, digest, stage == "0", (int(at), int(nanoseconds)), int(size))


def files_in_work(folder: Path, *, seconds: float = SECONDS) -> tuple[str, ...]:
    """The tracked files that were changed since they were last committed or added. Git would run the filters of the
    repository to tell; here they are compared without it, for so many seconds.
    """
    end, root = monotonic() + seconds, work_tree(folder)
    if root is None:
        return ()
    changed: list[str] = []
    for entry in index_entries(root, seconds=seconds):
        if monotonic() > end:
            break
        with suppress(OSError, ValueError):
            if entry.differs(root / entry.name):
                changed.append(entry.name)
    return tuple(dict.fromkeys(changed))

"""What kind of file system a path is on, and whether shared memory and locks can be trusted there."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from perdure.text.patterns import pattern

UNKNOWN: Final = "unknown"

_NETWORK: Final = frozenset(
    {
        "9p", "afpfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "davfs2", "fuse", "gfs2", "glusterfs",
        "gpfs", "lustre", "ncpfs", "nfs", "nfs3", "nfs4", "ocfs2", "orangefs", "prl_fs", "smb", "smb2", "smb3",
        "smbfs", "vboxsf", "virtiofs", "webdav",
    }
)  # fmt: skip
_POINT: Final = 4
_MOUNT_LINE: Final = pattern(r".+? on (?P<point>/.*) \((?P<type>[^ ,()]+)[^()]*\)")
_MOUNT_SECONDS: Final = 2
_ESCAPE: Final = pattern(r"\\([0-7]{3})")


def file_system_of(mountinfo: str, path: str) -> str:
    """The type of the mount that holds `path` (absolute, no links), from the text of Linux's /proc/self/mountinfo."""
    mounts: list[tuple[str, str]] = []
    for line in mountinfo.splitlines():
        before, separator, after = line.partition(" - ")
        fields = before.split(" ")
        if separator and len(fields) > _POINT:
            point = _ESCAPE.sub(lambda code: chr(int(code[1], 8)), fields[_POINT])
            mounts.append((point, after.split(" ", 1)[0]))
    return _type_at(mounts, path)


def file_system_on_macos(listing: str, path: str) -> str:
    """The same, from what `mount` prints on macOS: `//ann@box/share on /Volumes/share (smbfs, nodev)`."""
    found = (_MOUNT_LINE.fullmatch(line) for line in listing.splitlines())
    return _type_at([(match["point"], match["type"]) for match in found if match], path)


def _type_at(mounts: Sequence[tuple[str, str]], path: str) -> str:
    best, found = -1, UNKNOWN
    for point, kind in mounts:
        # Not `>`: of two mounts on one point the later one is on top.
        holds = point in ("/", path) or path.startswith(f"{point}/")
        if holds and len(point) >= best:
            best, found = len(point), kind
    return found


def is_local(file_system: str) -> bool:
    """False where several machines may share the file, or where a fuse program answers for it."""
    return file_system not in _NETWORK and not file_system.startswith("fuse.")


def detect_file_system(path: str) -> str:
    if sys.platform == "darwin":
        import subprocess

        try:
            told = subprocess.run(["/sbin/mount"], capture_output=True, check=True, timeout=_MOUNT_SECONDS)
        except (OSError, subprocess.SubprocessError):
            return UNKNOWN
        return file_system_on_macos(told.stdout.decode(errors="surrogateescape"), path)
    try:
        mountinfo = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return UNKNOWN
    return file_system_of(mountinfo, path)

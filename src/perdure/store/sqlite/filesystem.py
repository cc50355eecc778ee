"""What kind of file system a path is on, and whether shared memory and locks can be trusted there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

UNKNOWN: Final = "unknown"

_NETWORK: Final = frozenset(
    {
        "9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "davfs2", "fuse", "gfs2", "glusterfs", "gpfs", "lustre",
        "ncpfs", "nfs", "nfs3", "nfs4", "ocfs2", "orangefs", "prl_fs", "smb", "smb2", "smb3", "smbfs", "vboxsf",
        "virtiofs",
    }
)  # fmt: skip
_POINT: Final = 4
_ESCAPE: Final = re.compile(r"\\([0-7]{3})")


def file_system_of(mountinfo: str, path: str) -> str:
    """The type of the mount that holds `path` (absolute, no links), from the text of /proc/self/mountinfo."""
    best, found = -1, UNKNOWN
    for line in mountinfo.splitlines():
        before, separator, after = line.partition(" - ")
        fields = before.split(" ")
        if not separator or len(fields) <= _POINT:
            continue
        point = _ESCAPE.sub(lambda code: chr(int(code[1], 8)), fields[_POINT])
        # Not `>`: of two mounts on one point the later one is on top.
        holds = point in ("/", path) or path.startswith(f"{point}/")
        if holds and len(point) >= best:
            best, found = len(point), after.split(" ", 1)[0]
    return found


def is_local(file_system: str) -> bool:
    """False where several machines may share the file, or where a fuse program answers for it."""
    return file_system not in _NETWORK and not file_system.startswith("fuse.")


def detect_file_system(path: str) -> str:
    try:
        mountinfo = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return UNKNOWN
    return file_system_of(mountinfo, path)

"""Run inside a mount namespace of its own: a backup is restored while a small disk has less and less room for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from perdure import Memory
from perdure.errors import BackupFailed, StoreFull


def main(directory: Path) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(directory)]
    if subprocess.run(mount, check=False).returncode:
        sys.exit(77)
    elsewhere = Path(tempfile.mkdtemp())
    with Memory(elsewhere / "memory.db", embedder="none") as memory:
        memory.import_([{"text": f"old {n} " + "word " * 200} for n in range(200)])
        memory.backup(elsewhere / "copy")
        memory.import_([{"text": f"new {n} " + "word " * 200} for n in range(150)])
    outcomes = [restore(directory, elsewhere, free) for free in range(300_000, 3_600_000, 300_000)]
    shutil.rmtree(elsewhere)
    assert {*outcomes} == {"no room for the copy", "no room for its content", "restored"}, outcomes


def restore(directory: Path, elsewhere: Path, free: int) -> str:
    for left in directory.iterdir():
        left.unlink()
    for side in ("", "-head"):
        shutil.copy(elsewhere / f"memory.db{side}", directory / f"memory.db{side}")
    with Memory(directory / "memory.db", embedder="none") as memory:
        disk = os.statvfs(directory)
        (directory / "ballast").write_bytes(bytes(max(0, disk.f_bavail * disk.f_frsize - free)))
        try:
            memory.restore_backup(elsewhere / "copy", keep=False)
            outcome = "restored"
        except BackupFailed:
            outcome = "no room for the copy"
        except StoreFull:
            outcome = "no room for its content"
        (directory / "ballast").unlink()
        active = memory.stats().namespaces[0].states["active"]
        assert active == (200 if outcome == "restored" else 350), (outcome, active)
        assert [finding for finding in memory.doctor() if finding.level == "problem"] == []
        memory.remember("after space returned")
    assert {left.name for left in directory.iterdir()} == {"memory.db", "memory.db-head", "memory.db-reserve"}
    return outcome


if __name__ == "__main__":
    main(Path(sys.argv[1]))

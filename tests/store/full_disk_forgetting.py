"""Run inside a mount namespace of its own: a disk of 4 MiB is filled, and then somebody wants to forget something."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from perdure import Memory
from perdure.errors import StoreFull


def fill(memory: Memory, directory: Path) -> int:
    """With memories, and then with whatever else takes the last byte."""
    kept = 0
    for refused in range(5):
        try:
            while True:
                memory.remember(f"memory {kept} {refused} " + "word " * 1000)
                kept += 1
        except StoreFull:
            continue
    with suppress(OSError), (directory / "ballast").open("wb", buffering=0) as ballast:
        while True:
            ballast.write(bytes(4096))
    return kept


def main(directory: Path) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(directory)]
    if subprocess.run(mount, check=False).returncode:
        sys.exit(77)
    reserve = directory / "memory.db-reserve"
    with Memory(directory / "memory.db", embedder="none") as memory:
        assert reserve.stat().st_size == 1 << 20
        kept = fill(memory, directory)
        assert kept > 20
        assert memory.forget(1).done
        assert not reserve.exists()
        assert memory.erase(2, confirm=True).done
        assert memory.stats().namespaces[0].states == {"active": kept - 2, "deleted": 1}
        subprocess.run(["mount", "-o", "remount,size=64m", str(directory)], check=True)  # noqa: S607
        memory.remember("after space returned")
        assert reserve.stat().st_size == 1 << 20
    with Memory(directory / "memory.db", embedder="none") as memory:
        assert [finding for finding in memory.doctor() if finding.level == "problem"] == []
    content = b"".join(each.read_bytes() for each in directory.iterdir() if each.name != "ballast")
    assert b"memory 1 0" not in content
    assert b"memory 2 0" in content


if __name__ == "__main__":
    main(Path(sys.argv[1]))

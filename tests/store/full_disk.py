"""Run inside a mount namespace of its own: fills a disk of 4 MiB with memories, then gets more space."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from perdure.errors import StoreFull
from perdure.model import Filter
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.records import amend, read_once, remember


def fill(store: SqliteStore) -> tuple[int, int]:
    kept = refused = 0
    while refused < 20:
        try:
            remember(store, f"memory {kept} " + "word " * 2000)
        except StoreFull:
            refused += 1
        else:
            kept += 1
    return kept, refused


def main(directory: Path) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(directory)]
    if subprocess.run(mount, check=False).returncode:
        sys.exit(77)
    with closing(SqliteStore.open(directory / "memory.db")) as store:
        kept, refused = fill(store)
        assert kept > 20
        assert refused == 20
        assert len(read_once(store).fetch(range(1, 1000))) == kept
        assert read_once(store).keyword_search(["memory"], Filter(), datetime.now(UTC), 5).best
        subprocess.run(["mount", "-o", "remount,size=32m", str(directory)], check=True)  # noqa: S607
        record = remember(store, "after space returned")
        assert record.number == kept + 1
        assert amend(store, record, "forget", state="deleted").state == "deleted"
        assert [finding for finding in store.check() if finding.level == "problem"] == []
    with closing(SqliteStore.open(directory / "memory.db")) as store:
        assert len(read_once(store).fetch(range(1, 1000))) == kept + 1


if __name__ == "__main__":
    main(Path(sys.argv[1]))

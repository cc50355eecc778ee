"""Acknowledged means on disk: the power goes at a random moment, and every acknowledged memory is there."""

from __future__ import annotations

import os
import random
from contextlib import closing
from pathlib import Path

from store.disks import RecordingDisk, lose_power

from perdure.store.sqlite.store import SqliteStore
from perdure.testing.records import GENERATION, NAMESPACE, amend, embed, remember
from perdure.model import Record

TRIALS = int(os.environ.get("PERDURE_POWER_LOSSES", "100"))
ADDS = 40


def record_a_life(path: Path, disk: RecordingDisk) -> list[tuple[int, Record]]:
    """Write, amend and embed; note after which operation each memory was acknowledged."""
    acknowledged: list[tuple[int, Record]] = []
    with closing(SqliteStore.open(path, vfs=disk.name)) as store:
        store._pool._open_writer().pragma("wal_autocheckpoint", 60)
        for n in range(ADDS):
            record = remember(store, f"memory {n} " * 20, tags=("t",))
            acknowledged.append((len(disk.operations), record))
            if n % 5 == 0:
                embed(store, [record])
            if n % 7 == 0:
                amended = amend(store, record, title=f"Title {n}")
                acknowledged.append((len(disk.operations), amended))
    return acknowledged


def test_no_acknowledged_memory_is_lost_when_the_power_goes(tmp_path: Path):
    disk = RecordingDisk("recording")
    try:
        acknowledged = record_a_life(tmp_path / "memory.db", disk)
    finally:
        disk.unregister()
    assert {operation.kind for operation in disk.operations} >= {"write", "sync"}
    first = acknowledged[0][0]
    for trial in range(TRIALS):
        source = random.Random(trial)
        moment = source.randrange(first, len(disk.operations) + 1)
        directory = tmp_path / str(trial)
        directory.mkdir()
        for name, content in lose_power(disk.operations[:moment], source).items():
            (directory / name).write_bytes(content)
        expected = {record.number: record for at, record in acknowledged if at <= moment}
        with closing(SqliteStore.open(directory / "memory.db")) as store:
            found = {record.number: record for record in store.fetch(NAMESPACE, range(1, ADDS + 2))}
            for number, record in expected.items():
                assert found[number] == record or found[number].seq > record.seq
            assert len(found) <= len(expected) + 1
            assert store.position(NAMESPACE, GENERATION).seq >= max(record.seq for record in expected.values())
            if trial % 10 == 0:
                assert [finding for finding in store.check() if finding.level == "problem"] == []

"""Acknowledged means on disk: the power goes at a random moment, and every acknowledged memory is there."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import os
import random
import shutil
import sys
from contextlib import closing
from pathlib import Path

import pytest
from store.disks import Operation, RecordingDisk, lose_power

from perdure.errors import StoreError
from perdure.model import Record
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.records import amend, embed, read_once, remember

LOSSES = int(os.environ.get("PERDURE_POWER_LOSSES", "100"))
ADDS = 40


def live(path: Path, disk: RecordingDisk, synchronous: str) -> list[tuple[int, Record]]:
    """Write, amend and embed; note after how many operations of the disk each memory was acknowledged."""
    acknowledged: list[tuple[int, Record]] = []
    with closing(SqliteStore.open(path, vfs=disk.name)) as store:
        with store._pool.maintaining() as connection:
            connection.pragma("wal_autocheckpoint", 60)
            connection.pragma("synchronous", synchronous)
        for n in range(ADDS):
            record = remember(store, f"memory {n} " * 20, tags=("t",))
            acknowledged.append((len(disk.operations), record))
            if n % 5 == 0:
                embed(store, [record])
            if n % 7 == 0:
                amended = amend(store, record, title=f"Title {n}")
                acknowledged.append((len(disk.operations), amended))
    return acknowledged


def lost(directory: Path, operations: list[Operation], expected: list[Record], seed: int) -> int:
    """How many of the expected memories a disk without power does not hold."""
    directory.mkdir()
    for name, content in lose_power(operations, random.Random(seed)).items():
        (directory / name).write_bytes(content)
    newest = {record.number: record for record in expected}
    with closing(SqliteStore.open(directory / "memory.db")) as store:
        found = {record.number: record for record in read_once(store).fetch(range(1, ADDS + 2))}
        assert len(found) <= len(newest) + 1
        if seed % 10 == 0:
            assert [finding for finding in store.check() if finding.level == "problem"] == []
        return sum(
            number not in found or (found[number] != record and found[number].seq <= record.seq)
            for number, record in newest.items()
        )


def simulate(tmp_path: Path, losses: int, synchronous: str) -> int:
    disk = RecordingDisk(f"recording-{synchronous}")
    try:
        acknowledged = live(tmp_path / "memory.db", disk, synchronous)
    finally:
        disk.unregister()
    first, total = int(os.environ.get("PERDURE_SEED", "0")), 0
    for seed in range(first, first + losses):
        moment = random.Random(seed).randrange(acknowledged[0][0], len(disk.operations) + 1)
        expected = [record for at, record in acknowledged if at <= moment]
        total += lost(tmp_path / str(seed), disk.operations[:moment], expected, seed)
        shutil.rmtree(tmp_path / str(seed))
    return total


@pytest.mark.soak
def test_no_acknowledged_memory_is_lost_when_the_power_goes(tmp_path: Path):
    assert simulate(tmp_path, LOSSES, "FULL") == 0
    sys.stdout.write(f"{LOSSES} power losses, 0 acknowledged memories lost\n")


def test_the_simulation_would_notice_a_store_that_does_not_wait_for_the_disk(tmp_path: Path):
    with pytest.raises((StoreError, AssertionError)):
        assert simulate(tmp_path, 20, "OFF") == 0

"""Which engines may write ahead, and where."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
import pytest
from store.behind import behind

from perdure.model import Finding
from perdure.store.sqlite.connection import choose_journal, engine_is_safe, version_number
from perdure.store.sqlite.doctor.environment import check_engine, check_file_system, check_wal
from perdure.store.sqlite.file import StoreFile
from perdure.store.sqlite.filesystem import (
    UNKNOWN,
    detect_file_system,
    file_system_of,
    file_system_on_macos,
    is_local,
)
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.records import read_once, remember

MOUNTS = r"""
21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
22 21 0:20 / /proc rw - proc proc rw
23 21 0:21 / /mnt/nfs rw - nfs4 server:/export rw,vers=4.2
24 21 0:22 / /mnt/share rw - cifs //server/share rw
25 21 0:23 / /mnt/share3 rw - smb3 //server/share rw
26 21 0:24 / /mnt/9p rw - 9p host rw
27 21 0:25 / /mnt/virtio rw - virtiofs host rw
28 21 0:26 / /mnt/ssh rw - fuse.sshfs user@host: rw
29 21 0:27 / /mnt/cloud rw - fuse.rclone cloud: rw
30 21 0:28 / /mnt/overlay rw shared:5 master:1 - overlay overlay rw,lowerdir=/a
31 21 0:29 / /dev/shm rw - tmpfs tmpfs rw
32 21 8:1 / /mnt/with\040space rw - xfs /dev/sda1 rw
33 21 8:2 / /mnt/usb rw - fuseblk /dev/sdb1 rw
34 32 0:30 / /mnt/with\040space rw - nfs other:/on/top rw
a line that is none
"""


@pytest.mark.parametrize(
    ("version", "safe"),
    [
        ("3.54.1", True),
        ("3.51.3", True),
        ("3.51.2", False),
        ("3.51.0", False),
        ("3.50.7", True),
        ("3.50.6", False),
        ("3.49.9", False),
        ("3.45.0", False),
        ("3.44.6", True),
        ("3.44.5", False),
        ("3.40.1", False),
    ],
)
def test_an_engine_with_the_reset_bug_is_told_from_a_repaired_one(version: str, safe: bool):
    assert engine_is_safe(version_number(version)) is safe
    assert check_engine(version, "3.51.3").level == ("ok" if safe else "warning")
    assert check_engine("3.54.1", version).level == ("ok" if safe else "warning")


def test_doctor_tells_of_an_unsafe_engine_until_a_safe_one_has_written(path: Path):
    def engine() -> Finding:
        return next(finding for finding in store.check() if finding.check == "engine")

    with closing(SqliteStore.open(path)) as store:
        assert engine().level == "ok"
    with behind(path) as raw:
        raw.execute("UPDATE meta SET value = '3.40.1' WHERE name = 'engine'")
    with closing(SqliteStore.open(path)) as store:
        assert "3.40.1" in engine().sentence
        remember(store, "tea")
        assert engine().level == "ok"


@pytest.mark.parametrize(
    ("path", "file_system", "local"),
    [
        ("/home/me/memory.db", "ext4", True),
        ("/mnt/nfs/memory.db", "nfs4", False),
        ("/mnt/share/memory.db", "cifs", False),
        ("/mnt/share3/memory.db", "smb3", False),
        ("/mnt/9p/deep/memory.db", "9p", False),
        ("/mnt/virtio/memory.db", "virtiofs", False),
        ("/mnt/ssh/memory.db", "fuse.sshfs", False),
        ("/mnt/cloud/memory.db", "fuse.rclone", False),
        ("/mnt/overlay/memory.db", "overlay", True),
        ("/dev/shm/memory.db", "tmpfs", True),  # noqa: S108
        ("/mnt/usb/memory.db", "fuseblk", True),
        ("/mnt/with space/memory.db", "nfs", False),
        ("/mnt/nfs-not/memory.db", "ext4", True),
    ],
)
def test_a_network_file_system_is_recognised_by_its_mount(path: str, file_system: str, local: bool):
    assert file_system_of(MOUNTS, path) == file_system
    assert is_local(file_system) is local
    assert choose_journal(StoreFile(path, (1, 1), file_system)) == ("wal" if local else "delete")


def test_an_unknown_file_system_counts_as_local():
    assert file_system_of("", "/memory.db") == UNKNOWN
    assert is_local(UNKNOWN)
    assert detect_file_system("/") != ""


MACOS_MOUNTS = """\
/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)
devfs on /dev (devfs, local, nobrowse)
/dev/disk3s5 on /System/Volumes/Data (apfs, local, journaled, nobrowse, protect)
//ann@box._smb._tcp.local/team (old) on /Volumes/team on call (smbfs, nodev, nosuid, mounted by ann)
box:/export on /Users/ann/nfs (nfs, nodev, nosuid)
"""


@pytest.mark.parametrize(
    ("path", "file_system"),
    [
        ("/Users/ann/memory.db", "apfs"),
        ("/Volumes/team on call/memory.db", "smbfs"),
        ("/Users/ann/nfs/memory.db", "nfs"),
        ("/Users/ann/nfs2/memory.db", "apfs"),
    ],
)
def test_a_network_mount_of_macos_is_recognised(path: str, file_system: str):
    assert file_system_on_macos(MACOS_MOUNTS, path) == file_system
    assert is_local(file_system) == (file_system == "apfs")


def test_an_old_engine_gets_a_rollback_journal(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.40.1")
    assert choose_journal(StoreFile("/memory.db", (1, 1), "ext4")) == "delete"


def test_a_store_on_a_network_file_system_works_with_a_rollback_journal(path: Path, monkeypatch: pytest.MonkeyPatch):
    def detect(_: str) -> str:
        return "nfs4"

    monkeypatch.setattr("perdure.store.sqlite.file.detect_file_system", detect)
    store = SqliteStore.open(path)
    record = remember(store, "tea")
    levels = {finding.check: finding for finding in store.check()}
    assert levels["file_system"].level == "warning"
    assert "delete" in levels["file_system"].sentence
    assert not path.with_name("memory.db-wal").exists()
    assert read_once(store).fetch([1]) == [record]
    store.close()


def test_writing_ahead_on_a_network_file_system_is_a_problem():
    assert check_file_system("nfs4", "wal").level == "problem"


def test_a_log_beyond_its_limit_is_a_warning():
    assert check_wal(64 * 1024 * 1024).level == "ok"
    assert check_wal(64 * 1024 * 1024 + 1).level == "warning"

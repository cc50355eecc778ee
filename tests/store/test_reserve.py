"""The space that is kept so that something can be forgotten when the disk is full."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from perdure.store.sqlite.store import SqliteStore
from perdure.testing.records import remember

SKIPPED = 77


@pytest.mark.skipif(shutil.which("unshare") is None or os.geteuid() != 0, reason="only root can mount a small disk")
def test_on_a_full_disk_memories_can_still_be_forgotten_and_erased(tmp_path: Path):
    script = Path(__file__).with_name("full_disk_forgetting.py")
    command = ["unshare", "-m", sys.executable, str(script), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, env=environment)
    if done.returncode == SKIPPED or "unshare" in done.stderr:
        pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()[:100]}")
    assert done.returncode == 0, done.stderr


def test_a_reserve_is_private_given_up_once_and_kept_again_with_the_next_change(path: Path):
    reserve = path.with_name(f"{path.name}-reserve")
    with closing(SqliteStore.open(path)) as store:
        assert (reserve.stat().st_size, reserve.stat().st_mode & 0o777) == (1 << 20, 0o600)
        assert store.release_reserve()
        assert not reserve.exists()
        assert not store.release_reserve()
        remember(store, "one")
        assert reserve.stat().st_size == 1 << 20


def test_a_store_in_memory_keeps_nothing():
    with closing(SqliteStore.open(None)) as store:
        assert not store.release_reserve()


def test_a_reserve_that_cannot_be_kept_is_no_reason_to_fail(path: Path):
    path.with_name(f"{path.name}-reserve").mkdir()
    with closing(SqliteStore.open(path)) as store:
        assert not store.release_reserve()
        assert remember(store, "one").number == 1

"""The space that is kept so that something can be forgotten when the disk is full."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from perdure.errors import StoreFull
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.records import NAMESPACE, remember

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


def fail_for_lack_of_space(store: SqliteStore, *, frees_space: bool) -> None:
    with pytest.raises(StoreFull), store.write(NAMESPACE, frees_space=frees_space):
        raise StoreFull


def test_a_reserve_is_private_released_for_what_frees_space_and_kept_again_with_the_next_change(path: Path):
    reserve = path.with_name(f"{path.name}-reserve")
    with closing(SqliteStore.open(path)) as store:
        assert (reserve.stat().st_size, reserve.stat().st_mode & 0o777) == (1 << 20, 0o600)
        fail_for_lack_of_space(store, frees_space=False)
        assert reserve.exists()
        for _ in range(2):
            fail_for_lack_of_space(store, frees_space=True)
            assert not reserve.exists()
        remember(store, "one")
        assert reserve.stat().st_size == 1 << 20


def test_a_store_in_memory_has_no_reserve_to_release():
    with closing(SqliteStore.open(None)) as store:
        fail_for_lack_of_space(store, frees_space=True)


def test_a_reserve_that_cannot_be_kept_is_no_reason_to_fail(path: Path):
    path.with_name(f"{path.name}-reserve").mkdir()
    with closing(SqliteStore.open(path)) as store:
        fail_for_lack_of_space(store, frees_space=True)
        assert remember(store, "one").number == 1

"""A disk that is really full: one clear error, reading goes on, and so does writing once there is space."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SKIPPED = 77


@pytest.mark.skipif(shutil.which("unshare") is None or os.geteuid() != 0, reason="only root can mount a small disk")
@pytest.mark.parametrize("script", ["full_disk", "full_disk_restoring"])
def test_a_full_disk_refuses_writes_serves_reads_and_takes_writes_again_when_there_is_space(
    tmp_path: Path, script: str
):
    command = ["unshare", "-m", sys.executable, str(Path(__file__).with_name(f"{script}.py")), str(tmp_path)]
    done = subprocess.run(
        command,
        capture_output=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    if done.returncode == SKIPPED or "unshare" in done.stderr:
        pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()[:100]}")
    assert done.returncode == 0, done.stderr

"""What is taken in without being asked for, when a project is first worked in: the databases of other memory tools, and
the project's memory files, as far as they are new or changed. What is gone from those is left to a scan: a branch may
be checked out that does not have them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from perdure.bank.memory_files import SPECS, find_memory_files, scan_memory_files
from perdure.bank.sections import ImportOptions, ImportReport
from perdure.bank.takeover import take_over_known
from perdure.errors import PerdureError

if TYPE_CHECKING:
    from perdure.memory import Memory


def on_first_access(
    memory: Memory, project: Path, name: str | None, environ: Mapping[str, str] | None = None, *, private: bool = False
) -> tuple[ImportReport, ...]:
    """It is cheap where there is nothing to do, and never raises what is wrong with a source. The user's own learnings
    do not belong into the memory of a `private` project.
    """
    home = Path((os.environ if environ is None else environ).get("HOME") or Path.home())
    reports: list[ImportReport] = []
    reports += take_over_known(memory, project, name, None if private else home)
    try:
        if (project / SPECS).is_dir() and next(find_memory_files(project), None) is not None:
            reports.append(scan_memory_files(memory, project, ImportOptions(name, remove=False)))
    except PerdureError:
        pass
    return tuple(reports)

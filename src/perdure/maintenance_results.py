"""What looking after the store answers. `perdure.model` has these names too."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perdure.model import Record


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy of the whole store that was read again and found in order. `sha256` is that of the file."""

    path: str
    bytes: int
    sha256: str
    memory_count: int
    revision_count: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class BackupRestored:
    """The store is what the backup was, but for what was `erased` since. `kept` is a copy of what was there before."""

    path: str
    memory_count: int
    erased: int
    kept: str | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MaintenanceResult:
    """What `work` did. `vectors_pending` are left, because of a limit or because no model is there.

    `purged` are evicted memories whose grace period was over. `held` are due to be purged, but wait, because the clock
    leapt.
    """

    embedded: int
    vectors_pending: int
    notes: tuple[str, ...] = ()
    expired: int = 0
    purged: int = 0
    held: int = 0


@dataclass(frozen=True, slots=True)
class Exported:
    """What `export` wrote. `damaged` are the numbers of the memories it could not read and left out."""

    written: int
    damaged: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Imported:
    """What `import_` did. `present` were there already, word for word, and are left as they are. `skipped_deleted`
    were forgotten or corrected after they were written down, and do not come back. `batch` is None when nothing was
    written. `evicted` had to go because the namespace was full.
    """

    inserted: int
    updated: int
    present: int
    batch: str | None
    notes: tuple[str, ...] = ()
    skipped_deleted: int = 0
    evicted: tuple[Record, ...] = ()

"""What looking after the store answers. `perdure.model` has these names too."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perdure.model import Record
    from perdure.providers.call import ProviderCall


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
class Migrated:
    """The tables of a store in a database were of schema `before`, 0 where there were none, and are of `after` now."""

    before: int
    after: int


@dataclass(frozen=True, slots=True)
class MaintenanceResult:
    """What `work` did. `vectors_pending` are left, because of a limit or because no model is there.

    `purged` are evicted memories whose grace period was over. `held` are due to expire or to be purged, but wait,
    because the clock leapt. `keywords_added` are memories that got keywords. `episodes_made` are new,
    `episodes_reviewed` were retrieved since their last review, `episodes_consolidated` are those of which facts were
    made; `facts_changed` counts the facts that are new, reinforced, updated or invalidated. `memories_compared`
    are those that were compared with what is near them, and `contradictions_found` the pairs that wait for a person.
    """

    embedded: int
    vectors_pending: int
    notes: tuple[str, ...] = ()
    expired: int = 0
    purged: int = 0
    held: int = 0
    keywords_added: int = 0
    episodes_made: int = 0
    episodes_reviewed: int = 0
    episodes_consolidated: int = 0
    facts_changed: int = 0
    memories_compared: int = 0
    contradictions_found: int = 0


@dataclass(frozen=True, slots=True)
class ParkedRetry:
    """What became of parked questions, by id, when they were asked again. `still_parked` were answered badly once more,
    or not asked, and the notes say why. `batch` is what an undo takes back; None: nothing was answered.
    """

    answered: tuple[int, ...]
    still_parked: tuple[int, ...]
    batch: str | None = None
    notes: tuple[str, ...] = ()


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


@dataclass(frozen=True, slots=True)
class EgressDay:
    """What left this machine on one day, to one model. `cost` is None where not every price was known."""

    day: str
    provider: str
    model: str
    host: str
    requests: int
    failed: int
    texts: int
    sent_bytes: int
    received_bytes: int
    input_tokens: int
    output_tokens: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class BudgetState:
    """What was sent today, by everybody and for whatever, and how much of it background work may use up; None is no
    limit. The next day begins at `resets_at`.
    """

    used_tokens: int
    daily_tokens: int | None
    used_cost: float
    daily_cost: float | None
    resets_at: datetime


@dataclass(frozen=True, slots=True)
class Egress:
    """Every request that left this machine: the newest `calls`, all of them by day, and the hosts that the setting
    `egress` allows. A model on this machine is not in the list.
    """

    calls: tuple[ProviderCall, ...]
    days: tuple[EgressDay, ...]
    allowed: tuple[str, ...]
    today: BudgetState

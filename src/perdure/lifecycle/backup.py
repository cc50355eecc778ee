"""Backups of the whole store, and the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from perdure.errors import NotAllowed
from perdure.model import Backup, BackupRestored
from perdure.store.capabilities import backups_of
from perdure.store.port import Progress

if TYPE_CHECKING:
    from perdure.services import Services

_PASSING: Final = 0.25


def backup(services: Services, path: str, *, overwrite: bool, progress: Progress | None) -> Backup:
    """A copy of the whole store, with the use that was counted until now."""
    services.store.flush_use(patience=_PASSING)
    return backups_of(services.store).backup(path, progress, overwrite=overwrite)


def restore_backup(
    services: Services, path: str, *, keep: bool, erased: str | None, progress: Progress | None
) -> BackupRestored:
    """Put a backup in the place of the store. The copy that is kept has the use that was counted until now."""
    if not services.context.is_person:
        raise NotAllowed("Only a person may put a backup in the place of the store.")
    services.store.flush_use(patience=_PASSING)
    return backups_of(services.store).restore_backup(path, keep=keep, erased=erased, progress=progress)

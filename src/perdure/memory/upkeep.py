"""The verbs that look after a store: outstanding work, transfer, health."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from typing import Any, TextIO, TypeGuard, cast

from perdure.errors import BackupFailed, ExportFailed, ImportFailed, NotAllowed, shown
from perdure.ids import MAX_NUMBER
from perdure.memory.core import Core, Progress
from perdure.model import Backup, BackupRestored, Exported, Finding, Imported, MaintenanceResult, State
from perdure.services import CLOSE_PATIENCE
from perdure.validation import check_bool, check_filters, check_int


class Upkeep(Core):
    def work(
        self, *, limit: int | None = None, expire: bool | None = None, progress: Progress | None = None
    ) -> MaintenanceResult:
        """Do what is outstanding, in every namespace: expire and purge what is due, give vectors to the memories that
        have none. What is due only because the clock leapt is held until `expire=True` says that the clock is right;
        `expire=False` leaves it alone altogether.
        """
        from perdure.lifecycle.maintenance import work

        services = self._services
        if limit is not None:
            check_int(limit, "limit", 0, MAX_NUMBER)
        if expire is not None:
            check_bool(expire, "expire")
        if expire and not services.context.is_person:
            raise NotAllowed("Only a person may say that a clock that leapt is right.")
        services.usage.flush(patience=CLOSE_PATIENCE)
        done = work(services, limit=limit, expire=expire, progress=progress)
        if services.embedder is None:
            finding = services.embedder_finding()
            done = replace(done, notes=(*done.notes, " ".join(filter(None, (finding.sentence, finding.remedy)))))
        return done

    def export(
        self,
        target: str | os.PathLike[str] | TextIO,
        *,
        states: Sequence[State] = ("active",),
        progress: Progress | None = None,
    ) -> Exported:
        """Write this namespace as JSON Lines. A path is replaced whole or not at all."""
        from perdure.lifecycle.import_export import export, replacing

        services = self._services
        with ExitStack() as stack:
            named = isinstance(target, str | os.PathLike)
            if not named and not hasattr(target, "write"):
                raise ExportFailed(f"{shown(target)} cannot be written to.", remedy="Give a path or an open text file.")
            stream = stack.enter_context(replacing(target)) if named else target
            wanted = check_filters({"states": states}).states
            return export(services.store, self._namespace, stream, wanted, services.context.clock(), progress)

    def import_(
        self,
        source: str | os.PathLike[str] | TextIO | Iterable[Mapping[str, Any]],
        *,
        trusted: bool = False,
        revive: bool = False,
        progress: Progress | None = None,
    ) -> Imported:
        """Read memories from JSON Lines or from mappings. All are checked first: one bad record, and none is stored.

        `trusted` keeps the source, trust, times and counts that an export of your own carries. What was forgotten or
        corrected here after a record was last said stays so, unless `revive` brings it back.
        """
        from perdure.lifecycle.import_export import Incoming, import_records, incoming_of, lines_of, rereadable

        services = self._services
        trusted, revive = check_bool(trusted, "trusted"), check_bool(revive, "revive")

        def checked_of(items: Iterable[Mapping[str, Any]]) -> Iterator[Incoming]:
            rules = services.settings
            return incoming_of(items, rules.categories, trusted=trusted, redact=rules.redact)

        with ExitStack() as stack:
            if isinstance(source, str | os.PathLike) or _is_stream(source):
                lines = stack.enter_context(rereadable(source))
                total = sum(1 for _ in checked_of(lines_of(lines)))
                lines.seek(0)
                checked = checked_of(lines_of(lines))
            else:
                checked = list(checked_of(_mappings(source)))
                total = len(checked)
            return import_records(services, self._namespace, checked, total, revive=revive, progress=progress)

    def backup(
        self, path: str | os.PathLike[str], progress: Progress | None = None, *, overwrite: bool = False
    ) -> Backup:
        """Copy the whole store, all namespaces, to a file while others go on working. The copy is read again and
        checked before it gets its name; its checksum stands in `<path>.sha256`.
        """
        services = self._services
        services.usage.flush(patience=CLOSE_PATIENCE)
        return services.store.backup(_path(path), progress, overwrite=check_bool(overwrite, "overwrite"))

    def restore_backup(
        self,
        path: str | os.PathLike[str],
        *,
        keep: bool = True,
        erased: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> BackupRestored:
        """Make the whole store, all namespaces, what a backup was, all or nothing; programs that have it open go on.
        What was erased here since the backup is erased again. Elsewhere nobody knows of it, unless `erased` names the
        list beside the store that it was erased from, `<store>-erased`. With `keep`, a backup of what was there is
        made first.
        """
        services = self._services
        if not services.context.is_person:
            raise NotAllowed("Only a person may put a backup in the place of the store.")
        keep = check_bool(keep, "keep")
        services.usage.flush(patience=CLOSE_PATIENCE)
        known = None if erased is None else _path(erased)
        return services.store.restore_backup(_path(path), keep=keep, erased=known, progress=progress)

    def doctor(self, *, repair: bool = False) -> Iterator[Finding]:
        """Look at everything that can be wrong. With `repair`, first rebuild what is derived, and bring damaged records
        back from their history where it can be proven.
        """
        services = self._services
        repaired = list(services.store.repair()) if repair else []
        return chain((services.embedder_finding(),), repaired, services.store.check())


def _path(path: object) -> str:
    if not path or not isinstance(path, str | os.PathLike):
        raise BackupFailed(f"{shown(path)} is not a path.")
    return os.fsdecode(cast("str | os.PathLike[str]", path))


def _mappings(source: object) -> Iterable[Mapping[str, Any]]:
    if not isinstance(source, Iterable):
        raise ImportFailed(f"{shown(source)} holds no records.", remedy="Give a path, a file or mappings.")
    return cast("Iterable[Mapping[str, Any]]", source)


def _is_stream(source: TextIO | Iterable[Mapping[str, Any]]) -> TypeGuard[TextIO]:
    return hasattr(source, "readline")

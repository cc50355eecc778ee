"""Erasing memories: their text is removed from every file of the store, and nothing brings it back."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, cast

from perdure.buggify import point
from perdure.errors import NotAllowed, StoreError
from perdure.lifecycle.forget import (
    ATTEMPTS,
    ForgetRequest,
    is_confirmed,
    others_keep_changing,
    preview_of,
    retry_when_full,
    suggest,
    with_remaining,
)
from perdure.lifecycle.selection import SelectionScope, matching_earlier_versions, select
from perdure.lifecycle.write import is_unchanged, update_tombstones
from perdure.lifecycle.write_context import WriteBatch
from perdure.model import Forgotten, Record
from perdure.store.port import Store

SCRUB_PATIENCE: Final = 2.0
_EARLIER_VERSIONS: Final = (
    "Some memories held these words in an earlier version only. They are suggested, and stay unless you name them."
)
_SCRUB_PENDING: Final = (
    "The erased bytes are still in a log or an unfinished copy that another process uses. They are removed when it is "
    "done, or the next time anybody opens the store."
)
_RESTORING: Final = (
    "Restoring one over this store erases it again; into another file only with this store's list of what was erased "
    "(--erased)."
)
_COPIES: Final = (
    "Exports, copies and file system snapshots that were made before may still hold it; Perdure cannot erase those."
)


def erase(scope: SelectionScope, request: ForgetRequest) -> Forgotten:
    """Erase all selected memories or none, in one transaction; then remove the bytes from every file."""
    services = scope.services
    if not services.context.is_person:
        raise NotAllowed("A model cannot erase memories.", remedy="Forget it instead, or ask a person to erase it.")
    for _ in range(ATTEMPTS):
        now = services.context.clock()
        selection = select(scope, request.what, now)
        preview = preview_of(scope, selection, "hard")
        selected = {record.number for record in selection.records}
        matching = matching_earlier_versions(scope, request.what, now)
        earlier = [record for record in matching if record.number not in selected]
        if earlier:
            preview = replace(preview, suggested=tuple(earlier), notes=(*preview.notes, _EARLIER_VERSIONS))
        certain = selection.kind == "reference" and len(selection.records) == 1
        if not is_confirmed(scope, preview, request, certain=certain):
            return suggest(scope, with_remaining(scope, preview), request.what)
        batch = services.context.batch()
        try:
            remaining = retry_when_full(partial(_apply, scope, selection.records, batch))
        finally:
            services.drop(scope.namespace)
        if remaining is not None:
            break
    else:
        raise others_keep_changing()
    try:
        scrubbed = services.store.scrub(patience=SCRUB_PATIENCE)
    except StoreError:
        scrubbed = False
    point("erase: scrubbed")
    notes = [*preview.notes, *(() if scrubbed else (_SCRUB_PENDING,))]
    if backups := known_backups(services.store):
        notes.append(f"Backups that may still hold it: {', '.join(backups)}. {_RESTORING}")
    return replace(
        preview,
        done=True,
        batch=batch.id,
        remaining=remaining,
        scrub_pending=not scrubbed,
        notes=(*notes, _COPIES),
    )


def _apply(scope: SelectionScope, records: tuple[Record, ...], batch: WriteBatch) -> int | None:
    """How many memories recall may still find. None, and nothing changed, when one is not as it was selected."""
    point("erase: begin")
    with scope.services.store.write(scope.namespace, frees_space=True) as writer:
        # Nobody can change a damaged memory any more.
        if not all(is_unchanged(writer, record, if_damaged=True) for record in records):
            return None
        for record in records:
            writer.erase(record.number, batch.change("erase"))
            point("erase: one erased")
        for record in records:
            update_tombstones(writer, "erase", record, None, batch.at)
        remaining = writer.load().items
        point("erase: before commit")
    point("erase: committed")
    return remaining


def known_backups(store: Store) -> tuple[str, ...]:
    """Backups of the store, newest first, that exist, are being made, or cannot be looked at."""

    def exists(path: str) -> bool:
        partial_name = f"{Path(path).name}.partial-"
        # A backup in the making is looked for first: if it is finished meanwhile, the backup itself exists afterwards.
        with suppress(OSError, ValueError):
            if any(entry.name.startswith(partial_name) for entry in Path(path).parent.iterdir()):
                return True
        try:
            return Path(path).is_file()
        except ValueError:
            return False
        except OSError:
            return True

    try:
        parsed: object = json.loads(store.note("backups") or "[]")
    except ValueError:
        return ()
    paths = cast("list[object]", parsed) if isinstance(parsed, list) else []
    return tuple(path for path in paths if isinstance(path, str) and exists(path))

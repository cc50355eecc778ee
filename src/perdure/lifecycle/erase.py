"""Erasing memories: their text is removed from every file of the store, and nothing brings it back."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final, Protocol, TypeAlias, cast

from perdure.buggify import point
from perdure.errors import Conflict, NotAllowed, StoreError
from perdure.files import directory
from perdure.lifecycle.forget import (
    ATTEMPTS,
    ForgetRequest,
    confirmation_token,
    is_confirmed,
    note_on_derived,
    numbers_in_words,
    others_keep_changing,
    preview_of,
    retry_when_full,
    suggest,
    with_remaining,
)
from perdure.lifecycle.selection import SelectionScope, matching_earlier_versions, select
from perdure.lifecycle.write import Plan, apply_plan, is_unchanged, update_tombstones
from perdure.lifecycle.write_context import WriteBatch
from perdure.lineage import DROPPED
from perdure.model import Forgotten, MarkdownCopy, Record
from perdure.remedies import Remedy, Run
from perdure.store import capabilities
from perdure.store.capabilities import Scrubbed, listed
from perdure.store.port import About, Reader, Store, Writer

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
    "Exports, copies and file system snapshots that were made before may still hold it, and so may what a coding agent "
    "keeps of its sessions; Perdure cannot erase those."
)


@dataclass(frozen=True, slots=True)
class RelatedChanges:
    """What erasing memories does to others: `records` go as well, `plans` say how others become, what is `parked` under
    these ids is thrown away. `replaced` are the numbers of those among the records in whose place one of the plans puts
    a new memory, without what was erased; `sources` are those of what the erased memories were made of, which stays.
    """

    records: tuple[Record, ...] = ()
    plans: tuple[Plan, ...] = ()
    parked: tuple[int, ...] = ()
    replaced: tuple[int, ...] = ()
    sources: tuple[int, ...] = ()

    @property
    def touched(self) -> frozenset[tuple[int, int]]:
        """The memories, each with the position of its newest line: if these are equal, none has changed."""
        changed = (plan.previous for plan in self.plans if plan.previous)
        return frozenset((record.number, record.seq) for record in (*self.records, *changed))

    @property
    def notes(self) -> Iterator[str]:
        if others := [record.number for record in self.records if record.number not in self.replaced]:
            yield f"Made of what is erased, and erased with it: {numbers_in_words(others)}."
        if self.replaced:
            yield f"Made anew without what is erased, under another number: {numbers_in_words(self.replaced)}."
        if kept := [plan.record.number for plan in self.plans if plan.operation == "annotate"]:
            yield f"Made of what is erased, and kept, because others say it too: {numbers_in_words(kept)}."
        if back := [plan.record.number for plan in self.plans if plan.operation == "restore"]:
            yield f"Shown again, because what replaced it is erased: {numbers_in_words(back)}."
        if self.sources:
            yield (
                f"What it was made of stays: {numbers_in_words(self.sources)}. "
                "Erase that too with related='all' (--related all)."
            )


Follow: TypeAlias = Callable[[Reader, Sequence[Record], datetime], RelatedChanges]


class Copies(Protocol):
    """Finds what files outside of the store hold of memories, and removes it unless it is a dry run."""

    def __call__(self, records: Sequence[Record], *, dry_run: bool) -> tuple[MarkdownCopy, ...]: ...


def drop_told_texts() -> None:
    """What sessions of coding agents were told is kept beside the store for a while, so that a resume gets the same
    text. It may hold what is erased: all of it goes, and the next start makes it anew.
    """
    for name in ("started", "prompted", "asked"):
        with suppress(OSError):
            for file in (directory("data", os.environ) / "sessions" / name).iterdir():
                file.unlink(missing_ok=True)


def erase(
    scope: SelectionScope, request: ForgetRequest, follow: Follow | None = None, copies: Copies | None = None
) -> Forgotten:
    """Erase all selected memories or none, in one transaction; then remove the bytes from every file. `follow` says
    what this does to others; without it, nothing. `copies` go first: only the store knows what they said, so that
    erasing again finishes what was cut short.
    """
    services = scope.services
    if not services.context.is_person:
        raise NotAllowed("A model cannot erase memories.", remedy="Forget it instead, or ask a person to erase it.")
    for _ in range(ATTEMPTS):
        now = services.context.clock()
        selection = select(scope, request.what, now, request.keep)
        earlier = tuple(matching_earlier_versions(scope, selection))
        notes = (_EARLIER_VERSIONS,) if earlier else ()
        preview = preview_of(scope, selection, "hard", suggested=earlier, notes=notes)
        with services.store.read(scope.namespace) as reader:
            found = follow(reader, selection.records, now) if follow else RelatedChanges()
            kept = () if follow else note_on_derived(reader, selection.records)
        if both := sorted(selection.kept & {record.number for record in found.records}):
            raise Conflict(
                f"{numbers_in_words(both)} should be kept, but was made of what should be erased.",
                remedy=Remedy(
                    "Keep what it was made of as well; ",
                    Run("erase", related="none"),
                    " erases nothing made of it. Nothing was changed.",
                ),
            )
        preview = with_related(scope, preview, found, kept)
        preview = replace(preview, copies=copies(preview.records, dry_run=True) if copies else ())
        if not is_confirmed(scope, preview, request, certain=False):
            return suggest(scope, with_remaining(scope, preview), selection)
        batch = services.context.batch()
        if copies:
            preview = replace(preview, copies=copies(preview.records, dry_run=False))
        # Now, because this process may die before it comes back to it, and once more for sessions that start meanwhile.
        drop_told_texts()
        point("erase: copies removed")
        try:
            remaining = retry_when_full(partial(_apply, scope, selection.records, follow, found, batch))
        finally:
            services.drop(scope.namespace)
        if remaining is not None:
            break
    else:
        raise others_keep_changing()
    return scrub(services.store, replace(preview, done=True, batch=batch.id, remaining=remaining))


def scrub(store: Store, erased: Forgotten) -> Forgotten:
    """Remove the bytes of what was erased from every file, and say where they may still be."""
    try:
        scrubbed = capabilities.scrub(store, patience=SCRUB_PATIENCE)
    except StoreError:
        scrubbed = Scrubbed(done=False)
    drop_told_texts()
    point("erase: scrubbed")
    notes = [*erased.notes, *(() if scrubbed.done else (_SCRUB_PENDING,)), *filter(None, [listed(scrubbed.left)])]
    if backups := known_backups(store):
        notes.append(f"Backups that may still hold it: {', '.join(backups)}. {_RESTORING}")
    return replace(erased, scrub_pending=not scrubbed.done, notes=(*notes, _COPIES))


def with_related(scope: SelectionScope, preview: Forgotten, found: RelatedChanges, kept: Iterable[str]) -> Forgotten:
    records = (*preview.records, *found.records)
    changed = (plan.previous for plan in found.plans if plan.previous)
    return replace(
        preview,
        records=records,
        related=tuple(record.number for record in found.records),
        token=confirmation_token(scope.namespace, "hard", (*records, *changed)),
        notes=(*preview.notes, *found.notes, *kept),
    )


def _apply(
    scope: SelectionScope, records: tuple[Record, ...], follow: Follow | None, found: RelatedChanges, batch: WriteBatch
) -> int | None:
    """How many memories recall may still find. None, and nothing changed, when one is not as it was selected."""
    point("erase: begin")
    about = [About(number=record.number) for record in records]
    with scope.services.store.write(scope.namespace, about, frees_space=True) as writer:
        # A damaged memory cannot be changed.
        if not all(is_unchanged(writer, record, if_damaged=True) for record in records):
            return None
        # Looked at again inside the write: a memory may have been made of these meanwhile.
        now = follow(writer, records, batch.at) if follow else found
        if now.touched != found.touched:
            return None
        for record in (*records, *now.records):
            writer.erase(record.number, batch.change("erase"))
            point("erase: one erased")
        for plan in now.plans:
            change(scope, writer, plan, batch)
            point("erase: another changed")
        for id in now.parked:
            writer.unpark(id)
        for record in (*records, *now.records):
            update_tombstones(writer, "erase", record, None, batch.at)
        remaining = writer.load().items
        point("erase: before commit")
    point("erase: committed")
    return remaining


def change(scope: SelectionScope, writer: Writer, plan: Plan, batch: WriteBatch) -> None:
    """Carry out a plan that may say which of the memory's earlier lines must not be kept."""
    apply_plan(scope.services, writer, plan, batch, room=False)
    dropped = plan.provenance.get(DROPPED)
    if isinstance(dropped, list):
        writer.drop_payloads(plan.record.number, [seq for seq in dropped if isinstance(seq, int)])


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

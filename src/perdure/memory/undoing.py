"""The verbs that bring an earlier state back: undo and checkpoints."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from perdure.clock import parse_time
from perdure.errors import InvalidInput, shown
from perdure.memory.core import Core
from perdure.model import Checkpoint, Json, RevertResult
from perdure.store.port import LogFilter
from perdure.validation import check_bool, check_fields, check_int, check_single_line

MAX_CHECKPOINT_NAME = 200
_MOST_LISTED = 10_000


class Undoing(Core):
    def undo(
        self,
        batch: str | None = None,
        *,
        session: str | None = None,
        actor: str | None = None,
        since: datetime | str | None = None,
        force: bool = False,
        dry_run: bool = False,
        everywhere: bool = False,
    ) -> RevertResult:
        """Take back what one call did (its `batch`, or at least 8 characters of it), or all that a session or an actor
        wrote, `since` a moment if you like. Every memory becomes byte for byte what it was before; what was born by it
        is removed. Undoing the batch of the answer takes the undo back.

        What others changed since, or what was erased, is a Conflict that says so, and nothing happens; with `force`
        their changes are overruled and the erased ones are named in `left`. Nothing to do, or `dry_run`: the answer
        has no batch. `everywhere` means all namespaces, in one transaction.
        """
        from perdure.lifecycle.undo import undo

        if sum(one is not None for one in (batch, session, actor)) != 1:
            raise InvalidInput("Say what to undo: one batch, one session or one actor.", remedy=_HOW_TO_UNDO)
        if since is not None and batch is not None:
            raise InvalidInput("A batch is one moment; `since` goes with a session or an actor.", remedy=_HOW_TO_UNDO)
        wanted = LogFilter(
            batch=None if batch is None else check_single_line(batch, "batch"),
            session=None if session is None else check_single_line(session, "session"),
            actor=None if actor is None else check_single_line(actor, "actor"),
            since=None if since is None else parse_time(since, "since"),
        )
        names = self._services.store.namespaces() if check_bool(everywhere, "everywhere") else [self._namespace]
        forced, dry = check_bool(force, "force"), check_bool(dry_run, "dry_run")
        return undo(self._services, names, wanted, force=forced, dry_run=dry)

    def checkpoint(
        self,
        name: str,
        *,
        description: str | None = None,
        spec_folder: str | None = None,
        metadata: Mapping[str, Json] | None = None,
        everything: bool = False,
    ) -> Checkpoint:
        """Give the present state a name: of this namespace, of one spec folder in it, or of `everything`.

        It costs one small write, however much is stored, and nothing is copied: what is erased later is gone from the
        checkpoint too.
        """
        from perdure.lifecycle.checkpoint import create

        if check_bool(everything, "everything") and spec_folder is not None:
            raise InvalidInput("A checkpoint is of a spec folder or of everything.", remedy="Leave one of them out.")
        fields = {"spec_folder": spec_folder, "abstract": description, "metadata": metadata}
        clean = check_fields(fields)
        return create(
            self._services,
            None if everything else self._namespace,
            _checkpoint_name(name),
            spec_folder=clean["spec_folder"],
            description=clean["abstract"],
            metadata=clean["metadata"] or {},
        )

    def checkpoints(self, *, spec_folder: str | None = None, limit: int = 50) -> builtins.list[Checkpoint]:
        """The checkpoints of this namespace and those of everything, newest first."""
        most = check_int(limit, "limit", 1, _MOST_LISTED)
        folder = None if spec_folder is None else check_single_line(spec_folder, "spec_folder")
        found = self._services.store.checkpoints(self._namespace)
        wanted = [one for one in found if folder is None or one.spec_folder == folder][:most]
        # One namespace does not learn of the others, not even their names.
        own = self._namespace
        return [replace(one, positions={own: one.positions[own]} if own in one.positions else {}) for one in wanted]

    def restore_checkpoint(self, name: str, *, clear_existing: bool = False, dry_run: bool = False) -> RevertResult:
        """Make everything that the checkpoint covers what it was then. What came later stays, unless `clear_existing`.

        It appends, so undoing the batch of the answer takes it back. What was erased since does not come back:
        `skipped` names it.
        """
        from perdure.lifecycle.checkpoint import restore

        clear, dry = check_bool(clear_existing, "clear_existing"), check_bool(dry_run, "dry_run")
        return restore(self._services, self._namespace, _checkpoint_name(name), clear=clear, dry_run=dry)

    def delete_checkpoint(self, name: str) -> Checkpoint:
        """Forget the name of a state. The memories, and their history, stay."""
        from perdure.lifecycle.checkpoint import delete

        return delete(self._services, self._namespace, _checkpoint_name(name))


_HOW_TO_UNDO = "Write undo('batch'), undo(session='…') or undo(actor='…', since='…'); nothing was changed."


def _checkpoint_name(name: object) -> str:
    text = check_single_line(name, "name")
    if len(text) > MAX_CHECKPOINT_NAME or not text.isprintable():
        raise InvalidInput(
            f"{shown(text)} cannot be the name of a checkpoint.",
            remedy=f"Use 1 to {MAX_CHECKPOINT_NAME} characters on one line.",
        )
    return text

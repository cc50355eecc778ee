"""A checkpoint is a name for a position in the log. Restoring it writes every memory once more as it was then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from perdure.buggify import point
from perdure.errors import Conflict, InvalidInput, NotAllowed, NotFound, shown
from perdure.lifecycle.revert import RevertPlan, revert, why_missing
from perdure.lifecycle.write import check_write, require_no_secret
from perdure.model import Checkpoint, Json, Operation, Record, RevertResult, Revision, Skipped
from perdure.remedies import Remedy, Run
from perdure.store.port import Reader, Store
from perdure.validation import check_int, check_single_line, optional

if TYPE_CHECKING:
    from perdure.services import Services

MAX_NAME: Final = 200
MAX_LISTED: Final = 10_000


@dataclass(frozen=True, slots=True)
class CheckpointRevert:
    """Reverts a namespace to a position in its log. `clear` removes the memories that were inserted since."""

    namespace: str
    seq: int
    spec_folder: str | None
    clear: bool
    operation: Operation = "rewind"

    def plan(self, reader: Reader) -> RevertPlan:
        numbers = reader.changed_after(self.seq, self.spec_folder)
        current = {record.number: record for record in reader.fetch(numbers)}
        states = reader.states_at(numbers, self.seq)
        targets: dict[int, Record | None] = {}
        skipped: list[Skipped] = []
        younger = 0
        for number in numbers:
            line, record = states.get(number), current.get(number)
            if line is None:
                if record is not None and self.clear:
                    targets[number] = None
                younger += record is not None and record.state != "deleted"
            elif record is None:
                skipped.append(Skipped(number, why_missing(reader.revisions(number))))
            elif line.record is None:
                skipped.append(
                    Skipped(number, "What it said then was not kept: versioning is off, or it held secrets.")
                )
            else:
                targets[number] = line.record
        notes: tuple[str, ...] = ()
        if younger and not self.clear:
            stay = "1 memory is younger than the checkpoint and stays"
            if younger > 1:
                stay = f"{younger:,} memories are younger than the checkpoint and stay"
            notes = (f"{stay}; clear_existing (--clear-existing) would remove them.",)
        return RevertPlan(targets, current, tuple(skipped), notes)

    def may_change_plan(self, line: Revision) -> bool:
        return self.spec_folder is None or line.record is None or line.record.spec_folder == self.spec_folder


def check_name(name: object) -> str:
    text = check_single_line(name, "name")
    if len(text) > MAX_NAME or not text.isprintable():
        raise InvalidInput(
            f"{shown(text)} cannot be the name of a checkpoint.", remedy=f"Use 1 to {MAX_NAME} characters on one line."
        )
    return text


def create(
    services: Services,
    namespace: str | None,
    name: str,
    *,
    spec_folder: str | None,
    description: str | None,
    metadata: Mapping[str, Json] | None,
) -> Checkpoint:
    """One small write, however much is stored: the store itself fills in how far its log has come."""
    context = services.context
    _require_person(services, namespace)
    if namespace is None and spec_folder is not None:
        raise InvalidInput("A checkpoint is of a spec folder or of everything.", remedy="Leave one of them out.")
    given = {"spec_folder": spec_folder, "abstract": description, "metadata": metadata}
    fields, _ = check_write(services, None, given, partial=True)
    require_no_secret(services, check_name(name), "name of the checkpoint")
    checkpoint = Checkpoint(
        check_name(name), namespace, {}, 0, context.clock(), context.actor,
        spec_folder=fields.get("spec_folder"), description=fields.get("abstract"),
        metadata=fields.get("metadata") or {},
    )  # fmt: skip
    point("checkpoint: before it is written")
    try:
        created = services.store.put_checkpoint(checkpoint)
    except Conflict as error:
        remedy = Remedy("Choose another name, or delete that one first: ", Run("checkpoint delete", "NAME"))
        # No namespace is called "", so it has the checkpoints of everything alone.
        if all(each.name != checkpoint.name for each in services.store.checkpoints(namespace or "")):
            remedy = Remedy("Choose another name: one of the namespaces has a checkpoint of this name.")
        raise Conflict(f"There is a checkpoint {checkpoint.name!r} already.", remedy=remedy) from error
    point("checkpoint: written")
    return created


def visible(store: Store, namespace: str, spec_folder: str | None, limit: int) -> list[Checkpoint]:
    """The checkpoints of a namespace and those of everything, without the positions and names of other namespaces."""
    most = check_int(limit, "limit", 1, MAX_LISTED)
    folder = optional(check_single_line, spec_folder, "spec_folder")
    checkpoints = store.checkpoints(namespace)
    return [of_namespace(each, namespace) for each in checkpoints if folder is None or each.spec_folder == folder][
        :most
    ]


def of_namespace(checkpoint: Checkpoint, namespace: str) -> Checkpoint:
    """What one namespace may know of a checkpoint."""
    positions = {name: seq for name, seq in checkpoint.positions.items() if name == namespace}
    return replace(checkpoint, positions=positions)


def find(store: Store, namespace: str, name: str) -> Checkpoint:
    """The checkpoint of the namespace, or the one of everything; no two have the same name."""
    name = check_name(name)
    checkpoint = next((each for each in store.checkpoints(namespace) if each.name == name), None)
    if checkpoint is None:
        raise no_checkpoint(name)
    return checkpoint


def no_checkpoint(name: str) -> NotFound:
    return NotFound(f"There is no checkpoint {name[:80]!r}.", remedy=Remedy(Run("checkpoint list"), " shows them."))


def restore(services: Services, namespace: str, name: str, *, clear: bool, dry_run: bool) -> RevertResult:
    checkpoint = find(services.store, namespace, name)
    _require_person(services, checkpoint.namespace)
    covered = services.store.namespaces() if checkpoint.namespace is None else [checkpoint.namespace]
    # A namespace that is younger than the checkpoint was empty then.
    sources = [
        CheckpointRevert(covers, checkpoint.positions.get(covers, 0), checkpoint.spec_folder, clear)
        for covers in covered
    ]
    result = revert(services, sources, dry_run=dry_run)
    if result.reverted or result.removed:
        return result
    note = "Everything is as it was then; there was nothing to restore."
    if result.skipped:
        note = "Everything else is as it was then."
    return replace(result, notes=(*result.notes, note))


def delete(services: Services, namespace: str, name: str) -> Checkpoint:
    """Only the name goes: the memories and their log stay."""
    checkpoint = find(services.store, namespace, name)
    _require_person(services, checkpoint.namespace)
    services.store.delete_checkpoint(checkpoint.namespace, checkpoint.name)
    return of_namespace(checkpoint, namespace)


def _require_person(services: Services, covered: str | None) -> None:
    """A checkpoint of everything reaches into namespaces that a model was not given."""
    if covered is None and not services.context.is_person:
        raise NotAllowed("Only a person may make, restore or delete a checkpoint of everything.")

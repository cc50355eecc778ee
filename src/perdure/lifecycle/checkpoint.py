"""A checkpoint is a name for a position in the log. Restoring one appends what makes everything as it was then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from perdure.buggify import point
from perdure.errors import Conflict, InvalidInput, NotFound, shown
from perdure.lifecycle.revert import Aim, rewind
from perdure.model import Checkpoint, Json, Operation, Record, RevertResult, Revision, Skipped
from perdure.store.port import Store
from perdure.validation import check_single_line

if TYPE_CHECKING:
    from perdure.services import Services

MAX_NAME: Final = 200
_AS_IT_WAS: Final = "Everything is as it was then; there was nothing to restore."
_THE_REST: Final = "Everything else is as it was then."


@dataclass(frozen=True, slots=True)
class Returning:
    """The intent to go back to a position. `clear` removes what was born since; else it stays."""

    store: Store
    namespace: str
    seq: int
    spec_folder: str | None
    clear: bool
    operation: Operation = "rewind"

    def plan(self) -> Aim:
        store, namespace = self.store, self.namespace
        numbers = store.changed_after(namespace, self.seq, self.spec_folder)
        current = {record.number: record for record in store.fetch(namespace, numbers)}
        then = store.states_at(namespace, numbers, self.seq)
        goals: dict[int, Record | None] = {}
        left: list[Skipped] = []
        younger = 0
        for number in numbers:
            line, now = then.get(number), current.get(number)
            if line is None:
                if now is not None and self.clear:
                    goals[number] = None
                younger += now is not None and now.state != "deleted"
            elif now is None:
                left.append(Skipped(number, self._why_gone(number)))
            elif line.record is None:
                left.append(Skipped(number, "What it said then was not kept, because versioning is off."))
            else:
                goals[number] = line.record
        return Aim(goals, current, tuple(left), () if self.clear else _stay(younger))

    def selects(self, line: Revision) -> bool:
        return self.spec_folder is None or line.record is None or line.record.spec_folder == self.spec_folder

    def _why_gone(self, number: int) -> str:
        lines = self.store.revisions(self.namespace, number)
        erased = next((line.change for line in reversed(lines) if line.change.operation == "erase"), None)
        if erased is None:
            return "It is damaged; `perdure doctor --repair` may bring it back."
        return f"It was erased by {erased.actor} on {erased.at:%Y-%m-%d}."


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
    metadata: Mapping[str, Json],
) -> Checkpoint:
    """One small write, however much there is: the store itself says how far its log has come."""
    author = services.context
    wanted = Checkpoint(
        name, namespace, {}, 0, author.clock(), author.actor,
        spec_folder=spec_folder, description=description, metadata=metadata,
    )  # fmt: skip
    point("checkpoint: before it is written")
    try:
        made = services.store.put_checkpoint(wanted)
    except Conflict as error:
        raise Conflict(
            f"There is a checkpoint {name!r} already.",
            remedy="Choose another name, or delete that one first: perdure checkpoint delete NAME",
        ) from error
    point("checkpoint: written")
    return made


def visible(store: Store, namespace: str, spec_folder: str | None) -> list[Checkpoint]:
    """The checkpoints of a namespace and those of everything, without the positions and names of other namespaces."""
    return [
        replace(checkpoint, positions={name: seq for name, seq in checkpoint.positions.items() if name == namespace})
        for checkpoint in store.checkpoints(namespace)
        if spec_folder is None or checkpoint.spec_folder == spec_folder
    ]


def find(store: Store, namespace: str, name: str) -> Checkpoint:
    """The namespace's own, or the one of everything; no two have the same name."""
    found = next((one for one in store.checkpoints(namespace) if one.name == name), None)
    if found is None:
        raise NotFound(f"There is no checkpoint {name[:80]!r}.", remedy="`perdure checkpoint list` shows them.")
    return found


def restore(services: Services, namespace: str, name: str, *, clear: bool, dry_run: bool) -> RevertResult:
    store = services.store
    found = find(store, namespace, name)

    def returning(one: str) -> Returning:
        # A namespace that is younger than the checkpoint was empty then.
        return Returning(store, one, found.positions.get(one, 0), found.spec_folder, clear)

    covered = store.namespaces() if found.namespace is None else [found.namespace]
    rewound = rewind(services, [returning(one) for one in covered], dry_run=dry_run)
    if rewound.reverted or rewound.removed:
        return rewound
    return replace(rewound, notes=(*rewound.notes, _THE_REST if rewound.skipped else _AS_IT_WAS))


def delete(services: Services, namespace: str, name: str) -> Checkpoint:
    """The name goes, and nothing else: what it named is still in the log."""
    found = find(services.store, namespace, name)
    services.store.delete_checkpoint(found.namespace, name)
    return found


def _stay(younger: int) -> tuple[str, ...]:
    if not younger:
        return ()
    said = (
        "1 memory is younger than the checkpoint and stays"
        if younger == 1
        else (f"{younger:,} memories are younger than the checkpoint and stay")
    )
    return (f"{said}; clear_existing (--clear-existing) would remove them.",)

"""Forgetting, soft: memories leave every list and every search, and can be brought back.

`erase` shares the preview and the confirmation of this module.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from perdure.errors import Conflict, InvalidInput, NeedsConfirmation, NotAllowed, StoreFull, shown
from perdure.lifecycle.selection import Selection, SelectionScope, near_misses, select
from perdure.lifecycle.write import Plan, PreparedWrite, apply_plan, is_unchanged, retry_when_rolled_back
from perdure.model import INDEXED_STATES, NOTHING, Filter, Forgotten, Json, Record, replace_record
from perdure.remedies import Remedy, Run
from perdure.store.port import About
from perdure.text.entry import entry_of
from perdure.tiers import ONLY_PEOPLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from perdure.store.port import Reader

T = TypeVar("T")

ATTEMPTS: Final = 10
_SUGGESTED: Final = 5
_LISTED: Final = 10


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """Which memories to forget or to erase, and which of them to `keep`. `confirm` is True or the token of a preview;
    `dry_run` only previews. `provenance` is written into the log with it.
    """

    what: object
    keep: object = None
    confirm: object = False
    dry_run: bool = False
    provenance: Mapping[str, Json] = field(default_factory=lambda: NOTHING)


def forget(scope: SelectionScope, request: ForgetRequest) -> Forgotten:
    """Forget all selected memories or none. If somebody changes one of them meanwhile, they are selected again."""
    services = scope.services
    if not services.settings.soft_delete:
        raise Conflict(
            "Memories cannot be forgotten softly here: soft_delete is switched off.",
            remedy=Remedy(
                "Erase them for ever with ", Run("erase"), " (mode hard), or switch it on; nothing was changed."
            ),
        )
    for _ in range(ATTEMPTS):
        selection = select(scope, request.what, services.context.clock(), request.keep)
        for record in selection.records:
            if record.tier == ONLY_PEOPLE and record.state == "active" and not services.context.is_person:
                raise NotAllowed(f"Memory #{record.number} is constitutional: only a person may forget it.")
            if record.state == "deleted" and selection.kind == "reference":
                raise Conflict(
                    f"Memory #{record.number} is forgotten already.",
                    remedy=Remedy("Bring it back: ", Run("restore", record.number)),
                )
        records = tuple(record for record in selection.records if record.state != "deleted")
        selection = replace(selection, records=records)
        with services.store.read(scope.namespace) as reader:
            derived = tuple(note_on_derived(reader, records))
        preview = preview_of(scope, selection, "soft", notes=derived)
        single = selection.kind != "sentence" and len(records) == 1
        if not is_confirmed(scope, preview, request, certain=selection.kind == "reference" or single):
            return suggest(scope, with_remaining(scope, preview), selection)
        done = retry_when_full(partial(_apply, scope, preview, request.provenance))
        if done is not None:
            return done
    raise others_keep_changing()


def preview_of(
    scope: SelectionScope,
    selection: Selection,
    deletion: Literal["soft", "hard"],
    *,
    suggested: tuple[Record, ...] = (),
    notes: tuple[str, ...] = (),
) -> Forgotten:
    found, more = near_misses(scope, selection, suggested) if selection.records else ([], 0)
    if more:
        notes += (f"{more:,} more {'holds' if more == 1 else 'hold'} some of these words, and stay.",)
    return Forgotten(
        records=selection.records,
        deletion=deletion,
        done=False,
        understood=selection.understood,
        token=confirmation_token(scope.namespace, deletion, selection.records),
        suggested=suggested,
        near_misses=tuple(found),
        notes=notes if selection.records else (*notes, "Nothing matches, so nothing was changed."),
    )


def confirmation_token(namespace: str, deletion: Literal["soft", "hard"], records: Iterable[Record]) -> str:
    """A token for exactly these memories as they are now: a change to one of them, or one more, makes another token."""
    lines = sorted(f"{one.number}@{one.seq} {one.version} {one.state} {one.content_hash}" for one in records)
    return sha256("\x00".join((namespace, deletion, *lines)).encode("utf-8", "replace")).hexdigest()[:16]


def is_confirmed(scope: SelectionScope, preview: Forgotten, request: ForgetRequest, *, certain: bool) -> bool:
    """False when there is nothing to do, or for a dry run. NeedsConfirmation when somebody has to say yes, which is so
    unless the memories are `certain`. A token that is given must fit in any case.
    """
    confirm = request.confirm
    if request.dry_run or not preview.records:
        return False
    if not isinstance(confirm, bool | str):
        raise InvalidInput(f"confirm must be True or the token of a preview, not {shown(confirm)}.")
    if isinstance(confirm, str) and confirm != preview.token:
        raise Conflict(
            f"The token {shown(confirm)} confirms other memories than those that match now.",
            remedy="Look at the preview again, and confirm that one; nothing was changed.",
        )
    if confirm is False and not certain:
        count = len(preview.records)
        what = "1 memory" if count == 1 else f"{count:,} memories"
        verb = "forgotten" if preview.deletion == "soft" else "erased for ever"
        needed = NeedsConfirmation(
            f"{what} would be {verb}: {preview.understood}.",
            remedy=f"Look at the list, and confirm it with the token {preview.token}; nothing was changed.",
        )
        needed.preview = with_remaining(scope, preview)
        raise needed
    return True


def with_remaining(scope: SelectionScope, preview: Forgotten) -> Forgotten:
    """The preview with the number of memories that recall may find now."""
    with scope.services.store.read(scope.namespace) as reader:
        return replace(preview, remaining=reader.load().items)


def retry_when_full(write: Callable[[], T]) -> T:
    """Forgetting must be possible on a full disk: the store gives up its reserve after a first `write` that frees space
    has failed, so that a second one can succeed.
    """
    try:
        return retry_when_rolled_back(write)
    except StoreFull:
        return retry_when_rolled_back(write)


def others_keep_changing() -> Conflict:
    return Conflict("Others keep changing these memories.", remedy="Try again; nothing was changed.")


def _apply(scope: SelectionScope, preview: Forgotten, provenance: Mapping[str, Json]) -> Forgotten | None:
    """None when one of the memories is not as it was selected; then nothing was changed."""
    services = scope.services
    batch = services.context.batch()
    plans = [
        Plan(record, replace_record(record, state="deleted"), "forget", "updated", provenance=provenance)
        for record in preview.records
    ]
    prepared = [PreparedWrite(entry_of(plan.record, services.tokens.count)) for plan in plans]
    about = [About(number=record.number) for record in preview.records]
    with services.store.write(scope.namespace, about, frees_space=True) as writer:
        if not all(is_unchanged(writer, record) for record in preview.records):
            return None
        written = tuple(
            apply_plan(services, writer, plan, batch, write).record for plan, write in zip(plans, prepared, strict=True)
        )
        remaining = writer.load().items
        derived = note_on_derived(writer, written)
    if len(written) == 1 or not services.settings.versioning:
        command = f"restore {' '.join(str(record.number) for record in written)}"
    else:
        command = f"undo {batch.id}"
    note = f"Take it back: perdure {command}"
    return replace(preview, records=written, done=True, batch=batch.id, remaining=remaining, notes=(note, *derived))


def note_on_derived(reader: Reader, records: Sequence[Record]) -> list[str]:
    """A note that names the memories which were made of these, directly or through others, and are still shown."""
    ids, derived = {record.id for record in records}, dict[int, Record]()
    fresh = set(ids)
    while fresh:
        links = reader.linked(fresh, ("evidence", "merged_from"))
        found = reader.fetch(list(dict.fromkeys(link.number for link in links)))
        fresh = {record.id for record in found} - ids
        ids |= fresh
        derived |= {record.number: record for record in found if record.id in fresh and record.state == "active"}
    return [f"Made of it, and kept as it is: {numbers_in_words(sorted(derived))}."] if derived else []


def numbers_in_words(numbers: Sequence[int]) -> str:
    more = len(numbers) - _LISTED
    return ", ".join(f"#{number}" for number in numbers[:_LISTED]) + (f" and {more:,} more" if more > 0 else "")


def several_fit(selection: Selection) -> str:
    count = len(selection.doubtful)
    return (
        f"{count} memories fit it equally well, so nothing was changed. Say more about the one that you mean, name it "
        "by its number, or say `everything about …` for all of them."
    )


def suggest(scope: SelectionScope, answer: Forgotten, selection: Selection) -> Forgotten:
    """When no memory holds all the words of a sentence, recall may find what was meant; it is named and left alone."""
    wanted = selection.instruction.wanted if selection.instruction else None
    if answer.records:
        return answer
    if selection.doubtful:
        return replace(answer, suggested=selection.doubtful, notes=(several_fit(selection),))
    services, filter = scope.services, scope.filter or Filter(states=())
    suggested = {record.number: record for record in answer.suggested}
    if wanted:
        states = tuple(state for state in INDEXED_STATES if not filter.states or state in filter.states)
        searched = replace(filter, states=states or INDEXED_STATES)
        for hit in services.search(" ".join(wanted.words), scope.namespace, searched, limit=_SUGGESTED):
            if hit.record.number not in selection.kept:
                suggested.setdefault(hit.record.number, hit.record)
    return replace(answer, suggested=tuple(suggested.values()))

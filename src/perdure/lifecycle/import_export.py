"""Memories in and out, as JSON Lines: one record a line, readable by anything, importable again.

An import is checked whole before its first write, so that a bad line leaves nothing behind. Records of strangers get
`source: import` and low trust; a person's own export may be imported as `trusted`, which keeps what it says, and what
others of its memories took the place of.
"""

# `_check` gives every record of an import its text and content hash.
# pyright: reportTypedDictNotRequiredAccess=false

from __future__ import annotations

import json
import os
import shlex
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import count, groupby, islice, takewhile
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TextIO, TypeAlias, cast

from perdure.clock import format_time, parse_time
from perdure.errors import CapacityExceeded, ExportFailed, ImportFailed, PerdureError, shown
from perdure.ids import BY_HAND, MemoryId, Reference, content_hash, is_id, new_id
from perdure.jsonable import to_jsonable
from perdure.lifecycle.model_rights import is_manual, lowered
from perdure.lifecycle.tier_policy import demote_to_proposal, keep_proposal
from perdure.lifecycle.write import (
    Plan,
    PreparedWrite,
    apply_plan,
    check_write,
    identity_of_fields,
    lookup,
    make_room,
    plan_write,
    retry_when_rolled_back,
)
from perdure.lifecycle.write_context import WriteBatch
from perdure.model import TRUSTS, Exported, Filter, Identity, Imported, Record, State, identity_of, replace_record
from perdure.remedies import Remedy, Run
from perdure.store.paging import RECORDS_PER_PAGE, records
from perdure.store.port import LINK_KINDS, About, Progress, Reader, Use, Writer
from perdure.text.entry import entry_of
from perdure.text_files import replacing, rereadable
from perdure.tiers import ONLY_PEOPLE
from perdure.validation import MAX_ITEMS, Fields, RecordFields, check_int, check_namespace
from perdure.visibility import TOLD_IN

if TYPE_CHECKING:
    from perdure.services import Services

Decision: TypeAlias = Literal["inserted", "updated", "present", "skipped_deleted", "refused"]

FORMAT: Final = 1
_RECORDS_PER_TRANSACTION: Final = 128
_IMPORTED: Final = "import"
_CORRECT: Final = "Correct the line named and import again; nothing was stored from it."
_MAX_LINE: Final = 1 << 23
_MAX_ARRAY: Final = 1 << 28
_WHAT_IS_READ: Final = (
    "Each line is a JSON object with a `text`, or the whole file is an array of such objects; nothing was stored."
)
# An export has these fields too; only a trusted import takes them over.
_HISTORY: Final = ("observation_count", "validation_count", "created_at", "updated_at")
_USE: Final = ("recall_count", "recalled_at", "access_count", "accessed_at")
# What an untrusted record may say of its importance and its confidence.
_MOST_CLAIMED: Final = 0.5
_LINKS: Final = ("supersedes", "merged_from")
# What another memory took the place of: it is part of what that one says about itself.
_REPLACED: Final[tuple[State, ...]] = ("superseded", "merged")
_IGNORED: Final = ("id", "number", "namespace", "content_hash", "version", "seq")
RECORD_FIELDS: Final = frozenset({"text", *Fields.__annotations__, *_HISTORY, *_USE, *_LINKS, *_IGNORED, "state"})
_NOTES: Final = {
    "inactive": "skipped: not active where the file comes from.",
    "refused": "skipped: only a person or a trusted import may change a constitutional memory.",
    "skipped_deleted": "skipped: deleted or changed here later. Use revive (--revive) to import them anyway.",
    "redacted": "redacted before storing: they held secrets.",
}


@dataclass(frozen=True, slots=True)
class ImportRecord:
    """One checked record of an import. `stated_at` is when it was last stated, if the record says so. `use` is how
    often a trusted one was used where it comes from, and `id` what other records of the file call it. `state` is what
    it is stored in: active, or of a trusted one what another memory took the place of; else None, and it is skipped.
    """

    namespace: str
    fields: RecordFields
    stated_at: datetime | None
    state: State | None
    redacted: bool
    use: Use | None = None
    id: MemoryId | None = None


@dataclass(frozen=True, slots=True)
class ImportedIds:
    """For the id of each record of a file that others name: its id here. `reserved` are those of records to come."""

    stored: Mapping[str, MemoryId]
    reserved: set[MemoryId]

    def translated(self, fields: RecordFields) -> RecordFields:
        """A name that is not of the file stays as it is."""
        named = {kind: tuple(self.stored.get(name, name) for name in fields.get(kind, ())) for kind in LINK_KINDS}
        return fields | cast("RecordFields", {kind: names for kind, names in named.items() if names})


def export_to(
    services: Services,
    namespace: str | None,
    target: str | os.PathLike[str] | TextIO,
    states: tuple[State, ...],
    progress: Progress | None,
) -> Exported:
    """Export to a path, which is replaced whole, or to an open text file. Without a namespace: all of them."""
    with ExitStack() as stack:
        if isinstance(target, str | os.PathLike):
            target = stack.enter_context(replacing(target))
        elif not hasattr(target, "write"):
            raise ExportFailed(f"{shown(target)} cannot be written to.", remedy="Give a path or an open text file.")
        exported_at = format_time(services.context.clock())
        names = services.store.namespaces() if namespace is None else [namespace]
        said = {"namespaces": names} if namespace is None else {"namespace": namespace}
        header = {"perdure_export": FORMAT, **said, "exported_at": exported_at}
        try:
            target.write(json.dumps(header, ensure_ascii=False) + "\n")
        except TypeError as error:
            raise ExportFailed(
                "The file is open for bytes.", remedy="Open it for text, with encoding='utf-8'."
            ) from error
        filter = Filter(states=states)
        # What is stored from now on is not exported: a writer that is as quick would keep this from ever ending.
        last: dict[str, int] = {}
        total = 0
        for name in names:
            with services.store.read(name) as reader:
                total += len(reader.numbers(filter)) if progress else 0
                newest = reader.page(filter, after=None, limit=1, newest=True)
                last[name] = newest[0].number if newest else 0
        all_records = (
            record
            for name in names
            for record in takewhile(lambda record: record.number <= last[name], records(services.store, name, filter))  # noqa: B023
        )
        written, damaged = 0, list[int]()
        for written, record in enumerate(all_records, 1):
            target.write(json.dumps(to_jsonable(record), ensure_ascii=False) + "\n")
            if progress and written % RECORDS_PER_PAGE == 0:
                progress(written, total)
        if progress and written % RECORDS_PER_PAGE:
            progress(written, total)
        for name in names:
            with services.store.read(name) as reader:
                damaged += reader.damaged()
        return Exported(written, tuple(damaged))


class RecordsOf(Protocol):
    """The checked records of a source from its beginning, or `only` those that go by some ids."""

    def __call__(self, only: Collection[str] | None = None) -> Iterator[ImportRecord]: ...


@contextmanager
def checking(services: Services, source: object, namespace: str | None, *, trusted: bool) -> Generator[RecordsOf]:
    """The records of a path, an open text file or mappings; they may be read more than once."""
    if isinstance(source, str | os.PathLike) or hasattr(source, "readline"):
        with rereadable(cast("str | os.PathLike[str] | TextIO", source)) as stream:

            def of_stream(only: Collection[str] | None = None) -> Iterator[ImportRecord]:
                stream.seek(0)
                items = (
                    (place, item) for place, item in placed_objects(stream) if only is None or _id_of(item) in only
                )
                return _check(services, items, namespace, trusted=trusted)

            yield of_stream
    elif isinstance(source, Iterable):
        given = enumerate(cast("Iterable[object]", source), 1)
        items = ((getattr(item, "place", f"Record {position}"), item) for position, item in given)
        whole = list(_check(services, items, namespace, trusted=trusted))

        def of_list(only: Collection[str] | None = None) -> Iterator[ImportRecord]:
            return iter(whole if only is None else [record for record in whole if record.id in only])

        yield of_list
    else:
        raise ImportFailed(f"{shown(source)} holds no records.", remedy="Give a path, a file or mappings.")


def import_from(
    services: Services,
    namespace: str,
    source: object,
    *,
    trusted: bool,
    revive: bool,
    all_namespaces: bool = False,
    dry_run: bool = False,
    progress: Progress | None,
) -> Imported:
    """Import a path, an open text file or mappings: everything is checked before the first record is stored. With
    `all_namespaces` a record goes into the namespace that it names.
    """
    with checking(services, source, None if all_namespaces else namespace, trusted=trusted) as checked:
        if dry_run:
            return _imported(preview(services, checked(), trusted=trusted, revive=revive))
        total, named = 0, set[str]()
        for record in checked():
            total += 1
            named.update(name for kind in LINK_KINDS for name in record.fields.get(kind, ()))
        ids = stored_ids(services, checked(named) if named else ())
        nobody = ImportedIds({}, set())
        batch = services.context.batch()
        counts: Counter[str] = Counter()
        evicted: list[Record] = []
        processed = 0
        try:
            # Short transactions let other processes write in between. Vectors come later, from `work`.
            for name, group in _groups(checked()):
                known = ids.get(name, nobody)
                imported = partial(
                    _import_group, services, name, group, batch, known, evicted, trusted=trusted, revive=revive
                )
                counts += retry_when_rolled_back(imported)
                processed += len(group)
                if progress:
                    progress(processed, total)
        except BaseException as error:
            stored = counts["inserted"] + counts["updated"]
            undo = Run("undo", batch.id, **({"all_namespaces": True} if all_namespaces else {}))
            if stored and isinstance(error, CapacityExceeded):
                raise CapacityExceeded(
                    f"{error.sentence} {stored:,} memories of the file are stored.",
                    remedy=Remedy("Raise the limit and import again, or take them back: ", undo),
                ) from error
            if stored:
                # Whatever it was, it is the caller's to handle: Ctrl-C, or an error of its own progress.
                error.add_note(
                    f"{processed:,} of {total:,} records were imported. Import again to go on, or take them back: "
                    f"{undo.told('cli')}"
                )
            raise
    return _imported(counts, batch.id if counts["inserted"] or counts["updated"] else None, evicted)


def _imported(counts: Mapping[str, int], batch: str | None = None, evicted: Sequence[Record] = ()) -> Imported:
    numbers = ((counts[name], text) for name, text in _NOTES.items())
    notes = (f"{number:,} {'record' if number == 1 else 'records'} {text}" for number, text in numbers if number)
    return Imported(
        counts["inserted"],
        counts["updated"],
        counts["present"],
        batch,
        tuple(notes),
        counts["skipped_deleted"],
        tuple(evicted),
    )


def preview(services: Services, checked: Iterable[ImportRecord], *, trusted: bool, revive: bool) -> Counter[str]:
    """How many records an import would decide upon in which way. Nothing is written. A record that says again what one
    before it said is known by then, and under a key that one before it has it is its next version.
    """
    counts: Counter[str] = Counter()
    said: set[tuple[str, Identity]] = set()
    keys: set[tuple[str, str]] = set()
    now, authoritative = services.context.clock(), trusted and services.context.is_person
    for name, group in _groups(checked):
        with services.store.read(name) as reader:
            for record in group:
                identity, decision = identity_of_fields(record.fields), "inactive"
                stated_at = record.stated_at if record.stated_at and record.stated_at <= now else None
                if record.id and record.state in _REPLACED:
                    # The record is superseded, so it must not claim its key.
                    keyless = identity._replace(key=None)
                    decision = decide_replaced(reader, record.id, keyless, record.stated_at, revive=revive)
                elif record.state:
                    existing = lookup(reader, identity)
                    decision = decide(reader, existing, identity, stated_at, authoritative=authoritative, revive=revive)
                    if decision == "inserted" and (name, identity) in said:
                        decision = "present"
                    elif decision == "inserted" and identity.key and (name, identity.key) in keys:
                        decision = "updated"
                    said.add((name, identity))
                    keys |= {(name, identity.key)} if identity.key else set()
                counts[decision] += 1
                counts["redacted"] += bool(record.redacted and record.state)
    return counts


def _groups(checked: Iterable[ImportRecord]) -> Iterator[tuple[str, list[ImportRecord]]]:
    """A namespace and those of its records that are stored in one transaction."""
    for namespace, together in groupby(checked, lambda record: record.namespace):
        while group := list(islice(together, _RECORDS_PER_TRANSACTION)):
            yield namespace, group


def placed_objects(source: TextIO) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The objects of an export, of any other JSON Lines file or of a JSON array, each with its place."""
    is_first = True
    for number in count(1):
        try:
            line = source.readline(_MAX_LINE + 1)
        except UnicodeDecodeError as error:
            raise ImportFailed(f"Line {number} is not UTF-8.") from error
        if not line:
            return
        if is_first and line.lstrip("\ufeff \t\r\n").startswith("["):
            yield from _objects_of_array(line, source)
            return
        if len(line) > _MAX_LINE:
            raise ImportFailed(f"Line {number} is longer than {_MAX_LINE:,} characters.")
        if not line.strip():
            continue
        remedy = _WHAT_IS_READ if is_first else None
        try:
            value = json.loads(line.removeprefix("\ufeff"))
        except (ValueError, RecursionError) as error:
            # Python counts the lines of this line, which would name a second number.
            where = f": {error.msg} at character {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
            raise ImportFailed(f"Line {number} is not JSON{where}.", remedy=remedy) from error
        if not isinstance(value, dict):
            raise ImportFailed(f"Line {number} is not a JSON object.", remedy=remedy)
        is_first = False
        record = cast("dict[str, Any]", value)
        if "perdure_export" not in record:
            yield f"Line {number}", record
        elif record["perdure_export"] != FORMAT:
            raise ImportFailed(
                f"The file has export format {shown(record['perdure_export'])}; this Perdure reads {FORMAT}.",
                remedy="Upgrade Perdure, or export again with this version.",
            )


def _objects_of_array(beginning: str, source: TextIO) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """An array has to be read whole, so there is an end to how long it may be."""
    try:
        text = beginning.removeprefix("\ufeff") + source.read(_MAX_ARRAY)
        if len(text) > _MAX_ARRAY:
            raise ImportFailed(f"The array has more than {_MAX_ARRAY:,} characters.", remedy=_WHAT_IS_READ)
        values = cast("list[object]", json.loads(text))
    except (ValueError, RecursionError) as error:
        raise ImportFailed(f"The file is not JSON: {error}.", remedy=_WHAT_IS_READ) from error
    for position, value in enumerate(values, 1):
        if not isinstance(value, dict):
            raise ImportFailed(f"Record {position} is not a JSON object.")
        yield f"Record {position}", cast("dict[str, Any]", value)


def _check(
    services: Services, items: Iterable[tuple[str, object]], namespace: str | None, *, trusted: bool
) -> Iterator[ImportRecord]:
    """Of items and the places where they stand. Without a namespace every record says its own."""
    for place, item in items:
        try:
            if not isinstance(item, Mapping):
                raise ImportFailed(f"{shown(item)} is not a mapping.")
            record = cast("Mapping[str, Any]", item)
            unknown = next((name for name in record if name not in RECORD_FIELDS), None)
            if unknown is not None:
                raise unknown_field(unknown, has_text="text" in record)
            given = {name: value for name, value in record.items() if value is not None}
            if namespace is None and "namespace" not in given:
                raise ImportFailed("It does not say its namespace.")
            own = check_namespace(given["namespace"]) if namespace is None else namespace
            content = {name: given[name] for name in Fields.__annotations__ if name in given}
            more: Sequence[object] = ()
            if isinstance(evidence := content.get("evidence"), list | tuple):
                evidence = cast("Sequence[object]", evidence)
                content["evidence"], more = evidence[:MAX_ITEMS], evidence[MAX_ITEMS:]
            fields, notes = check_write(services, given.get("text"), content)
            stated_at = parse_time(given["updated_at"], "updated_at") if "updated_at" in given else None
            use = None
            if trusted:
                kept: dict[str, Any] = {}
                for name in (name for name in (*_HISTORY, *_USE) if name in given):
                    is_time = name.endswith("_at")
                    kept[name] = parse_time(given[name], name) if is_time else check_int(given[name], name, 0, 2**62)
                counted = [kept.pop(name, 0 if name.endswith("_count") else None) for name in _USE]
                use = Use("", 0, *counted) if any(counted) else None
                # Only Perdure itself writes so much evidence, and what a memory replaced or was merged from.
                kept |= {name: check_ids(given[name], name) for name in _LINKS if given.get(name)}
                for part in (more[start : start + MAX_ITEMS] for start in range(0, len(more), MAX_ITEMS)):
                    further, _ = check_write(services, None, {"evidence": part}, partial=True)
                    fields["evidence"] += further["evidence"]
                fields |= cast("RecordFields", kept)
            else:
                fields |= cast("RecordFields", claims_of_strangers(fields))
                fields |= {"source": _IMPORTED, "trust": "low"}
                if not services.context.is_person:
                    # What a model imports would stand under somebody else's session.
                    fields.pop("session_id", None)
            if trusted and not services.context.is_person:
                # A file that a model calls trusted says nothing of itself that a model may not say.
                fields["source"] = _IMPORTED if is_manual(fields.get("source", BY_HAND)) else fields["source"]
                fields["trust"] = max(fields.get("trust", "normal"), "normal", key=TRUSTS.index)
            fields |= {"content_hash": content_hash(fields["text"])}
            id, state = _id_of(record), given.get("state", "active")
            kept_states = ("active", *_REPLACED) if trusted and id else ("active",)
            kept_state = state if state in kept_states else None
            yield ImportRecord(own, fields, stated_at, kept_state, bool(notes), use, id)
        except PerdureError as error:
            advice = error.advice if isinstance(error, ImportFailed) else None
            raise ImportFailed(f"{place}: {error.sentence}", remedy=advice) from error


def unknown_field(name: str, *, has_text: bool) -> ImportFailed:
    """Of a record without `text` it may be the field that holds the words."""
    hint = "" if has_text else "its words go under `text`, and "
    said = f"A memory has no field {shown(name)}; {hint}what is your own goes under `metadata`."
    named = f"--text-field {shlex.quote(str(name))}"
    remedy = Remedy(_CORRECT, cli=f"{_CORRECT} Or say which field holds the text, such as {named}.")
    return ImportFailed(said, remedy=None if has_text else remedy)


def claims_of_strangers(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Pure: what a record that nobody vouches for says about itself, as far as it is believed: it is no more important
    or sure than any other, and says of no project that it comes from there.
    """
    capped = {name: min(fields[name], _MOST_CLAIMED) for name in ("importance", "confidence") if name in fields}
    own = {name: value for name, value in fields.get("metadata", {}).items() if name != TOLD_IN}
    return {**capped, **({"metadata": own} if "metadata" in fields else {})}


def _id_of(record: Mapping[str, Any]) -> MemoryId | None:
    return name if is_id(name := record.get("id")) else None


def check_ids(value: object, field: str) -> tuple[MemoryId, ...]:
    names = cast("Sequence[object]", value) if isinstance(value, list | tuple) else (None,)
    ids = tuple(name for name in names if is_id(name))
    if len(ids) != len(names):
        raise ImportFailed(f"{field} is not a list of ids.")
    return ids


def stored_ids(services: Services, named: Iterable[ImportRecord]) -> Mapping[str, ImportedIds]:
    """By namespace, for the records that others of the file name: the memories they are here already, else ids for them
    to take.
    """
    identities: dict[str, dict[str, Identity]] = {}
    for record in named:
        if record.state == "active" and record.id:
            identities.setdefault(record.namespace, {})[record.id] = identity_of_fields(record.fields)
    ids: dict[str, ImportedIds] = {}
    for namespace, named_there in identities.items():
        with services.store.read(namespace) as reader:
            found = {identity: lookup(reader, identity) for identity in dict.fromkeys(named_there.values())}
        taken = {identity: memory.id for identity, memory in found.items() if memory and memory.state != "evicted"}
        reserved = {identity: new_id() for identity in found if identity not in taken}
        here = taken | reserved
        stored = {name: here[identity] for name, identity in named_there.items()}
        ids[namespace] = ImportedIds(stored, set(reserved.values()))
    return ids


def _import_group(
    services: Services,
    namespace: str,
    group: list[ImportRecord],
    batch: WriteBatch,
    ids: ImportedIds,
    evicted: list[Record],
    *,
    trusted: bool,
    revive: bool,
) -> Counter[str]:
    """Import some records in one transaction: how many of which decision. `evicted` takes what had to go."""
    kept = [record for record in group if record.state]
    counts = Counter(inactive=len(group) - len(kept), redacted=sum(record.redacted for record in kept))
    # A file that is not a person's own may only propose a constitutional memory.
    authoritative = trusted and services.context.is_person
    linked = [ids.translated(record.fields) for record in kept]
    allowed = [fields if authoritative else demote_to_proposal(keep_proposal(fields, None)[0]) for fields in linked]
    plans = [plan_write(None, namespace, fields, batch.at) for fields in allowed]
    prepared = [PreparedWrite(entry_of(plan.record, services.tokens.count)) for plan in plans]
    last: Record | None = None
    uses: list[Use] = []
    given: set[MemoryId] = set()
    identities = [identity_of_fields(fields) for fields in allowed]
    with services.store.write(namespace, list(map(About, identities))) as writer:
        for record, fields, plan, write, identity in zip(kept, allowed, plans, prepared, identities, strict=True):
            if record.id and record.state and record.state != "active":
                # The record is superseded, so it must not claim its key.
                replaced = replace(plan, record=replace_record(plan.record, id=record.id, state=record.state, key=None))
                known_at = record.stated_at
                counts[import_replaced(services, writer, replaced, write, batch, known_at, revive=revive)] += 1
                continue
            existing = lookup(writer, identity)
            # A time that has not come yet says nothing about when the record was stated.
            stated_at = record.stated_at if record.stated_at and record.stated_at <= batch.at else None
            decision = decide(writer, existing, identity, stated_at, authoritative=authoritative, revive=revive)
            counts[decision] += 1
            if decision == "updated":
                content = {name: value for name, value in fields.items() if name not in _HISTORY}
                if existing and existing.state == "active" and not authoritative:
                    for name in lowered(content, existing):
                        del content[name]
                replanned = plan_write(existing, namespace, cast("RecordFields", content), batch.at)
                last = apply_plan(services, writer, replanned, batch, room=False).record
            elif decision == "inserted":
                displacing = replace(plan, displaced=existing) if existing else plan
                own = ids.stored.get(record.id) if record.id else None
                if own and own in ids.reserved and own not in given:
                    given.add(own)
                    displacing = replace(displacing, record=replace_record(plan.record, id=own))
                last = apply_plan(services, writer, displacing, batch, write, room=False).record
                if record.use:
                    uses.append(record.use._replace(namespace=namespace, number=last.number))
        room = make_room(services, writer, batch, [last]) if last else ()
    # Not before the transaction was kept: it may have to be done again.
    evicted += room
    ids.reserved.difference_update(given)
    if uses:
        # Counts of use may be lost with a process; those that an import brings are told once.
        services.store.note_use(uses)
        services.store.flush_use(patience=services.settings.busy_seconds)
    return counts


def import_replaced(
    services: Services,
    writer: Writer,
    plan: Plan,
    prepared: PreparedWrite,
    batch: WriteBatch,
    stated_at: datetime | None,
    *,
    revive: bool,
) -> Decision:
    """Store what another memory took the place of, under the id by which that one names it: it is known by it."""
    decision = decide_replaced(writer, plan.record.id, identity_of(plan.record), stated_at, revive=revive)
    if decision == "inserted":
        apply_plan(services, writer, plan, batch, prepared, room=False)
    return decision


def decide_replaced(
    reader: Reader, id: MemoryId, identity: Identity, stated_at: datetime | None, *, revive: bool
) -> Decision:
    if reader.find(Reference(id, id=id)):
        return "present"
    blocked = not revive and is_blocked(reader.tombstone_since(identity), stated_at)
    return "skipped_deleted" if blocked else "inserted"


def decide(
    reader: Reader,
    existing: Record | None,
    identity: Identity,
    stated_at: datetime | None,
    *,
    authoritative: bool,
    revive: bool,
) -> Decision:
    """A file never undoes what happened here since it was written: the newer statement stays, and what was forgotten
    stays forgotten unless `revive` is given. Memories that expired or were evicted may come back.
    """
    active = existing if existing and existing.state == "active" else None
    if active and active.content_hash == identity.content_hash:
        return "present"
    if active and active.tier == ONLY_PEOPLE and not authoritative:
        return "refused"
    if not revive:
        # What was forgotten under a key keeps out whatever else older evidence says under it.
        forgotten = existing and existing.state not in {"active", "expired", "evicted"}
        said = [identity, *([identity_of(existing)] if existing and forgotten else [])]
        if any(is_blocked(reader.tombstone_since(each), stated_at) for each in said):
            return "skipped_deleted"
    if active and stated_at is not None and stated_at <= active.updated_at:
        return "present"
    return "updated" if existing and existing.state != "evicted" else "inserted"


def is_blocked(tombstone_since: datetime | None, stated_at: datetime | None) -> bool:
    """Pure: whether a tombstone keeps a statement out; one without a time may be of any age."""
    return tombstone_since is not None and (stated_at is None or stated_at <= tombstone_since)

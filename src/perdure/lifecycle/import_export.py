"""Memories in and out, as JSON Lines: one record a line, readable by anything, importable again.

An import is checked whole before its first write, so that a bad line leaves nothing behind. Records of strangers get
`source: import` and low trust; a person's own export may be imported as `trusted`, which keeps what it says.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeAlias, TypeGuard, cast

from perdure.clock import format_time, parse_time
from perdure.errors import CapacityExceeded, ExportFailed, ImportFailed, PerdureError, shown
from perdure.jsonable import to_jsonable
from perdure.lifecycle.eviction import make_room
from perdure.lifecycle.redaction import redact_fields
from perdure.lifecycle.remember import Plan, Prepared, hashed, look_again, plan_for, write
from perdure.lifecycle.tier_policy import ONLY_PEOPLE, only_proposed
from perdure.lifecycle.tombstone import keeps_out
from perdure.lifecycle.write_context import WriteBatch
from perdure.model import Exported, Filter, Imported, Record, State
from perdure.store.port import Store, Writer
from perdure.text.entry import entry_of
from perdure.validation import Fields, RecordFields, check_fields, check_int, check_text

if TYPE_CHECKING:
    from perdure.services import Services

Progress: TypeAlias = Callable[[int, int | None], None]

FORMAT: Final = 1
_PAGE: Final = 500
_AT_ONCE: Final = 128
_LONGEST_LINE: Final = 1 << 23
_CONTENT: Final = ("text", *Fields.__annotations__)
# What an export carries besides; only a trusted import takes it over.
_STANDING: Final = ("observation_count", "validation_count", "created_at", "updated_at")
_IGNORED: Final = (
    "id", "number", "namespace", "content_hash", "version", "seq",
    "recall_count", "recalled_at", "access_count", "accessed_at",
)  # fmt: skip


# What becomes of a record; each has one fate.
_FATES: Final = ("inserted", "updated", "present", "buried", "refused", "inactive")


@dataclass(frozen=True, slots=True)
class Incoming:
    """One checked record of an import: what it says, and when it was last said, if it tells."""

    clean: RecordFields
    said_at: datetime | None
    active: bool
    redacted: bool
    trusted: bool


def export(
    store: Store, namespace: str, target: TextIO, states: tuple[State, ...], now: datetime, progress: Progress | None
) -> Exported:
    header = {"perdure_export": FORMAT, "namespace": namespace, "exported_at": format_time(now)}
    try:
        target.write(json.dumps(header, ensure_ascii=False) + "\n")
    except TypeError as error:
        raise ExportFailed("The file is open for bytes.", remedy="Open it for text, with encoding='utf-8'.") from error
    wanted = Filter(states=states)
    total = len(store.matching(namespace, wanted)) if progress else None
    written, after = 0, None
    while page := store.page(namespace, wanted, after=after, limit=_PAGE, newest=False):
        target.writelines(json.dumps(to_jsonable(record), ensure_ascii=False) + "\n" for record in page)
        written, after = written + len(page), page[-1].number
        if progress:
            progress(written, total)
    return Exported(written, tuple(store.damaged(namespace)))


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Generator[TextIO]:
    """A file that takes the place of `path` when all of it is on disk; on any failure `path` stays as it was."""
    try:
        target = Path(path)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=target.parent, prefix=f".{target.name}.", delete=False
        ) as stream:
            try:
                yield cast("TextIO", stream)
                stream.flush()
                os.fsync(stream.fileno())
                Path(stream.name).replace(target)
            except BaseException:
                Path(stream.name).unlink()
                raise
        _sync_directory(target.parent)
    except (OSError, ValueError, TypeError) as error:
        raise ExportFailed(f"{shown(path)} cannot be written: {error}.") from error


def _sync_directory(directory: Path) -> None:
    """The new name is on disk only when its directory is."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def rereadable(source: str | os.PathLike[str] | TextIO) -> Generator[TextIO]:
    """The source as a file that can be read twice: once to check everything, once to store it."""
    try:
        named = isinstance(source, str | os.PathLike)
        # Only the opening may fail as a bad path.
        stream = Path(source).open(encoding="utf-8-sig") if named else _spooled(source)  # noqa: SIM115
    except (OSError, ValueError, TypeError) as error:
        raise ImportFailed(
            f"{shown(source)} cannot be read as text: {error}.", remedy="Check the path, and that it is UTF-8."
        ) from error
    with stream:
        yield stream


def _spooled(source: TextIO) -> TextIO:
    spool = tempfile.SpooledTemporaryFile(1 << 24, "w+", encoding="utf-8")  # noqa: SIM115 - the caller closes it
    try:
        shutil.copyfileobj(source, spool)
    except BaseException:
        spool.close()
        raise
    spool.seek(0)
    return cast("TextIO", spool)


def lines_of(source: TextIO) -> Iterator[Mapping[str, Any]]:
    """The records of an export, or of any JSON Lines file with a `text` in each line."""
    for number in count(1):
        try:
            line = source.readline(_LONGEST_LINE + 1)
        except UnicodeDecodeError as error:
            raise ImportFailed(f"Line {number} is not UTF-8.") from error
        if not line:
            return
        if len(line) > _LONGEST_LINE:
            raise ImportFailed(f"Line {number} is longer than {_LONGEST_LINE:,} characters.")
        if line.strip() and (value := _object(line, number)) is not None:
            yield value


def _object(line: str, number: int) -> Mapping[str, Any] | None:
    """The record in a line; None for the line that an export begins with."""
    try:
        value = json.loads(line.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise ImportFailed(f"Line {number} is not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise ImportFailed(f"Line {number} is not a JSON object.")
    record = cast("dict[str, Any]", value)
    if "perdure_export" not in record:
        return record
    if record["perdure_export"] != FORMAT:
        raise ImportFailed(
            f"The file has export format {shown(record['perdure_export'])}; this Perdure reads {FORMAT}.",
            remedy="Upgrade Perdure, or export again with this version.",
        )
    return None


def incoming_of(
    items: Iterable[Mapping[str, Any]], categories: Collection[str], *, trusted: bool, redact: bool
) -> Iterator[Incoming]:
    for number, item in enumerate(items, 1):
        try:
            yield _incoming(item, categories, trusted=trusted, redact=redact)
        except PerdureError as error:
            raise ImportFailed(f"Record {number}: {error.sentence}") from error


def import_records(
    services: Services,
    namespace: str,
    records: Iterable[Incoming],
    total: int,
    *,
    revive: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """In short transactions, so that other processes write in between; vectors come from `work`."""
    batch = services.context.batch()
    counts: Counter[str] = Counter()
    waiting = iter(records)
    while group := list(islice(waiting, _AT_ONCE)):
        try:
            counts += _take_in_group(services, namespace, group, batch, revive=revive)
        except CapacityExceeded as error:
            raise _full(error, counts, batch) from error
        if progress:
            progress(sum(counts[name] for name in _FATES), total)
    return Imported(
        counts["inserted"],
        counts["updated"],
        counts["present"],
        batch.id if counts["inserted"] or counts["updated"] else None,
        _notes(counts),
        counts["buried"],
        counts["evicted"],
    )


def _take_in_group(
    services: Services, namespace: str, group: list[Incoming], batch: WriteBatch, *, revive: bool
) -> Counter[str]:
    counts: Counter[str] = Counter()
    active = [_credible(_proposing(services, one), batch.at) for one in group if one.active]
    plans = [plan_for(None, namespace, one.clean, batch.at) for one in active]
    prepared = [_prepared(services, plan) for plan in plans]
    last: int | None = None
    with services.store.write(namespace) as writer:
        for one, plan, ready in zip(active, plans, prepared, strict=True):
            existing = look_again(writer, one.clean)
            fate = _fate(services, writer, existing, one, revive=revive)
            counts[fate] += 1
            if fate == "inserted":
                last = write(services, writer, plan, ready, batch, room=False).record.number
            elif fate == "updated":
                fields = {name: value for name, value in one.clean.items() if name not in _STANDING}
                renewed = plan_for(existing, namespace, fields, batch.at)
                last = write(services, writer, renewed, _prepared(services, renewed), batch, room=False).record.number
        if last is not None:
            counts["evicted"] = len(make_room(services, writer, batch, {last}))
    counts["inactive"] = len(group) - len(active)
    counts["redacted"] = sum(one.redacted for one in active)
    return counts


def _proposing(services: Services, incoming: Incoming) -> Incoming:
    """What a model or a stranger's file calls constitutional is a proposal."""
    if _is_a_person_s(services, incoming):
        return incoming
    return replace(incoming, clean=only_proposed(incoming.clean))


def _credible(incoming: Incoming, now: datetime) -> Incoming:
    """A time that has not come yet says nothing about when it was said."""
    return replace(incoming, said_at=None) if incoming.said_at and incoming.said_at > now else incoming


def _is_a_person_s(services: Services, incoming: Incoming) -> bool:
    return services.context.is_person and incoming.trusted


def _fate(services: Services, writer: Writer, existing: Record | None, incoming: Incoming, *, revive: bool) -> str:
    """A file never undoes what happened here since it was written: the newer statement stays, and what was forgotten
    stays forgotten unless somebody says `revive`.
    """
    alive = existing if existing and existing.state == "active" else None
    text = incoming.clean["content_hash"]
    if alive and alive.content_hash == text:
        return "present"
    if alive and alive.tier == ONLY_PEOPLE and not _is_a_person_s(services, incoming):
        return "refused"
    if not revive and (_rests(writer, existing, incoming) or keeps_out(writer.tombstone_since(text), incoming.said_at)):
        return "buried"
    if alive and incoming.said_at is not None and incoming.said_at <= alive.updated_at:
        return "present"
    return "updated" if existing else "inserted"


def _rests(writer: Writer, existing: Record | None, incoming: Incoming) -> bool:
    """Whether somebody ended the memory of this key after the incoming was said. What expired or was evicted may come
    back.
    """
    if existing is None or existing.state in {"active", "expired", "evicted"}:
        return False
    return keeps_out(writer.changed_at(existing.number), incoming.said_at)


def _prepared(services: Services, plan: Plan) -> Prepared:
    return Prepared(entry_of(plan.record, services.tokens.count), None, pending=True)


def _full(error: CapacityExceeded, counts: Counter[str], batch: WriteBatch) -> CapacityExceeded:
    done = counts["inserted"] + counts["updated"]
    if not done:
        return error
    return CapacityExceeded(
        f"{error.sentence} {done:,} memories of the file are stored.",
        remedy=f"Raise the limit and import again, or take them back: perdure undo {batch.id}",
    )


def _notes(counts: Counter[str]) -> tuple[str, ...]:
    notes: list[str] = []
    if counts["inactive"]:
        notes.append(f"Left out, because they were not active where they come from: {counts['inactive']}.")
    if counts["refused"]:
        notes.append(
            "Left out, because a constitutional memory is changed by a person, or by a trusted import: "
            f"{counts['refused']}."
        )
    if counts["buried"]:
        notes.append(
            f"Left out, because they were forgotten or corrected here since: {counts['buried']}. "
            "To bring them back all the same: revive (--revive)."
        )
    if counts["redacted"]:
        notes.append(f"Secrets were redacted before storing: {counts['redacted']}.")
    return tuple(notes)


def _incoming(item: object, categories: Collection[str], *, trusted: bool, redact: bool) -> Incoming:
    if not isinstance(item, Mapping):
        raise ImportFailed(f"{shown(item)} is not a mapping.")
    given = cast("Mapping[object, Any]", item)
    unknown = [name for name in given if name not in {*_CONTENT, *_STANDING, *_IGNORED, "state"}]
    if unknown:
        raise ImportFailed(f"A memory has no field {shown(unknown[0])}.")
    fields = {name: given[name] for name in Fields.__annotations__ if given.get(name) is not None}
    clean = {"text": check_text(given.get("text"))} | check_fields(fields, categories)
    said_at = parse_time(given["updated_at"], "updated_at") if given.get("updated_at") is not None else None
    clean |= _standing(given) if trusted else {"source": "import", "trust": "low"}
    kept = redact_fields(clean) if redact else (clean, ())
    return Incoming(hashed(kept[0]), said_at, given.get("state", "active") == "active", bool(kept[1]), trusted)


def _standing(given: Mapping[object, Any]) -> RecordFields:
    found = {name: given[name] for name in _STANDING if given.get(name) is not None}
    return {
        name: parse_time(value, name) if name.endswith("_at") else check_int(value, name, 0, 2**62)
        for name, value in found.items()
    }


def export_to(
    services: Services,
    namespace: str,
    target: str | os.PathLike[str] | TextIO,
    states: tuple[State, ...],
    progress: Progress | None,
) -> Exported:
    """Export to a path, which is replaced whole, or to an open text file."""
    with ExitStack() as stack:
        named = isinstance(target, str | os.PathLike)
        if not named and not hasattr(target, "write"):
            raise ExportFailed(f"{shown(target)} cannot be written to.", remedy="Give a path or an open text file.")
        stream = stack.enter_context(replacing(target)) if named else target
        return export(services.store, namespace, stream, states, services.context.clock(), progress)


def import_from(
    services: Services,
    namespace: str,
    source: str | os.PathLike[str] | TextIO | Iterable[Mapping[str, Any]],
    *,
    trusted: bool,
    revive: bool,
    progress: Progress | None,
) -> Imported:
    """Import a path, an open text file or mappings: everything is checked before the first record is stored."""

    def check(items: Iterable[Mapping[str, Any]]) -> Iterator[Incoming]:
        settings = services.settings
        return incoming_of(items, settings.categories, trusted=trusted, redact=settings.redact)

    with ExitStack() as stack:
        if isinstance(source, str | os.PathLike) or _is_stream(source):
            lines = stack.enter_context(rereadable(source))
            total = sum(1 for _ in check(lines_of(lines)))
            lines.seek(0)
            checked = check(lines_of(lines))
        else:
            checked = list(check(_mappings(source)))
            total = len(checked)
        return import_records(services, namespace, checked, total, revive=revive, progress=progress)


def _mappings(source: object) -> Iterable[Mapping[str, Any]]:
    if not isinstance(source, Iterable):
        raise ImportFailed(f"{shown(source)} holds no records.", remedy="Give a path, a file or mappings.")
    return cast("Iterable[Mapping[str, Any]]", source)


def _is_stream(source: object) -> TypeGuard[TextIO]:
    return hasattr(source, "readline")

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
from contextlib import contextmanager
from datetime import datetime
from itertools import count, islice
from pathlib import Path
from typing import Any, Final, TextIO, TypeAlias, cast

from perdure.clock import format_time, parse_time
from perdure.draft import Clean, Fields, check_fields, check_text
from perdure.errors import ExportFailed, ImportFailed, PerdureError
from perdure.lifecycle.author import Author
from perdure.lifecycle.redaction import redact_fields
from perdure.lifecycle.remember import Prepared, draft_record, settle
from perdure.model import Filter, Imported, State
from perdure.plain import plain
from perdure.store.port import Store
from perdure.text.entry import entry_of

Progress: TypeAlias = Callable[[int, int | None], None]

FORMAT: Final = 1
_PAGE: Final = 500
_AT_ONCE: Final = 64
_LONGEST_LINE: Final = 1 << 23
_CONTENT: Final = ("text", *Fields.__annotations__)
# What an export carries besides; only a trusted import takes it over.
_STANDING: Final = ("observation_count", "validation_count", "created_at", "updated_at")
_IGNORED: Final = (
    "id", "number", "namespace", "content_hash", "version", "seq", "state",
    "recall_count", "recalled_at", "access_count", "accessed_at",
)  # fmt: skip


def export(
    store: Store, namespace: str, target: TextIO, states: tuple[State, ...], now: datetime, progress: Progress | None
) -> int:
    header = {"perdure_export": FORMAT, "namespace": namespace, "exported_at": format_time(now)}
    target.write(json.dumps(header, ensure_ascii=False) + "\n")
    wanted = Filter(states=states)
    total = len(store.matching(namespace, wanted)) if progress else None
    written, after = 0, None
    while page := store.page(namespace, wanted, after=after, limit=_PAGE, newest=False):
        target.writelines(json.dumps(plain(record), ensure_ascii=False) + "\n" for record in page)
        written, after = written + len(page), page[-1].number
        if progress:
            progress(written, total)
    return written


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Generator[TextIO]:
    """A file that takes the place of `path` when all of it is on disk; on any failure `path` stays as it was."""
    target = Path(path)
    try:
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
    except OSError as error:
        raise ExportFailed(f"{target} cannot be written: {error.strerror}.") from error


@contextmanager
def rereadable(source: str | os.PathLike[str] | TextIO) -> Generator[TextIO]:
    """The source as a file that can be read twice: once to check everything, once to store it."""
    if not isinstance(source, str | os.PathLike):
        with tempfile.SpooledTemporaryFile(1 << 24, "w+", encoding="utf-8", errors="surrogatepass") as spool:
            shutil.copyfileobj(source, spool)
            spool.seek(0)
            yield cast("TextIO", spool)
        return
    try:
        stream = Path(source).open(encoding="utf-8")  # noqa: SIM115 - only the opening may fail as a bad path
    except OSError as error:
        raise ImportFailed(f"{source!s} cannot be read: {error.strerror}.", remedy="Check the path.") from error
    with stream:
        yield stream


def lines_of(source: TextIO) -> Iterator[Mapping[str, Any]]:
    """The records of an export, or of any JSON Lines file with a `text` in each line."""
    for number in count(1):
        try:
            line = source.readline(_LONGEST_LINE + 1)
        except UnicodeDecodeError as error:
            raise ImportFailed(f"Line {number} is not UTF-8.") from error
        if not line:
            return
        if not line.strip():
            continue
        if len(line) > _LONGEST_LINE:
            raise ImportFailed(f"Line {number} is longer than {_LONGEST_LINE:,} characters.")
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ImportFailed(f"Line {number} is not JSON: {error}.") from error
        if not isinstance(value, dict):
            raise ImportFailed(f"Line {number} is not a JSON object.")
        if "perdure_export" in value:
            if value["perdure_export"] != FORMAT:
                raise ImportFailed(
                    f"The file has export format {value['perdure_export']!r}; this Perdure reads {FORMAT}.",
                    remedy="Upgrade Perdure, or export again with this version.",
                )
            continue
        yield value


def drafts_of(
    items: Iterable[Mapping[str, Any]], categories: Collection[str], *, trusted: bool, redact: bool
) -> Iterator[Clean]:
    for number, item in enumerate(items, 1):
        try:
            clean = _draft(item, categories, trusted=trusted)
        except ImportFailed:
            raise
        except PerdureError as error:
            raise ImportFailed(f"Record {number}: {error.sentence}") from error
        yield redact_fields(clean)[0] if redact else clean


def import_drafts(
    store: Store, author: Author, namespace: str, drafts: Iterable[Clean], total: int, progress: Progress | None
) -> Imported:
    """In short transactions, so that other processes write in between; vectors come from `work`."""
    batch = author.batch()
    counts: Counter[str] = Counter()
    waiting = iter(drafts)
    while group := [draft_record(namespace, clean, batch.at) for clean in islice(waiting, _AT_ONCE)]:
        prepared = [Prepared(entry_of(draft), None) for draft in group]
        with store.write(namespace) as writer:
            for draft, ready in zip(group, prepared, strict=True):
                existing = writer.by_key(draft.key) if draft.key else writer.by_content(draft.content_hash)
                present = existing and (existing.content_hash == draft.content_hash or existing.state != "active")
                counts["present" if present else settle(writer, draft, ready, batch)[1]] += 1
        if progress:
            progress(counts.total(), total)
    return Imported(counts["inserted"], counts["updated"], counts["present"], batch.id)


def _draft(item: Mapping[str, Any], categories: Collection[str], *, trusted: bool) -> Clean:
    unknown = set(item) - {*_CONTENT, *_STANDING, *_IGNORED}
    if unknown:
        raise ImportFailed(f"A memory has no field {min(unknown)[:60]!r}.")
    given = {name: item[name] for name in Fields.__annotations__ if item.get(name) is not None}
    clean = {"text": check_text(item.get("text"))} | check_fields(given, categories)
    if not trusted:
        return clean | {"source": "import", "trust": "low"}
    for name in _STANDING:
        value = item.get(name)
        if value is not None:
            clean[name] = parse_time(value, name) if name.endswith("_at") else _count(value, name)
    return clean


def _count(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise ImportFailed(f"{name} is not a count: {value!r:.40}.")
    return value

"""What an importer reads: chats, memories, and what it left out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

from perdure.bank.importers.json_items import json_items
from perdure.bank.sections import Unread
from perdure.bank.takeover import moment as time_of_others
from perdure.errors import PerdureError
from perdure.model import Json
from perdure.validation import MAX_METADATA_BYTES, check_metadata

if TYPE_CHECKING:
    from perdure.bank.importers.archive import Archive

# An entry of metadata with those whose names no entry can have.
_RENAMED: Final = "foreign_metadata"
_NOT_IN_A_KEY: Final = re.compile(r"[^\w]+")


@dataclass(frozen=True, slots=True)
class Chat:
    """A conversation; `messages` are what `Memory.import_messages` takes, without its `conversation_id`."""

    id: str
    messages: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A memory to be. Without a key it is known by its words. `fields` are those of a record."""

    text: str
    key: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])


class LeftOut(NamedTuple):
    """Parts of records that nobody said and that are no memories, such as calls of tools; they are only counted."""

    what: str
    parts: int = 1


UNFIT_METADATA: Final = "entries of metadata that no memory can hold"
Item: TypeAlias = Chat | NewMemory | Unread | LeftOut


@dataclass(frozen=True, slots=True)
class Importer:
    """One product. `recognises` looks at names and at the beginning of a file; `read` may be called more than once."""

    kind: str
    recognises: Callable[[Archive], bool]
    read: Callable[[Archive], Iterator[Item]]


def read_objects(
    archive: Archive, name: str, noun: str, read: Callable[[Mapping[str, Any], str], Iterator[Item]]
) -> Iterator[Item]:
    """What `read` makes of each object of a document; `noun` is what such an object is called where one is left out."""
    with archive.open(name) as stream:
        for item in json_items(stream, name):
            what = f"{name}, {noun} {item.position}"
            if item.value is None:
                yield Unread(what, item.reason)
            else:
                yield from read(item.value, what)


def moment(value: object) -> str | None:
    """A time as other products write it: seconds or milliseconds since 1970, or ISO 8601, which without a zone is UTC.
    None for what is no time, and for 0, which some write for an unknown one.
    """
    if (
        not isinstance(value, int | float | str)
        or isinstance(value, bool)
        or (not isinstance(value, str) and value <= 0)
    ):
        return None
    try:
        return time_of_others(value).isoformat()
    except (ValueError, OverflowError, OSError):
        return None


def mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def listed(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def text_in(value: object) -> str:
    """A text without what no memory may hold: NUL, and halves of surrogate pairs."""
    return value.replace("\0", "").encode("utf-8", "replace").decode().strip() if isinstance(value, str) else ""


def fitting(metadata: Mapping[str, Any]) -> tuple[dict[str, Json], int]:
    """As much of others' metadata as a memory can hold, and how many entries it cannot. What has a name that no entry
    of ours can have, such as `Header 1`, is kept together under a name of its own.
    """
    kept: dict[str, Json] = {}
    renamed: dict[str, Json] = {}
    room = MAX_METADATA_BYTES // 2
    for name, value in metadata.items():
        with suppress(PerdureError):
            held = check_metadata({_RENAMED: {name: value}}, "metadata")
            if (room := room - len(json.dumps(held, ensure_ascii=False).encode())) < 0:
                break
            try:
                kept |= check_metadata({name: value}, "metadata")
            except PerdureError:
                renamed[name] = value
    return {**kept, **({_RENAMED: renamed} if renamed else {})}, len(metadata) - len(kept) - len(renamed)


def slug(text: str) -> str:
    return _NOT_IN_A_KEY.sub("-", text.casefold()).strip("-")[:80] or "memory"

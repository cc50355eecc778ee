"""Checking what callers say: a value is good, or an error names the field, says what is wrong, and what to do."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import islice
from math import inf, isfinite
from typing import Any, Final, Literal, TypeAlias, TypedDict, TypeVar, cast

from perdure.clock import Clock, format_local, parse_time
from perdure.errors import BackupFailed, InvalidInput, NotAFile, TextTooLong, UnknownChoice, shown
from perdure.ids import MAX_NUMBER, ON_REQUEST, ContentHash, check_key
from perdure.model import (
    CATEGORIES,
    CONFIDENCE_LABELS,
    CONTEXT_TYPES,
    INDEXED_STATES,
    STATES,
    TIERS,
    TRUSTS,
    Filter,
    Json,
    State,
)
from perdure.text.patterns import pattern

MAX_TEXT_BYTES: Final = 1 << 20
# The most memories that one call may name.
MAX_REFERENCES: Final = 10_000
MAX_LINE: Final = 1024
MAX_KEYWORDS: Final = 10
MIN_CONCEPTS: Final = 2
MAX_CONCEPTS: Final = 5
MAX_ITEMS: Final = 64
MAX_METADATA_BYTES: Final = 1 << 16
MAX_METADATA_DEPTH: Final = 32
_MAX_STORED_INT: Final = 2**63 - 1
# The smallest number that is more than 0.
ABOVE_ZERO: Final = 5e-324

_KEY_TYPE = pattern(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_METADATA_KEY = pattern(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_NAMESPACE = pattern(r"[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]{0,199}")
# Also what a `Path` leaves of an address, with one slash, and one without any that holds a password, and one in the
# quotation marks that a file of variables may leave around it. A single letter is a drive of Windows.
_ADDRESS = pattern(
    r"\s*(['\"<`]*(?:(?:[a-z][a-z0-9+.-]+:)(?=(?:[a-z][a-z0-9+.-]+:)*/|[^/]*:[^/]*@)|file:))"
    r"|[^/]*\b(pass(?:word|wd)?|pwd)\s*=",
    re.IGNORECASE,
)
_CONTENT: Final = ("text", "title", "abstract", "summary", "reasoning")

T = TypeVar("T")
Scalar: TypeAlias = str | int | float | bool | None
Reference: TypeAlias = int | str
References: TypeAlias = Reference | Sequence[Reference]
StrPath: TypeAlias = str | os.PathLike[str]


class RecordFields(TypedDict, total=False):
    """Checked fields of a record, as they will be stored. What is not there stays as it is."""

    key: str | None
    content_hash: ContentHash
    text: str
    title: str | None
    abstract: str | None
    summary: str | None
    reasoning: str | None
    category: str | None
    context_type: str
    tags: tuple[str, ...]
    keywords: tuple[str, ...]
    references: tuple[str, ...]
    trigger_phrases: tuple[str, ...]
    metadata: Mapping[str, Json] | None
    source: str
    source_project: str | None
    conversation_id: str | None
    session_id: str | None
    channel: str | None
    spec_folder: str | None
    file_path: str | None
    anchor_id: str | None
    evidence: tuple[str, ...]
    supersedes: tuple[str, ...]
    merged_from: tuple[str, ...]
    trust: str
    tier: str
    importance: float
    confidence: float
    observation_count: int
    validation_count: int
    created_at: datetime
    updated_at: datetime
    valid_at: datetime | None
    invalid_at: datetime | None
    expires_at: datetime | None


class KeyedFields(TypedDict, total=False):
    """Everything a caller may say about a memory besides its text and its key."""

    title: str | None
    abstract: str | None
    summary: str | None
    reasoning: str | None
    category: str | None
    context_type: str
    tags: Iterable[str]
    keywords: Iterable[str]
    references: Iterable[str]
    trigger_phrases: Iterable[str]
    metadata: Mapping[str, Json] | None
    source: str
    source_project: str | None
    conversation_id: str | None
    session_id: str | None
    channel: str | None
    spec_folder: str | None
    file_path: str | None
    anchor_id: str | None
    evidence: Iterable[str]
    trust: str
    tier: str
    importance: float
    confidence: float | Literal["high", "medium", "low"]
    valid_at: datetime | str | None
    invalid_at: datetime | str | None
    expires_at: datetime | str | None


class Fields(KeyedFields, total=False):
    """Everything a caller may say about a memory besides its text."""

    key: str | None


class Filters(TypedDict, total=False):
    """What `recall` and `list` may be narrowed by. `tags`: all of them; `category`, `source`: any of them. `since`,
    `until` and `when` are times, in words if you like: `last week`, `in March`, `3d` (docs/time.md); a day that `until`
    names is included. `key_type` is what a key begins with: `person` of `person:alice`.

    `where` names entries of `metadata`, all of which must hold: `{"project": "x", "severity": [1, 2]}`. A value is a
    text, a number, True, False or None; of several any will do. An entry that is a list has each of its values. An
    entry that is not there has no value, not even None.
    """

    tags: str | Iterable[str]
    category: str | Iterable[str] | None
    source: str | Iterable[str] | None
    context_type: str | None
    tier: str | None
    source_project: str | None
    spec_folder: str | None
    conversation_id: str | None
    key_type: str | None
    where: Mapping[str, Scalar | Iterable[Scalar]] | None
    min_importance: float | None
    max_importance: float | None
    since: datetime | str | None
    until: datetime | str | None
    when: str | None
    states: State | Iterable[State]


def check_text(value: object, field: str = "text") -> str:
    """A memory's text: any Unicode but NUL and halves of surrogate pairs, not blank, at most 1 MiB."""
    text = _string(value, field)
    size = len(text) if text.isascii() else len(text.encode("utf-8"))
    if size > MAX_TEXT_BYTES:
        raise TextTooLong(f"{field} has {size:,} bytes; one memory may have {MAX_TEXT_BYTES:,}.")
    if not text.strip():
        raise InvalidInput(f"{field} is empty.", remedy="Say what should be remembered; nothing was changed.")
    return text


def check_fields(
    fields: Mapping[str, object], categories: Collection[str] = CATEGORIES, clock: Clock | None = None
) -> RecordFields:
    """The fields given, cleaned, by the names they have in a record. Times in words are reckoned by the `clock`."""
    clean: dict[str, Any] = {}
    for name, value in fields.items():
        if name in _TIMES:
            clean[name] = optional(partial(parse_time, now=clock, ahead=name == "expires_at"), value, name)
            continue
        check = _CHECKS.get(name)
        if check is None:
            raise UnknownChoice(
                f"A memory has no field {shown(name)}.",
                remedy=f"The fields are: {', '.join(sorted((*_CHECKS, *_TIMES)))}.",
            )
        clean[name] = check(value, name)
    if clean.get("category") is not None:
        _check_category(clean["category"], categories)
    return cast("RecordFields", clean)


def check_query(query: object) -> str:
    """Any text may be asked for, however odd; a value that is not a text is refused."""
    if not isinstance(query, str):
        raise InvalidInput(f"A query must be text, not {shown(query)}.", remedy="Ask in words.")
    return query


def check_concepts(concepts: object) -> tuple[str, ...]:
    """Two to five words or groups of words, each of which an answer must hold."""
    if isinstance(concepts, str) or not isinstance(concepts, Iterable):
        raise InvalidInput("concepts must be a list of texts.", remedy="Write concepts=['oauth', 'errors'].")
    given = list(islice(cast("Iterable[object]", concepts), MAX_ITEMS))
    texts = dict.fromkeys(concept.strip() for concept in given if isinstance(concept, str))
    if not all(isinstance(concept, str) for concept in given) or "" in texts:
        raise InvalidInput("Each concept must be a word or some words.", remedy="Write concepts=['oauth', 'errors'].")
    if not MIN_CONCEPTS <= len(texts) <= MAX_CONCEPTS:
        raise InvalidInput(
            f"{MIN_CONCEPTS} to {MAX_CONCEPTS} different concepts can be asked for, not {len(texts)}.",
            remedy="Ask for a single one as the query; of more, choose the most telling.",
        )
    return tuple(texts)


def check_references(refs: object, most: int) -> list[int | str]:
    """One reference, or several of them."""
    if isinstance(refs, int | str):
        return [refs]
    if not isinstance(refs, Iterable) or isinstance(refs, bytes | Mapping):
        raise InvalidInput("That is not a reference to a memory.", remedy="Name memories by number, id, hash or key.")
    references = list(islice(cast("Iterable[int | str]", refs), most + 1))
    if len(references) > most:
        raise InvalidInput(f"More than {most} memories at once are too many.", remedy=f"Ask for {most} at most.")
    return references


def check_path(path: object) -> str:
    if not path or not isinstance(path, str | os.PathLike):
        raise BackupFailed(f"{shown(path)} is not a path.")
    text = os.fsdecode(cast("str | os.PathLike[str]", path))
    refuse_address(text, "The path")
    return text


def refuse_address(path: object, name: str) -> None:
    """Refuse an address such as `postgresql://ann@db` where a path is meant, before a file of that name is made."""
    text = os.fspath(cast("os.PathLike[str]", path)) if isinstance(path, os.PathLike) else path
    if isinstance(text, str) and (found := _ADDRESS.match(text)):
        beginning = f"begins with {found[1].lower()}" if found[1] else f"says {found[2].lower()}="
        raise NotAFile(f"{name} is an address that {beginning}, and a file is needed.")


def number_in(value: object, least: float, most: float, *, whole: bool = False) -> float | None:
    """A number of this range, or None. True and False are no numbers here, and neither is NaN."""
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float) or not least <= value <= most:
        return None
    return value if whole else float(value)


def check_int(value: object, field: str, least: int, most: int) -> int:
    number = number_in(value, least, most, whole=True)
    if number is None:
        raise InvalidInput(f"{field} must be a whole number from {least:,} to {most:,}, not {shown(value)}.")
    return cast("int", number)


def check_version(value: object, field: str) -> int:
    """A version number; 0 means that no such memory exists."""
    return check_int(value, field, 0, 2**31)


def check_limit(value: object) -> int:
    """How many memories an answer may have. No namespace has more than there are numbers."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidInput(f"limit must be a whole number of 1 or more, not {shown(value)}.")
    return min(value, MAX_NUMBER)


def check_bool(value: object, field: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"{field} must be True or False, not {shown(value)}.")
    return value


def check_validity(valid_at: datetime | None, invalid_at: datetime | None) -> None:
    if valid_at and invalid_at and invalid_at <= valid_at:
        raise InvalidInput(
            "invalid_at is not after valid_at, so this would never have been true.",
            remedy="Correct one of the two; nothing was changed.",
        )


def check_namespace(name: object) -> str:
    text = _string(name, "namespace")
    if not _NAMESPACE.fullmatch(text):
        raise InvalidInput(
            f"{shown(text)} is not a namespace.",
            remedy="Use 1 to 200 characters, none of them a control character, the first not a space.",
        )
    return text


def check_namespaces(names: object) -> list[str]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidInput("namespaces must be a list of names.", remedy="Write namespaces=['…'].")
    return list(dict.fromkeys(check_namespace(name) for name in cast("Iterable[object]", names)))


def check_filters(
    filters: Mapping[str, Any],
    known_categories: Collection[str] = CATEGORIES,
    now: datetime | None = None,
    *,
    refusal: str | None = None,
) -> Filter:
    """Values that no memory can have are errors too: a misspelt filter must not look like an empty memory. `when` is a
    time in words, reckoned from `now`; together with `since` and `until` it leaves the time that all of them allow.
    What is shown only where it is asked for is hidden, unless `key_type` is given.
    A verb that sees only what recall sees gives a `refusal`, with which the error for other states begins.
    """
    if unknown := set(filters) - set(Filters.__annotations__):
        raise UnknownChoice(
            f"There is no filter {shown(min(unknown))}.",
            remedy=f"The filters are: {', '.join(sorted(Filters.__annotations__))}.",
        )
    given = {name: value for name, value in filters.items() if value is not None}
    if not given:
        return Filter(hidden=ON_REQUEST)
    states = _one_or_several(given.get("states", "active"), "states")
    for state in states:
        check_choice(STATES, state, "state")
    if refusal and not set(states) <= set(INDEXED_STATES):
        raise UnknownChoice(
            f"{refusal} that are {', '.join(states)}.",
            remedy=f"Ask for {' or '.join(INDEXED_STATES)} ones; `list` shows all.",
        )
    categories = _one_or_several(given.get("category", ()), "category")
    for category in categories:
        _check_category(category, known_categories)
    since, until = check_period(given.get("since"), given.get("until"), now)
    if "when" in given:
        from perdure.text.time_expressions import read_time_range

        words = _string(given["when"], "when")
        span = None if now is None else read_time_range(words, now)
        if span is None:
            raise InvalidInput(
                f"when is not a time that is understood: {shown(words)}.",
                remedy="Say it as 'last week', 'in March', 'since Monday', '24h' or '2026-03-14'.",
            )
        since = max((moment for moment in (since, span.since) if moment), default=None)
        until = min((moment for moment in (until, span.until) if moment), default=None)
    least, most = (optional(check_share, given.get(name), name) for name in ("min_importance", "max_importance"))
    if least is not None and most is not None and least > most:
        raise InvalidInput(f"min_importance {least} is more than max_importance {most}.", remedy="Exchange the two.")
    return Filter(
        tags=_one_or_several(given.get("tags", ()), "tags"),
        categories=categories,
        sources=_one_or_several(given.get("source", ()), "source"),
        context_type=optional(partial(check_choice, CONTEXT_TYPES), given.get("context_type"), "context_type"),
        tier=optional(partial(check_choice, TIERS), given.get("tier"), "tier"),
        source_project=optional(check_single_line, given.get("source_project"), "source_project"),
        spec_folder=optional(check_single_line, given.get("spec_folder"), "spec_folder"),
        conversation_id=optional(check_single_line, given.get("conversation_id"), "conversation_id"),
        key_type=optional(_check_key_type, given.get("key_type"), "key_type"),
        where=check_where(given.get("where", {})),
        hidden=() if "key_type" in given else ON_REQUEST,
        min_importance=least,
        max_importance=most,
        since=since,
        until=until,
        states=cast("tuple[State, ...]", states),
    )


def check_period(since: object, until: object, now: datetime | Clock | None) -> tuple[datetime | None, datetime | None]:
    """Two times, in words or in figures: from the beginning of the first to the end of the second."""
    first = optional(partial(parse_time, now=now), since, "since")
    end = optional(partial(parse_time, now=now, until=True), until, "until")
    # The end of 13 March is the beginning of 14 March: what lies between them is nothing, and no moment either.
    if first and end and end <= first and parse_time(cast("datetime | str", until), "until", now) < first:
        raise InvalidInput(
            f"since ({format_local(first)}) is after until ({format_local(end)}), so nothing can be between them.",
            remedy="Exchange the two, or correct one of them. Nothing was changed.",
        )
    return first, end


def changes_content(fields: Mapping[str, object]) -> bool:
    """Whether these fields make a new version, or only a new revision of the same one."""
    return any(name in fields for name in _CONTENT)


def _check_category(category: str, categories: Collection[str]) -> None:
    if category not in categories:
        raise UnknownChoice(
            f"There is no category {shown(category)}.",
            remedy=f"Use one of {', '.join(sorted(categories))}, or add yours to `categories` in the settings.",
        )


def _string(value: object, field: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{field} must be text, not {type(value).__name__}.")
    if "\x00" in value:
        raise InvalidInput(f"{field} holds a NUL character.", remedy="Remove it; nothing was changed.")
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InvalidInput(
                f"{field} is not UTF-8 text: position {error.start} holds half of a surrogate pair.",
                remedy="Give it as UTF-8 text; nothing was changed.",
            ) from error
    # An enumeration's member is a str that shows itself as something else; what is stored must be plain.
    return str.__str__(value)


def check_single_line(value: object, field: str) -> str:
    """A short text on one line, without the space around it."""
    text = _string(value, field).strip()
    if not text:
        raise InvalidInput(
            f"{field} is empty.", remedy="Give it a value, or leave it out where it is not needed; nothing was changed."
        )
    if len(text) > MAX_LINE:
        raise TextTooLong(f"{field} has {len(text):,} characters; it may have {MAX_LINE:,}.")
    return text


def check_choice(options: tuple[str, ...], value: object, field: str) -> str:
    text = _string(value, field)
    if text not in options:
        raise UnknownChoice(f"There is no {field} {shown(text)}.", remedy=f"Use one of {', '.join(options)}.")
    return text


def optional(check: Callable[[Any, str], T], value: object, field: str) -> T | None:
    """The checked value; None stays None."""
    return None if value is None else check(value, field)


def _one_or_several(value: object, field: str) -> tuple[str, ...]:
    return _lines(MAX_ITEMS, (value,) if isinstance(value, str) else value, field)


def _lines(most: int, value: object, field: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInput(f"{field} must be a list of texts.", remedy=f"Write {field}=['…']; nothing was changed.")
    lines: dict[str, None] = {}
    for item in cast("Iterable[object]", value):
        lines[check_single_line(item, field)] = None
        if len(lines) > most:
            raise InvalidInput(f"{field} has more than {most} items.", remedy="Keep the telling ones.")
    return tuple(lines)


def check_share(value: object, field: str) -> float:
    number = number_in(value, 0, 1)
    if number is None:
        raise InvalidInput(f"{field} must be a number from 0 to 1, not {shown(value)}.")
    return number


def check_where(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What entries of metadata must be, in the order of their names: each name with the values it may have, as JSON."""
    conditions: dict[str, tuple[str, ...]] = {}
    for name, wanted in _entries(value, "where").items():
        values: list[object] = [wanted]
        if isinstance(wanted, Iterable) and not isinstance(wanted, str | bytes | Mapping):
            values = list(islice(cast("Iterable[object]", wanted), MAX_ITEMS + 1))
        if not values or len(values) > MAX_ITEMS or len(conditions) == MAX_ITEMS:
            raise InvalidInput(
                f"where names 1 to {MAX_ITEMS} values of each of at most {MAX_ITEMS} entries.",
                remedy=f"Look at {shown(name)}; ask several times if you need more.",
            )
        allowed: dict[str, None] = {}
        for each in values:
            text = scalar_json(_string(each, f"where {name}") if isinstance(each, str) else each)
            if text is None:
                raise InvalidInput(
                    f"where {name} cannot be {shown(each)}.",
                    remedy="Compare with text, a finite number, True, False or None, or with a list of these.",
                )
            allowed[text] = None
        conditions[name] = tuple(allowed)
    return tuple(sorted(conditions.items()))


def scalar_json(value: object) -> str | None:
    """A value of metadata as JSON, the same for equal values: 1 and 1.0 are equal, 1 and True are not. None for what is
    no single value. A whole number of more than 64 bits is the nearest one that SQLite can hold.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        if isinstance(value, int) and abs(value) > _MAX_STORED_INT:
            value = float(value) if abs(value) < sys.float_info.max else inf
        if not isfinite(value):
            return None
        value = int(value) if value == int(value) and abs(value) <= _MAX_STORED_INT else value
    elif value is not None and not isinstance(value, str | bool):
        return None
    return json.dumps(value, ensure_ascii=False)


def _check_key_type(value: object, field: str) -> str:
    text = _string(value, field).removesuffix(":")
    if not _KEY_TYPE.fullmatch(text):
        raise InvalidInput(f"{shown(text)} is not the type of a key.", remedy="The type of person:alice is person.")
    return text


def check_confidence(value: object, field: str) -> float:
    """A number from 0 to 1, or the label of one."""
    number = CONFIDENCE_LABELS.get(value) if isinstance(value, str) else number_in(value, 0, 1)
    if number is None:
        labels = ", ".join(CONFIDENCE_LABELS)
        raise InvalidInput(f"{field} must be a number from 0 to 1, or one of {labels}; not {shown(value)}.")
    return number


def _entries(value: object, field: str) -> Mapping[str, object]:
    """Entries of metadata, or what is asked of them: names that metadata can have."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{field} must be a mapping of names to values.")
    entries = cast("Mapping[object, object]", value)
    for name in entries:
        if not isinstance(name, str) or not _METADATA_KEY.fullmatch(name):
            raise InvalidInput(
                f"{shown(name)} cannot be the name of a metadata entry.",
                remedy="Use letters, digits, '_', '.', '-', beginning with a letter or '_', 64 characters at most.",
            )
    return cast("Mapping[str, object]", entries)


def check_metadata(value: object, field: str) -> dict[str, Json]:
    entries = _entries(value, field)
    try:
        packed = json.dumps(dict(entries), allow_nan=False, ensure_ascii=False)
        copy: dict[str, Json] = json.loads(packed)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{field} cannot be written as JSON: {error}.") from error
    _string(packed, field)
    # Level by level, because what is too deep is too deep for recursion as well.
    level: list[Json] = [copy]
    for depth in range(MAX_METADATA_DEPTH + 2):
        if depth > MAX_METADATA_DEPTH:
            raise InvalidInput(f"{field} is nested more than {MAX_METADATA_DEPTH} deep.", remedy="Flatten it.")
        containers = [item for item in level if isinstance(item, dict | list)]
        level = [item for each in containers for item in (each.values() if isinstance(each, dict) else each)]
        if not level:
            break
    if "\\u0000" in packed:
        raise InvalidInput(f"{field} holds a NUL character.", remedy="Remove it; nothing was changed.")
    if len(packed.encode("utf-8")) > MAX_METADATA_BYTES:
        raise TextTooLong(f"{field} is larger than {MAX_METADATA_BYTES:,} bytes.")
    return copy


_CHECKS: Final[Mapping[str, Callable[[object, str], Any]]] = {
    "key": partial(optional, lambda value, field: check_key(_string(value, field).strip())),
    **{name: partial(optional, check_text) for name in ("abstract", "summary", "reasoning")},
    **{
        name: partial(optional, check_single_line)
        for name in (
            "title", "category", "source_project", "conversation_id", "session_id", "channel", "spec_folder",
            "file_path", "anchor_id",
        )
    },
    "source": check_single_line,
    "tags": partial(_lines, MAX_ITEMS),
    "keywords": partial(_lines, MAX_KEYWORDS),
    **{name: partial(_lines, MAX_ITEMS) for name in ("references", "trigger_phrases", "evidence")},
    "metadata": partial(optional, check_metadata),
    "context_type": partial(check_choice, CONTEXT_TYPES),
    "trust": partial(check_choice, TRUSTS),
    "tier": partial(check_choice, TIERS),
    "importance": check_share,
    "confidence": check_confidence,
}  # fmt: skip
_TIMES: Final = frozenset(("valid_at", "invalid_at", "expires_at"))

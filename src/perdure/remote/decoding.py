"""JSON back into the values of Perdure, as their own annotations say: what `jsonable` wrote, this reads.

A field that this version does not know is left out, and a field that an older server did not send has its default: so
the two ends may be of different versions. Whatever else does not fit is an error that names the place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import UTC, datetime
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, NewType, TypeAlias, TypeVar, Union, cast, get_args, get_origin

from perdure.model import FieldChange, Record
from perdure.remote.signatures import hints_of

T = TypeVar("T")
Decoder: TypeAlias = Callable[[Any], Any]


class Undecodable(ValueError):
    """What was read is not of the type that was expected; the text names the place."""


def decode(hint: type[T], value: object) -> T:
    """A value of the type. Raises `Undecodable` if the JSON does not fit the type."""
    return decoder_of(hint)(value)


@cache
def decoder_of(hint: Any) -> Decoder:  # noqa: PLR0911 - one for each kind of type
    """One is made for each type, once: an answer has thousands of fields."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda value: value
    if isinstance(hint, NewType):
        return decoder_of(hint.__supertype__)
    if hint is datetime:
        return _moment
    if origin is Literal:
        # A newer server may know more words than this version.
        return _of(str)
    if origin in {UnionType, Union}:
        return _any_of([decoder_of(each) for each in arguments if each is not NoneType], optional=NoneType in arguments)
    if origin in {tuple, list, Sequence}:
        return _several(tuple if origin is tuple else list, decoder_of(arguments[0]))
    if origin in {dict, Mapping}:
        return _by_name(decoder_of(arguments[1]))
    if hint is FieldChange:
        return _field_change
    return _object(hint) if is_dataclass(hint) else _of(hint)


def _of(kind: type) -> Decoder:
    def decode_plain(value: Any) -> Any:
        if kind is float and type(value) is int:
            return float(value)
        # True is an int to Python alone.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise Undecodable(f"is not a {kind.__name__}")
        return value

    return decode_plain


def _moment(value: Any) -> datetime:
    try:
        return datetime.fromisoformat(value).astimezone(UTC)
    except (TypeError, ValueError) as error:
        raise Undecodable("is not a time") from error


def _any_of(decoders: Sequence[Decoder], *, optional: bool) -> Decoder:
    def decode_any(value: Any) -> Any:
        if value is None and optional:
            return None
        for decoder in decoders[:-1]:
            try:
                return decoder(value)
            except Undecodable:
                continue
        return decoders[-1](value)

    return decode_any


def _several(kind: type[list[Any] | tuple[Any, ...]], decoder: Decoder) -> Decoder:
    def decode_several(value: Any) -> Any:
        if not isinstance(value, list):
            raise Undecodable("is not a list")
        found: list[Any] = []
        for place, item in enumerate(cast("list[Any]", value)):
            try:
                found.append(decoder(item))
            except Undecodable as error:
                raise Undecodable(f"[{place}]{_joined(error)}") from error
        return found if kind is list else tuple(found)

    return decode_several


def _by_name(decoder: Decoder) -> Decoder:
    def decode_mapping(value: Any) -> Any:
        return {name: _entry(name, decoder, item) for name, item in _entries(value).items()}

    return decode_mapping


def _object(hint: Any) -> Decoder:
    known: list[tuple[Field[Any], Decoder]] = []

    def decode_object(value: Any) -> Any:
        if not known:
            # Not before it is needed: a value may hold others of its own type.
            hints = hints_of(hint)
            known.extend([(field, decoder_of(hints[field.name])) for field in fields(hint)])
        entries, found = _entries(value), dict[str, Any]()
        for field, decoder in known:
            if field.name in entries:
                found[field.name] = _entry(field.name, decoder, entries[field.name])
            elif field.default is MISSING and field.default_factory is MISSING:
                raise Undecodable(f".{field.name} is missing")
        return hint(**found)

    return decode_object


def _field_change(value: Any) -> FieldChange:
    """Its two values are of the type that this field of a memory has."""
    entries = _entries(value)
    name = str(entries.get("field"))
    decoder = decoder_of(hints_of(Record).get(name, Any))
    return FieldChange(name, *(_entry(side, decoder, entries.get(side)) for side in ("old", "new")))


def _entries(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Undecodable("is not an object")
    return cast("dict[str, Any]", value)


def _entry(name: str, decoder: Decoder, value: Any) -> Any:
    try:
        return decoder(value)
    except Undecodable as error:
        raise Undecodable(f".{name}{_joined(error)}") from error


def _joined(error: Undecodable) -> str:
    text = str(error)
    return text if text[0] in ".[" else f" {text}"

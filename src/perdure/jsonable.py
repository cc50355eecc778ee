"""The values of `perdure.model` as plain data, for JSON: every surface shows the same names and the same times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any, cast

from perdure.clock import format_time


def to_jsonable(value: object) -> Any:
    """A dataclass is an object of all its fields, in their order; a time is ISO 8601 in UTC."""
    if isinstance(value, datetime):
        return format_time(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_jsonable(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): to_jsonable(item) for name, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, tuple | list):
        return [to_jsonable(item) for item in cast("list[object]", value)]
    return value

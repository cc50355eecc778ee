"""What is wrong with the values of a request: pydantic finds it, and a sentence says it, without the value."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Final, cast

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.responses import Response

from perdure.errors import BadRequest, InvalidInput, shown
from perdure.http.problems import problem

_WANTED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "missing": "is missing",
        "string_type": "must be a text",
        "int_type": "must be a whole number",
        "int_from_float": "must be a whole number",
        "int_parsing": "must be a whole number",
        "float_type": "must be a number",
        "float_parsing": "must be a number",
        "bool_type": "must be true or false",
        "bool_parsing": "must be true or false",
        "list_type": "must be a list",
        "dict_type": "must be an object",
        "model_attributes_type": "must be an object",
        "none_required": "must be null",
        "greater_than_equal": "must be {ge} or more",
        "less_than_equal": "must be {le} or less",
    }
)


async def invalid_input(request: Request, error: Exception) -> Response:
    """The first thing that is wrong, and where it stands."""
    faults = cast("RequestValidationError", error).errors()
    first = cast("dict[str, Any]", faults[0]) if faults else {}
    where = [str(part)[:60] for part in cast("Sequence[object]", first.get("loc", ()))]
    kind = str(first.get("type"))
    if kind == "json_invalid":
        return problem(BadRequest("The body is not JSON."))
    if kind == "extra_forbidden":
        known = fields_of_body(request) if len(where) == 2 else ()  # noqa: PLR2004 - the body, and the name in it
        sentence = f"There is no field {shown('.'.join(where[1:]))} here."
        return problem(InvalidInput(sentence, remedy=suggestion(where[-1], known)))
    place = ".".join(where[1:]) or "body"
    wanted = _WANTED.get(kind)
    # What somebody gave may hold braces.
    said = wanted.format_map(first.get("ctx", {})) if wanted else f"is wrong: {first.get('msg', 'it cannot be read')}"
    return problem(InvalidInput(f"{shown(place)} {said}."))


def fields_of_body(request: Request) -> Collection[str]:
    route = request.scope.get("route")
    field = route.body_field if isinstance(route, APIRoute) else None
    model: Any = field.field_info.annotation if field else None
    return tuple(cast("Mapping[str, Any]", getattr(model, "model_fields", {})))


def suggestion(given: str, known: Collection[str]) -> str | None:
    """The name that was meant, or all there are."""
    if not known:
        return None
    begun = [name for name in known if name.startswith(given.lower())]
    meant = (begun if len(begun) == 1 else []) or get_close_matches(given.lower(), list(known), n=1)
    return f"Did you mean {shown(meant[0])}?" if meant else f"It may be: {', '.join(sorted(known))}."

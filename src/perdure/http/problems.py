"""Errors over HTTP: a status, and a problem document (RFC 9457) with the code, the sentence and the remedy that every
surface shows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import ceil
from typing import Any, Final

from starlette.responses import Response

from perdure import errors
from perdure.jsonable import to_jsonable
from perdure.remedies import READERS

MEDIA_TYPE: Final = "application/problem+json"

# An error that is not named here has the status of the nearest class above it.
_STATUS: Final[dict[type[errors.PerdureError], int]] = {
    errors.PerdureError: 500,
    errors.InvalidInput: 422,
    errors.BadRequest: 400,
    errors.BodyTooLarge: 413,
    errors.NotFound: 404,
    errors.AmbiguousReference: 409,
    errors.Conflict: 409,
    errors.VersionConflict: 412,
    errors.NotAllowed: 403,
    errors.AccessDenied: 403,
    errors.Unauthenticated: 401,
    errors.HostRefused: 421,
    errors.RateLimited: 429,
    errors.ImportFailed: 422,
    errors.StoreError: 503,
    errors.StoreFull: 507,
    errors.StoreDamaged: 500,
    errors.ProviderUnavailable: 503,
}
# Used if no other time to try again is known.
_SOON: Final = 1


def status_of(error: type[errors.PerdureError]) -> int:
    return next(_STATUS[each] for each in error.__mro__ if each in _STATUS)


def problem(error: errors.PerdureError, status: int | None = None, *, for_perdure: bool = False) -> Response:
    """The answer that says what happened. A preview that waits for a yes is part of it. `for_perdure`: with the remedy
    in the words of every reader, `remedy` itself being in those of the command line.
    """
    status = status or status_of(type(error))
    headers = {"WWW-Authenticate": "Bearer"} if isinstance(error, errors.Unauthenticated) else {}
    if error.retryable:
        seconds = getattr(error, "retry_after", None)
        headers["Retry-After"] = str(_SOON if seconds is None else max(ceil(seconds), _SOON))
    preview = error.preview if isinstance(error, errors.NeedsConfirmation) else None
    shown: dict[str, Any] = {"preview": to_jsonable(preview)} if preview is not None else {}
    if for_perdure:
        shown["remedies"] = {reader: error.remedy_for(reader) for reader in READERS}
    document = error.as_dict("cli" if for_perdure else "http")
    return problem_response(status, document, title=type(error).__doc__ or "", headers=headers, **shown)


def unexpected() -> Response:
    """An unexpected error. The cause is for the operator of the server, not for the client."""
    document = {
        "code": "unexpected",
        "error": "Something unexpected happened in Perdure.",
        "remedy": "The server's own output says where; report it. What was stored before is safe.",
        "retryable": False,
    }
    return problem_response(500, document, title="Something unexpected happened.", headers={})


def problem_response(
    status: int, document: Mapping[str, object], *, title: str, headers: Mapping[str, str], **more: Any
) -> Response:
    body = {
        "type": f"urn:perdure:error:{document['code']}",
        "title": title.strip(),
        "status": status,
        "detail": document["error"],
        **document,
        **more,
    }
    content = json.dumps(body).encode("ascii")
    return Response(content, status, {**headers, "Cache-Control": "no-store"}, MEDIA_TYPE)

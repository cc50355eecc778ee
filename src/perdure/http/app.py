"""The application: all routes, and what is shown when something fails."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from perdure import __version__, errors
from perdure.errors import BadRequest, NoRoute, PerdureError
from perdure.http.answers import example_of
from perdure.http.conversation_api import CONVERSATION_API
from perdure.http.events import EVENTS
from perdure.http.mcp_endpoint import MCP
from perdure.http.other_routes import CONVERSATIONS, FINDING, LEARNING, LOG, MEMORIES, UPKEEP, add_health
from perdure.http.problems import problem, unexpected
from perdure.http.routing import Routes, Serving, add_routes
from perdure.http.wrong_values import invalid_input

TABLES: Final[tuple[Routes, ...]] = (
    MEMORIES,
    FINDING,
    CONVERSATIONS,
    LEARNING,
    LOG,
    EVENTS,
    UPKEEP,
    CONVERSATION_API,
    MCP,
)

_ABOUT: Final = """\
One durable, versioned, searchable memory. Every route but `/healthz` wants a token: `Authorization: Bearer …`.
Errors are problem documents with a `code`, a sentence and a `remedy`.
"""
_PROBLEM: Final = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "code", "error", "remedy", "retryable"],
    "properties": {
        "type": {"type": "string", "examples": ["urn:perdure:error:not_found"]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "examples": ["Memory #7 does not exist."]},
        "code": {"type": "string", "enum": [*sorted({each.code for each in errors.all_errors()}), "unexpected"]},
        "error": {"type": "string", "description": "The same as `detail`: every surface has it."},
        "remedy": {"type": "string", "description": "What can be done about it."},
        "retryable": {"type": "boolean", "description": "Whether the same request may succeed later."},
        "preview": {"type": "object", "description": "What waits for a yes."},
    },
}


class PerdureApi(FastAPI):
    """FastAPI's application, with the schemas of answers and problems, and the token, in its description."""

    answer_schemas: Mapping[str, Any] = MappingProxyType({})

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            document = super().openapi()
            components = document.setdefault("components", {})
            components["schemas"] = {**components.get("schemas", {}), **self.answer_schemas, "Problem": _PROBLEM}
            for row in (row for table in TABLES for row in table.rows if row.answer is not None):
                # Only now: FastAPI would leave out of an example whatever is null.
                for status, told in document["paths"][row.shown_path][row.method.lower()]["responses"].items():
                    if status.startswith("2"):
                        told["content"]["application/json"]["example"] = example_of(row.answer)
            components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        return self.openapi_schema or {}


def build_app(serving: Serving) -> FastAPI:
    """Without pages that load scripts from elsewhere, and without redirects that would repeat a request."""
    app = PerdureApi(
        title="Perdure", version=__version__, description=_ABOUT, docs_url=None, redoc_url=None, redirect_slashes=False
    )
    app.state.serving = serving
    add_health(app)
    app.answer_schemas = add_routes(app, *TABLES)
    app.add_exception_handler(RequestValidationError, invalid_input)
    app.add_exception_handler(HTTPException, http_refusal)
    app.add_exception_handler(Exception, unforeseen)
    return app


async def http_refusal(request: Request, error: Exception) -> Response:
    refused = cast("HTTPException", error)
    answers: dict[int, PerdureError] = {
        404: NoRoute(),
        405: NoRoute("That cannot be done at this address."),
    }
    answer = problem(answers.get(refused.status_code, BadRequest()), refused.status_code)
    if refused.status_code == 405:  # noqa: PLR2004 - it says what else may be done there, by whichever route
        routes = [each for each in request.app.routes if each.matches(request.scope)[0] is not Match.NONE]
        answer.headers["Allow"] = ", ".join(sorted({method for each in routes for method in each.methods or ()}))
    return answer


async def unforeseen(_request: Request, _error: Exception) -> Response:
    return unexpected()

"""The table of routes, and what happens before each of them: the token is authorised for what the route needs, before a
byte of the body is looked at. A route that does not say what it needs is refused when the server starts.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Coroutine, Mapping, MutableMapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property, wraps
from inspect import iscoroutinefunction
from typing import Annotated, Any, Final, ParamSpec, TypeVar

from fastapi import Depends, FastAPI, Header, Query, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.convertors import Convertor, register_url_convertor
from starlette.responses import Response

from perdure.auth.authorise import AccessToken, Action, Scope, authorise
from perdure.auth.tokens import Tokens
from perdure.clock import Clock, system_clock
from perdure.errors import BadRequest, NotAllowed, PerdureError, UnknownChoice, shown
from perdure.http.answers import Answer, schema_of
from perdure.http.guard import TOKEN
from perdure.http.metrics import Metrics
from perdure.http.problems import MEDIA_TYPE as PROBLEM
from perdure.http.problems import problem
from perdure.http.rate_limit import RateLimit
from perdure.http.streams import Streams
from perdure.http.tallies import Tallies
from perdure.ids import UUID
from perdure.jsonable import to_jsonable
from perdure.memory import Memory
from perdure.operations import WORDS_BEHIND_NAMES, Method
from perdure.turns import Turns
from perdure.validation import check_namespace
from perdure.vocabulary import Writer

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
Given = ParamSpec("Given")
Made = TypeVar("Made")

# The names of the extensions in the OpenAPI document.
SCOPES: Final = "x-perdure-scopes"
WHOLE_STORE: Final = "x-perdure-whole-store"
REPEATABLE: Final = "x-perdure-idempotency-key"
MCP_PATH: Final = "/mcp"
_UNSAFE: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_JSON: Final = "application/json"
_TURNS: Final = Turns()


def _by_token() -> Callable[[str], MutableMapping[str, str]]:
    kept: defaultdict[str, MutableMapping[str, str]] = defaultdict(dict)
    return kept.__getitem__


@dataclass(frozen=True)
class Serving:
    """What all requests of a server share."""

    memory: Memory
    tokens: Tokens | None
    namespace: str
    tallies: Tallies = field(default_factory=Tallies)
    clock: Clock = system_clock
    # How often a token, a visit of the page, or an address without either may ask.
    limit: RateLimit = field(default_factory=RateLimit)
    # Whether the server is about to end: who streams has to stop.
    is_ending: Callable[[], bool] = lambda: False
    # What `consolidate` handed out to models, by the id of their token.
    tasks: Callable[[str], MutableMapping[str, str]] = field(default_factory=_by_token)
    # Told after every request that may have written.
    note_write: Callable[[], None] = lambda: None

    @cached_property
    def metrics(self) -> Metrics:
        return Metrics(self.tallies)

    @cached_property
    def streams(self) -> Streams:
        return Streams(self.tallies)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and the memory as they may see it: in one namespace, and writing in their name."""

    serving: Serving
    memory: Memory
    namespace: str
    token: AccessToken
    action: Action
    session: str | None
    writer: Writer

    @property
    def is_person(self) -> bool:
        return self.writer == "person"

    def own_session(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What a body says about a memory. For a model it is of the session that the header names, which its program
        sends: one that a model chooses itself would put its writes under somebody else's.
        """
        told = given.get("session_id")
        if self.is_person or (told is None and self.session is None):
            return dict(given)
        if told not in (None, self.session):
            raise NotAllowed(
                f"A model cannot choose the session_id {shown(told)}: it is the session of the request.",
                remedy="Send it as the header Perdure-Session, or leave it out; nothing was changed.",
            )
        return {**given, "session_id": self.session}

    def authorise(self, namespace: str | None) -> None:
        """For what a body asks for beyond the request's own namespace; None is the whole store."""
        authorise(self.token, self.action, namespace, self.serving.clock())


@dataclass(frozen=True, slots=True)
class Row:
    """A route: what it needs, and how it is documented."""

    method: Method
    path: str
    endpoint: Callable[..., Any]
    scopes: tuple[Scope, ...]
    whole_store: bool
    repeatable: bool
    answer: Answer
    options: Mapping[str, Any]

    @property
    def shown_path(self) -> str:
        """As people and the OpenAPI document write it."""
        return re.sub(r":\w+", "", self.path)


class Routes:
    """The routes of one module, in the order in which they are tried."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.rows: list[Row] = []

    def add(
        self,
        method: Method,
        path: str,
        *scopes: Scope,
        whole_store: bool = False,
        repeatable: bool = False,
        answer: Answer = None,
        **options: Any,
    ) -> Callable[[Endpoint], Endpoint]:
        """`repeatable`: an `Idempotency-Key` makes sure that it is done once. `answer` is the type of the JSON that it
        answers. `options` are FastAPI's.
        """

        def decorate(endpoint: Endpoint) -> Endpoint:
            told = {"tags": [self.tag], **options}
            self.rows.append(Row(method, path, endpoint, scopes, whole_store, repeatable, answer, told))
            return endpoint

        return decorate


class AuthorisedRoute(APIRoute):
    """A route that asks the authoriser first."""

    @property
    def action(self) -> Action:
        return Action(f"{' '.join(self.methods or ())} {self.path}", tuple((self.openapi_extra or {})[SCOPES]))

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer, action, extra = super().get_route_handler(), self.action, self.openapi_extra or {}
        whole_store, repeatable = extra.get(WHOLE_STORE, False), extra.get(REPEATABLE, False)
        known = query_names(self.dependant)

        async def handle(request: Request) -> Response:
            try:
                serving: Serving = request.app.state.serving
                token: AccessToken | None = request.scope[TOKEN]
                namespace = namespace_of(request, serving, token)
                allowed = authorise(token, action, None if whole_store else namespace, serving.clock())
                check_query(request, known)
                if request.method in _UNSAFE:
                    self._check_headers(request, repeatable=repeatable)
                session = header_text(request.headers.get("perdure-session"))
                # A person's program may let a model write: then it counts as one. Never the other way round.
                by_model = request.headers.get("perdure-writer") == "model"
                writer = "model" if by_model else allowed.writer
                memory = serving.memory.writing_as(allowed.name, writer=writer, session=session).namespace(namespace)
                request.state.caller = Caller(serving, memory, namespace, allowed, action, session, writer)
                batch = request.headers.get("perdure-batch")
                with memory.batch(batch) if batch else nullcontext():
                    response = await answer(request)
                if request.method in _UNSAFE:
                    serving.note_write()
                return response  # noqa: TRY300 - the error is answered below
            except PerdureError as error:
                # The caller of another Perdure reads Python, a terminal or a tool: it is sent all of them.
                return problem(error, for_perdure=request.headers.get("user-agent", "").startswith("perdure/"))

        return handle

    def _check_headers(self, request: Request, *, repeatable: bool) -> None:
        if "idempotency-key" in request.headers and not repeatable:
            raise BadRequest(
                f"{self.action.name} takes no Idempotency-Key.",
                remedy="Leave it out; If-Match guards a change, and a confirm token guards a deletion.",
            )
        kind = request.headers.get("content-type", _JSON).partition(";")[0].strip().lower()
        if self.body_field is not None and kind != _JSON:
            raise BadRequest(
                f"The body must be JSON, not {kind[:40]!r}.", remedy=f"Send it with Content-Type: {_JSON}."
            )


def query_names(dependant: Dependant) -> set[str]:
    """What may stand behind the question mark of an address."""
    own = {parameter.alias for parameter in dependant.query_params}
    return own.union(*map(query_names, dependant.dependencies))


def check_query(request: Request, known: set[str]) -> None:
    """A filter that is ignored because of its spelling would give a wrong answer. Addresses that hosts have for `/mcp`
    may hold what is their own.
    """
    unknown = next((name for name in request.query_params if name not in known), None)
    if unknown is not None and request.url.path != MCP_PATH:
        raise UnknownChoice(
            f"There is no parameter {shown(unknown)} here.", remedy=f"It may be: {', '.join(sorted(known))}."
        )


def namespace_of(request: Request, serving: Serving, token: AccessToken | None) -> str:
    """The one that is asked for; else the only one that the token is good for; else the server's own."""
    asked = request.query_params.getlist("namespace")
    if len(asked) > 1:
        raise BadRequest("The request names more than one namespace.", remedy="Name one; `recall` takes `namespaces`.")
    if asked:
        return check_namespace(asked[0])
    if token is not None and token.namespaces is not None and len(token.namespaces) == 1:
        return token.namespaces[0]
    return serving.namespace


class _Name(Convertor[str]):
    """A name in an address. It may hold slashes, as keys do, but none of the words that stand behind names."""

    regex = rf"(?:(?!/(?:{WORDS_BEHIND_NAMES})(?:/|$)).)+"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("name", _Name())


def header_text(value: str | None) -> str | None:
    """A header's text in UTF-8, as Perdure's own client sends it; HTTP itself says nothing about other letters."""
    try:
        return None if value is None else value.encode("latin-1").decode()
    except UnicodeDecodeError:
        return value


def in_turn(function: Callable[Given, Made]) -> Callable[Given, Made]:
    """What a request does in a thread, one after the other: see `turns`."""

    @wraps(function)
    def run(*arguments: Given.args, **named: Given.kwargs) -> Made:
        with _TURNS:
            return function(*arguments, **named)

    return run


def add_routes(app: FastAPI, *tables: Routes) -> dict[str, Any]:
    """Gives the schemas of what they answer."""
    schemas: dict[str, Any] = {}
    for row in (row for table in tables for row in table.rows):
        if not row.scopes:
            raise ValueError(f"{row.method} {row.path} does not say what it needs")
        extra: dict[str, Any] = {SCOPES: list(row.scopes), "security": [{"token": []}]}
        extra |= {WHOLE_STORE: True} if row.whole_store else {}
        extra |= {REPEATABLE: True} if row.repeatable else {}
        app.router.add_api_route(
            row.path,
            row.endpoint if iscoroutinefunction(row.endpoint) else in_turn(row.endpoint),
            methods=[row.method],
            response_model=None,
            route_class_override=AuthorisedRoute,
            openapi_extra=extra,
            responses=described_answers(row, schemas),
            **{name: value for name, value in row.options.items() if name != "responses"},
        )
    return schemas


def described_answers(row: Row, schemas: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    """What it answers when all is well, and the problem that it answers otherwise."""
    problems = {"4XX": {"description": "A problem", "content": {PROBLEM: {"schema": {"$ref": PROBLEM_SCHEMA}}}}}
    given: dict[int | str, dict[str, Any]] = row.options.get("responses", {})
    if row.answer is None:
        return {**given, **problems}
    shown = {"schema": schema_of(row.answer, schemas)}
    usual = {row.options.get("status_code", 200): {"description": "Done"}}
    good = {status: {**told, "content": {_JSON: shown}} for status, told in {**usual, **given}.items()}
    return {**good, **problems}


PROBLEM_SCHEMA: Final = "#/components/schemas/Problem"
BATCH: Final = f"^{UUID.pattern}$"


# A coroutine only so that FastAPI needs no thread for it.
async def caller_of(
    request: Request,
    namespace: Annotated[  # noqa: ARG001 - the route has read it; this is for the documentation
        str | None,
        Query(
            min_length=1,
            max_length=200,
            description="The namespace; without one, the only one that the token is good for.",
        ),
    ] = None,
    perdure_session: Annotated[  # noqa: ARG001
        str | None,
        Header(min_length=1, description="The session that writes are noted under; `undo` can take back all of it."),
    ] = None,
    perdure_batch: Annotated[  # noqa: ARG001
        str | None, Header(pattern=BATCH, description="The batch that writes belong to; `undo` takes back all of it.")
    ] = None,
    perdure_writer: Annotated[  # noqa: ARG001
        Writer | None, Header(description="`model`: what is written counts as a model's.")
    ] = None,
) -> Caller:
    return request.state.caller


Asking = Annotated[Caller, Depends(caller_of)]


def json_response(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A value of the model, or a document, as the command line shows it with --json. Escaped, because what a caller
    sent may hold half of a surrogate pair, which no encoding has.
    """
    content = json.dumps(to_jsonable(value), separators=(",", ":")).encode("ascii")
    return Response(content, status, {"Cache-Control": "no-store", **(headers or {})}, _JSON)

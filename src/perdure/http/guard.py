"""What stands before every request, in this order: its host, its origin, its token, how many requests that token makes,
the size of its body. What passes is handed on whole; what does not is answered here.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Collection
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

import anyio
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from perdure.auth.authorise import AccessToken
from perdure.auth.tokens import Tokens
from perdure.errors import (
    BadRequest,
    BodyTooLarge,
    HostRefused,
    OriginRefused,
    PerdureError,
    RateLimited,
    StoreUnreachable,
    Unauthenticated,
    shown,
)
from perdure.http.metrics import Metrics
from perdure.http.problems import problem, unexpected
from perdure.http.rate_limit import RateLimit

# Where the request's own scope holds the token.
TOKEN: Final = "perdure.token"  # noqa: S105 - a name
# What may be asked without a token, because it tells nothing about anybody.
HEALTH: Final = "/healthz"
PUBLIC: Final = frozenset({HEALTH, "/openapi.json"})
_HOST: Final = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9.-]+))(?::\d{1,5})?")
_BEARER: Final = "bearer"
# The longest that a body may take to arrive.
_BODY_SECONDS: Final = 30
_ENDED: Final = "The server ended before this was done."
_LOOK: Final = "Start the server, look whether it was done all the same, and ask again if it was not."
_FOR_PEOPLE: Final = """\
Perdure answers programs here, and every request needs a token.
A page for people: start the server with `perdure serve --ui`, or use `perdure ui` on its machine.
What programs may ask: /openapi.json
"""
# The label of requests that match no route, so that a client cannot fill the metrics with names.
_NO_ROUTE: Final = "none"


@dataclass(frozen=True, slots=True)
class RequestRules:
    """What a server lets in. Without `tokens`, everybody who reaches it is `anybody`."""

    hosts: Collection[str]
    tokens: Tokens | None
    anybody: AccessToken | None
    max_body: int


class Guard:
    """An ASGI application around another one."""

    def __init__(self, app: ASGIApp, rules: RequestRules, limit: RateLimit, metrics: Metrics) -> None:
        self._app = app
        self._rules = rules
        self._limit = limit
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        begun, status, started = perf_counter(), 500, False

        async def send_on(message: Message) -> None:
            nonlocal status, started
            if message["type"] == "http.response.start":
                status, started = message["status"], True
            await send(message)

        self._metrics.begin()
        try:
            try:
                headers = deciding_headers(scope)
                self._check_host(headers, scope)
                tokens = self._rules.tokens
                if tokens is not None and scope["path"] not in PUBLIC and not tokens.is_current:
                    await anyio.to_thread.run_sync(tokens.look)
                scope[TOKEN] = self._token(headers, scope)
                body = await self._body(headers, receive)
            except PerdureError as error:
                answer = self._refusal(error, scope)
                if type(error) is BadRequest:
                    # The sender may disagree with us about where its next request begins.
                    answer.headers["Connection"] = "close"
                await answer(scope, receive, send_on)
                return
            await self._app(scope, body, send_on)
        except anyio.get_cancelled_exc_class():
            # The server ends; what runs in a thread is not waited for.
            if not started:
                await problem(StoreUnreachable(_ENDED, remedy=_LOOK))(scope, receive, send)
            raise
        except Exception as error:  # noqa: BLE001 - the client gets an answer, the operator the cause
            _tell_operator(error, scope)
            if not started:
                await self._unexpected()(scope, receive, send)
        finally:
            route = getattr(scope.get("route"), "path", _NO_ROUTE)
            self._metrics.count(scope["method"], route, status, perf_counter() - begun)

    def _refusal(self, error: PerdureError, scope: Scope) -> Response:
        """In which form this server says no. Who opens its bare address is a person, and reads a text."""
        if isinstance(error, Unauthenticated) and scope["path"] == "/":
            return Response(_FOR_PEOPLE, 401, {"WWW-Authenticate": "Bearer"}, "text/plain")
        return problem(error)

    def _unexpected(self) -> Response:
        """In which form this server says that it failed."""
        return unexpected()

    def _check_host(self, headers: dict[str, str], scope: Scope) -> None:
        """A page whose name leads to this machine has its own name as the host: that is how it is told apart."""
        host = headers.get("host", "")
        name = host_name(host)
        if name not in self._rules.hosts:
            raise HostRefused(f"This server does not answer for the host {shown(host)}.")
        origin = headers.get("origin")
        if origin is not None and origin != f"{scope['scheme']}://{host}":
            raise OriginRefused(f"A web page of {shown(origin)} sent this request.")
        if headers.get("sec-fetch-site") in {"cross-site", "same-site"}:
            raise OriginRefused

    def _token(self, headers: dict[str, str], scope: Scope) -> AccessToken | None:
        path, client = scope["path"], scope.get("client") or ("", 0)
        if path == HEALTH:
            # The answer costs no more than a refusal, and a monitor must not take the server for dead because
            # somebody behind the same proxy asks too much.
            return None
        token = self._rules.anybody
        # Those who show no token, or a wrong one, are counted by their address; apart, those who need to show none.
        caller = f"{'public' if path in PUBLIC else 'address'} {client[0]}"
        refusal: Unauthenticated | None = None
        if self._rules.tokens is not None and path not in PUBLIC:
            kind, _, given = headers.get("authorization", "").partition(" ")
            try:
                token = self._rules.tokens.find(given.strip()) if kind.lower() == _BEARER else None
                caller = caller if token is None else f"token {token.id}"
            except Unauthenticated as error:
                refusal = error
        if seconds := self._limit.wait(caller):
            limited = RateLimited()
            limited.retry_after = seconds
            raise limited
        if refusal is not None:
            raise refusal
        if token is None and path not in PUBLIC:
            raise Unauthenticated
        return token

    async def _body(self, headers: dict[str, str], receive: Receive) -> Receive:
        """Read the whole body, as far as it may go; the application then gets it at once."""
        most = self._rules.max_body
        too_large = BodyTooLarge(f"The body of a request may have {most:,} bytes.")
        length = headers.get("content-length", "0")
        if length.isascii() and length.isdigit() and int(length[:20]) > most:
            raise too_large
        content = bytearray()
        last: Message = {"type": "http.disconnect"}
        with anyio.move_on_after(_BODY_SECONDS) as patience:
            more = True
            while more:
                last = await receive()
                content += last.get("body", b"")
                more = last.get("more_body", False) and last["type"] == "http.request"
                if len(content) > most:
                    raise too_large
        if patience.cancelled_caught:
            raise BadRequest("The body of the request took too long to arrive.")
        whole: list[Message] = [
            {"type": "http.request", "body": bytes(content), "more_body": False}
            if last["type"] == "http.request"
            else last
        ]

        async def replay() -> Message:
            return whole.pop() if whole else await receive()

        return replay


def deciding_headers(scope: Scope) -> dict[str, str]:
    """The headers that are decided by. One of them twice could mean something else to somebody else."""
    names = {b"host", b"origin", b"authorization", b"content-length", b"transfer-encoding", b"sec-fetch-site"}
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        if name in names:
            if name.decode() in found:
                raise BadRequest(f"The request has more than one header {name.decode()}.")
            found[name.decode()] = value.decode("latin-1")
    if "content-length" in found and "transfer-encoding" in found:
        raise BadRequest("The request says twice how long its body is.")
    return found


def host_name(host: str) -> str:
    """`[::1]:8080` is `::1`, `localhost:8080` is `localhost`; nothing where it is anything else."""
    found = _HOST.fullmatch(host.lower())
    return (found[1] or found[2]) if found else ""


def _tell_operator(error: BaseException, scope: Scope) -> None:
    """Where it happened, without a word of what was asked or stored."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "an unknown place"
    route: Any = getattr(scope.get("route"), "path", _NO_ROUTE)
    print(f"unexpected: {type(error).__name__} at {place}, in {scope['method']} {route}", file=sys.stderr)  # noqa: T201

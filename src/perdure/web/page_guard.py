"""What stands before every screen and every action: the host, where the request comes from, and the cookie of a visit.
The cookie counts here alone: the other routes of a server never look at one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

from starlette.requests import cookie_parser
from starlette.responses import Response

from perdure.auth.authorise import SCOPES, AccessToken
from perdure.auth.tokens import Tokens
from perdure.clock import Clock
from perdure.errors import HostRefused, OriginRefused, PerdureError, RateLimited, Unauthenticated, shown
from perdure.http.guard import Guard, RequestRules, host_name
from perdure.http.problems import status_of
from perdure.http.routing import Serving
from perdure.text.patterns import pattern
from perdure.web.layout import refusal, sign_in_page
from perdure.web.markup import PageLink, a, document, h1, main, p, page_link
from perdure.web.sign_in import OWNER, Admission, Admissions

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PREFIX: Final = "/ui/"
OPEN: Final = "open"
# Where the request's own scope holds the visit.
ADMISSION: Final = "perdure.admission"
MAX_FORM: Final = 2 << 20
_SCREEN: Final = pattern("[a-z-]*")
# The style, the script and the icon tell nothing about anybody; signing in is for those who have no cookie yet.
PUBLIC_FILES: Final = frozenset({"page.css", "page.js", "icon.svg"})
_PUBLIC: Final = PUBLIC_FILES | {OPEN}
_SAFE: Final = frozenset({"GET", "HEAD"})
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS: Final = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    # With `no-referrer` a browser calls the origin of our own forms null.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"cache-control", b"no-store"),
)


@dataclass(frozen=True, slots=True)
class PageRules:
    """What the page of a server lets in. `actor` is whoever started the server."""

    hosts: frozenset[str]
    port: int
    admissions: Admissions
    tokens: Tokens | None
    actor: str
    clock: Clock

    @property
    def cookie(self) -> str:
        """Cookies know no ports: the name keeps two servers of one machine apart."""
        return f"perdure-page-{self.port}"

    def token_of(self, admission: Admission) -> AccessToken | None:
        """What they may do, as it is now: a token may have been revoked since."""
        if admission.token == OWNER:
            return AccessToken(OWNER, self.actor, SCOPES, None, "person", self.clock())
        return self.tokens.by_id(admission.token) if self.tokens else None


class PageGuard(Guard):
    """The guard of the page."""

    def __init__(self, app: ASGIApp, rules: PageRules, serving: Serving) -> None:
        super().__init__(app, RequestRules(rules.hosts, rules.tokens, None, MAX_FORM), serving.limit, serving.metrics)
        self._page = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = {name for name, _ in HEADERS}
                kept = [(name, value) for name, value in message["headers"] if name.lower() not in ours]
                message = {**message, "headers": [*kept, *HEADERS]}
            await send(message)

        await super().__call__(scope, receive, send_with_headers)

    def _check_host(self, headers: dict[str, str], scope: Scope) -> None:
        """What changes something must come from the page itself, and say so. A link that counts once may be followed
        from anywhere, such as from the file that opens the browser; nothing else may.
        """
        host, origin, site = (headers.get(name) for name in ("host", "origin", "sec-fetch-site"))
        if host_name(host or "") not in self._page.hosts:
            raise HostRefused(f"This server does not answer for the host {shown(host or '')}.")
        # Before a proxy with TLS the scheme is another one than here.
        if origin is not None and origin not in {f"http://{host}", f"https://{host}"}:
            raise OriginRefused(f"A web page of {shown(origin)} sent this request.")
        is_safe = scope["method"] in _SAFE
        if is_safe and scope["path"] == PREFIX + OPEN:
            return
        if site not in ({None, "same-origin", "none"} if is_safe else {None, "same-origin"}):
            raise OriginRefused
        if not is_safe and site is None and origin is None:
            raise OriginRefused("Nothing says that this request comes from the page.")

    def _token(self, headers: dict[str, str], scope: Scope) -> AccessToken | None:
        del headers
        name, client = scope["path"].removeprefix(PREFIX), scope.get("client") or ("", 0)
        admission = None if name in PUBLIC_FILES else self._admission(scope)
        token = None if admission is None else self._page.token_of(admission)
        if name not in PUBLIC_FILES and (
            seconds := self._limit.wait(f"visit {admission.digest}" if admission else f"page {client[0]}")
        ):
            limited = RateLimited()
            limited.retry_after = seconds
            raise limited
        scope[ADMISSION] = admission
        if token is None and name not in _PUBLIC:
            raise Unauthenticated("Nobody has signed in here.")
        return token

    def _admission(self, scope: Scope) -> Admission | None:
        for name, value in scope["headers"]:
            if name == b"cookie":
                secret = cookie_parser(value.decode("latin-1")).get(self._page.cookie)
                if secret and (found := self._page.admissions.find(self._page.port, secret)):
                    return found
        return None

    def _refusal(self, error: PerdureError, scope: Scope) -> Response:
        if isinstance(error, Unauthenticated):
            body = sign_in_page(has_tokens=self._page.tokens is not None)
        elif isinstance(error, OriginRefused) and scope["method"] in _SAFE:
            name = scope["path"].removeprefix(PREFIX)
            query = parse_qs(scope["query_string"].decode("latin-1"))
            there = page_link(name if _SCREEN.fullmatch(name) else "", **query)
            told = p("Another site led here, and what the page shows is not for other sites.", role="alert")
            body = document(
                "Go on?", main(h1("Go on?"), told, p(a("Go on", href=there)), id="content", class_="narrow")
            )
        else:
            body = document("Refused", main(h1("Refused"), refusal(error), id="content", class_="narrow"))
        return Response(body, status_of(type(error)), media_type="text/html; charset=utf-8")

    def _unexpected(self) -> Response:
        told = (
            p("Something unexpected happened in Perdure.", role="alert"),
            p("What was stored before is safe. Where it happened stands in what the server printed."),
            p(a("To the first page", href=PageLink("./"))),
        )
        body = document("Not done", main(h1("That was not done"), *told, id="content", class_="narrow"))
        return Response(body, 500, media_type="text/html; charset=utf-8")

"""The page: every screen by its address, and every action. A screen is asked for with GET and changes nothing; an
action is a form that is sent, and leads back to the screen that it stands on, which says what was done and offers the
undo.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

import anyio
from starlette.requests import Request
from starlette.responses import Response

from perdure.auth.authorise import AccessToken
from perdure.clock import parse_time
from perdure.errors import BadRequest, NoRoute, NotFound, PerdureError, Unauthenticated
from perdure.http.guard import TOKEN
from perdure.http.problems import status_of
from perdure.http.routing import Serving, in_turn
from perdure.open_memory import namespace_names
from perdure.settings import Settings
from perdure.validation import check_namespace
from perdure.web.actions import ACTIONS, PageAction, batch_of, before, check_back, read_form
from perdure.web.layout import frame, opened_page, refusal, sign_in_page
from perdure.web.markup import document, h1, main
from perdure.web.page_guard import ADMISSION, OPEN, PREFIX, PUBLIC_FILES, PageGuard, PageRules
from perdure.web.results import done_banner, preview_screen, refused_screen, result_screen, said_banner
from perdure.web.screens import SCREENS
from perdure.web.sign_in import VISIT_LIFE, Admission
from perdure.web.visit import Shown, Visit

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_HTML: Final = "text/html; charset=utf-8"
_KINDS: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_MOST_FIELDS: Final = 200
_BY_NAME: Final = {screen.name: screen for screen in SCREENS}
_SAFE: Final = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class _Route:
    """What the metrics call an address."""

    path: str


class PageApp:
    """An ASGI application, behind its guard."""

    def __init__(self, serving: Serving, rules: PageRules, settings: Settings) -> None:
        self._serving, self._rules, self._settings = serving, rules, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        name = scope["path"].removeprefix(PREFIX)
        known = name in _BY_NAME or name in ACTIONS or name in PUBLIC_FILES or name in {OPEN, "leave", "changes"}
        scope["route"] = _Route(f"{PREFIX}{name}" if known else f"{PREFIX}…")
        sent = _form(await request.body()) if request.method not in _SAFE else {}
        answer = await anyio.to_thread.run_sync(in_turn(self._answer), request, name, sent)
        await answer(scope, receive, send)

    def _answer(self, request: Request, name: str, sent: Mapping[str, tuple[str, ...]]) -> Response:
        visit: Visit | None = None
        try:
            if name in PUBLIC_FILES:
                return Response(asset(name), media_type=_KINDS[name.rpartition(".")[2]])
            if name == OPEN:
                return self._open(request, sent)
            if name == "leave" and request.method == "POST":
                admission: Admission = request.scope[ADMISSION]
                self._rules.admissions.end(self._rules.port, digest=admission.digest)
                return _redirect("./")
            visit = self._visit(request, name, sent)
            if request.method in _SAFE:
                return self._screen(visit, name)
            if name not in ACTIONS:
                raise NoRoute
            answer = self._act(visit, ACTIONS[name], sent)
            self._serving.note_write()
        except PerdureError as error:
            return Response(refused(visit, error, name, sent), status_of(type(error)), media_type=_HTML)
        return answer

    # -- who asks ------------------------------------------------------------------------------------------------------

    def _open(self, request: Request, sent: Mapping[str, tuple[str, ...]]) -> Response:
        """A link that counts once, or a token, becomes the cookie of a visit."""
        rules, has_tokens = self._rules, self._rules.tokens is not None
        secret: str | None = None
        if request.method in _SAFE:
            secret = rules.admissions.exchange(rules.port, request.query_params.get("link", "")[:200])
            wrong = "That link was used before, or is older than ten minutes. Ask for a new one."
        else:
            wrong = "That is not a token of this store, or it is no longer valid."
            try:
                if rules.tokens is not None:
                    token = rules.tokens.find((sent.get("token") or ("",))[0].strip())
                    alive = token.revoked_at is None and (token.expires_at is None or token.expires_at > rules.clock())
                    secret = rules.admissions.begin_visit(rules.port, token.id) if alive else None
            except Unauthenticated:
                pass
        if secret is None:
            return Response(sign_in_page(has_tokens=has_tokens, wrong=wrong), 401, media_type=_HTML)
        answer = Response(opened_page(), media_type=_HTML)
        # Without a path it is sent to what lies beside this address alone, also under the prefix of a proxy.
        secure = "; Secure" if request.headers.get("origin", "").startswith("https:") else ""
        cookie = f"{rules.cookie}={secret}; HttpOnly; SameSite=Strict; Max-Age={int(VISIT_LIFE.total_seconds())}"
        answer.headers.append("Set-Cookie", cookie + secure)
        return answer

    def _visit(self, request: Request, name: str, sent: Mapping[str, tuple[str, ...]]) -> Visit:
        serving, admission = self._serving, request.scope[ADMISSION]
        token: AccessToken = request.scope[TOKEN]
        granted = token.namespaces
        home = granted[0] if granted and serving.namespace not in granted else serving.namespace
        query = {key: tuple(request.query_params.getlist(key)) for key in request.query_params}
        asked = (sent or query).get("namespace", ())
        namespace = check_namespace(asked[0]) if asked and asked[0] else home
        memory = serving.memory.writing_as(token.name, writer=token.writer, surface="web").namespace(namespace)
        names = granted or tuple(sorted({home, namespace, *namespace_names(serving.memory)}))
        return Visit(
            memory=memory, token=token, namespace=namespace, home=home, namespaces=names, now=serving.clock(),
            settings=self._settings, tokens=self._rules.tokens, screen=name, query=query,
            since=parse_time(admission.since, "since") if admission.since else None,
        )  # fmt: skip

    # -- screens and actions -------------------------------------------------------------------------------------------

    def _screen(self, visit: Visit, name: str) -> Response:
        if name == "changes":
            visit.authorise("log")
            after, newest = visit.number("after") or 0, visit.memory.log(limit=1)
            return Response(str(max(newest[0].seq - after, 0) if newest else 0), media_type="text/plain")
        screen = _BY_NAME.get(name)
        if screen is None:
            raise NoRoute(remedy="The menu lists every screen.")
        visit.authorise(screen.verb, whole_store=screen.whole_store)
        shown = screen.make(visit)
        batch, said = visit.one("done"), visit.one("said")
        banner = done_banner(visit, batch) if batch else said_banner(visit, said) if said else None
        return Response(frame(visit, shown, SCREENS, banner), media_type=_HTML)

    def _act(self, visit: Visit, action: PageAction, sent: Mapping[str, tuple[str, ...]]) -> Response:
        action.require(visit)
        back = check_back((sent.get("back") or ("./",))[0])
        visit = visit.at(back)
        given = read_form(action, sent)
        sure = (sent.get("sure") or ("",))[0]
        shown: Shown | None = None
        if action.asks and not (sure and action.asks != "count"):
            shown = preview_screen(visit, action, given, sent, back)
        if shown is None:
            was = before(visit, action, given)
            result = action.do(visit, given if action.asks != "count" else {**given, "confirm": sure})
            batch = batch_of(result)
            shown = result_screen(visit, action, result, back)
            if shown is None:
                everywhere = {"all": "1"} if action.name == "take-back" and visit.is_whole_store else {}
                said = {"done": batch, **everywhere} if batch else {"said": action.name, "was": was}
                return _redirect(_with(back, said))
        return Response(frame(visit, shown, SCREENS), media_type=_HTML)


def refused(
    visit: Visit | None, error: PerdureError, name: str = "", sent: Mapping[str, tuple[str, ...]] | None = None
) -> bytes:
    """What did not happen, with the menu for those who are signed in."""
    if visit is None:
        return document("Refused", main(h1("That was not done"), refusal(error), id="content", class_="narrow"))
    if sent and name in ACTIONS:
        return frame(visit, refused_screen(visit, ACTIONS[name], sent, error), SCREENS)
    title = "That is not here" if isinstance(error, NotFound) else "That cannot be shown"
    return frame(visit, Shown(title, refusal(error, visit)), SCREENS)


@cache
def asset(name: str) -> bytes:
    return files("perdure.web").joinpath(name).read_bytes()


def _form(body: bytes) -> dict[str, tuple[str, ...]]:
    try:
        fields = parse_qs(
            body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=_MOST_FIELDS, encoding="utf-8"
        )
    except ValueError as error:
        raise BadRequest("The form has too many fields.") from error
    return {name: tuple(values) for name, values in fields.items()}


def _with(back: str, query: Mapping[str, str | Sequence[str]]) -> str:
    from urllib.parse import urlencode

    return f"{back}{'&' if '?' in back else '?'}{urlencode(query, doseq=True)}"


def _redirect(location: str) -> Response:
    return Response(b"", 303, {"Location": location})


def page_application(serving: Serving, rules: PageRules, settings: Settings) -> ASGIApp:
    """The page behind its guard."""
    return PageGuard(PageApp(serving, rules, settings), rules, serving)


class PageFirst:
    """The page at `/ui/`, to which the bare address leads, and everything else as before."""

    def __init__(self, page: ASGIApp, rest: ASGIApp | None) -> None:
        self._page, self._rest = page, rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        path: str = scope["path"]
        if path.startswith(PREFIX):
            await self._page(scope, receive, send)
        elif path in {"/", PREFIX[:-1]}:
            await Response(b"", 307, {"Location": PREFIX[1:]})(scope, receive, send)
        elif self._rest is not None:
            await self._rest(scope, receive, send)
        else:
            await Response(b"", 404)(scope, receive, send)

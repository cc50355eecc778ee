"""The page in this process: an application behind its guard, and a browser without a window that speaks ASGI to it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

import anyio

from perdure import Memory
from perdure.auth.tokens import Tokens
from perdure.clock import Clock, system_clock
from perdure.http.rate_limit import RateLimit
from perdure.http.routing import Serving
from perdure.settings import load
from perdure.web.app import PageFirst, page_application
from perdure.web.page_guard import PageRules
from perdure.web.sign_in import Admissions

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message

PORT = 8733
HOST = f"127.0.0.1:{PORT}"
ORIGIN = f"http://{HOST}"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes
    cookies: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def words(self) -> str:
        """What a person reads."""
        shown = re.sub(r"<(script|style|title)\b.*?</\1>", "", self.text, flags=re.DOTALL)
        return " ".join(unescape(re.sub(r"<[^>]+>", " ", shown)).split())

    @property
    def location(self) -> str:
        return self.headers.get("location", "")

    def forms(self, action: str) -> list[dict[str, list[str]]]:
        """The forms of an action, each with what it would send."""
        found = re.findall(rf'<form action="{action}" method="post"[^>]*>(.*?)</form>', self._reordered, re.DOTALL)
        return [fields_of(each) for each in found]

    @property
    def _reordered(self) -> str:
        """Forms with their action first, whatever order they have it in."""

        def first(match: re.Match[str]) -> str:
            attributes = match[1]
            action = re.search(r'action="[^"]*"', attributes)
            method = re.search(r'method="[^"]*"', attributes)
            return f"<form {action[0] if action else ''} {method[0] if method else ''}>"

        return re.sub(r"<form([^>]*)>", first, self.text)


def fields_of(markup: str) -> dict[str, list[str]]:
    sent: dict[str, list[str]] = {}
    for tag in re.findall(r"<input[^>]*>", markup):
        name, value = (re.search(rf'\b{each}="([^"]*)"', tag) for each in ("name", "value"))
        if name and ('type="checkbox"' not in tag or " checked" in tag):
            sent.setdefault(unescape(name[1]), []).append(unescape(value[1]) if value else "")
    for name, value in re.findall(r'<textarea[^>]*\bname="([^"]*)"[^>]*>\n?(.*?)</textarea>', markup, re.DOTALL):
        sent.setdefault(name, []).append(unescape(value))
    for name, options in re.findall(r'<select[^>]*\bname="([^"]*)"[^>]*>(.*?)</select>', markup, re.DOTALL):
        chosen = re.search(r'<option value="([^"]*)" selected', options) or re.search(
            r'<option value="([^"]*)"', options
        )
        sent.setdefault(name, []).append(unescape(chosen[1]) if chosen else "")
    return sent


@dataclass
class Page:
    """A visitor. `cookie` is what their browser has kept. The `owner` signs in before the first request."""

    app: ASGIApp
    admissions: Admissions
    cookie: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    owner: bool = False

    def sign_in(self, token: str | None = None) -> Page:
        """As the owner, by a link, or with a token."""
        if token is None:
            secret = self.admissions.new_link(PORT)
            answer = self.get("open", link=secret)
        else:
            answer = self.post("open", token=token)
        assert answer.status == 200, answer.words
        self.cookie = answer.cookies[0].partition(";")[0]
        return self

    def get(self, address: str, /, **query: Any) -> Answer:
        return self.ask("GET", address + (f"?{urlencode(query, doseq=True)}" if query else ""))

    def post(self, address: str, sent: Mapping[str, Any] | None = None, **more: Any) -> Answer:
        body = urlencode({**(sent or {}), **more}, doseq=True, quote_via=quote).encode()
        kind = {"content-type": "application/x-www-form-urlencoded"}
        return self.ask("POST", address, body, {"origin": ORIGIN, "sec-fetch-site": "same-origin", **kind})

    def follow(self, answer: Answer) -> Answer:
        assert answer.status == 303, (answer.status, answer.words)
        return self.get(answer.location)

    def do(self, answer: Answer, action: str, which: int = 0, **typed: Any) -> Answer:
        """Send a form that stands on a screen, with what is typed into it, and go where it leads."""
        form = answer.forms(action)[which]
        done = self.post(action, {**form, **typed})
        return self.follow(done) if done.status == 303 else done

    def ask(
        self,
        method: str,
        address: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        prefix: str = "/ui/",
    ) -> Answer:
        if self.owner:
            self.owner = False
            self.sign_in()
        parts = urlsplit("" if address == "./" else address.removeprefix("./"))
        sent = {"host": HOST, **({"cookie": self.cookie} if self.cookie else {}), **self.headers, **(headers or {})}
        path = prefix + parts.path
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(), "root_path": "",
            "query_string": parts.query.encode(), "scheme": "http", "http_version": "1.1", "client": ("127.0.0.1", 5),
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in sent.items()],
        }  # fmt: skip
        got: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            got.append(message)

        async def run() -> None:
            await self.app(scope, receive, send)

        anyio.run(run)
        pairs = [(name.decode(), value.decode("latin-1")) for name, value in got[0]["headers"]]
        cookies = tuple(value for name, value in pairs if name == "set-cookie")
        return Answer(got[0]["status"], dict(pairs), b"".join(each.get("body", b"") for each in got[1:]), cookies)


def page_of(
    memory: Memory,
    folder: Path,
    *,
    tokens: Tokens | None = None,
    clock: Clock = system_clock,
    rest: ASGIApp | None = None,
    limit: RateLimit | None = None,
    store: str | None = None,
) -> Page:
    """`store`: of which one the page says that it is, instead of its own."""
    settings = load(store=store or folder / "memory.db")
    admissions = Admissions(folder / "memory.db-page", clock)
    serving = Serving(memory, tokens, "default", clock=clock, limit=limit or RateLimit())
    hosts = frozenset({"127.0.0.1", "localhost", "::1"})
    rules = PageRules(hosts, PORT, admissions, tokens, "ada", clock)
    return Page(PageFirst(page_application(serving, rules, settings), rest), admissions)

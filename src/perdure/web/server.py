"""The page as a server of its own, or beside the routes of `perdure serve`; and how a browser is sent to it."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from perdure.auth.tokens import Tokens
from perdure.clock import Clock, system_clock
from perdure.files import write_private
from perdure.http.listening import Listening
from perdure.http.routing import Serving
from perdure.location import StoreLocation
from perdure.settings import Settings
from perdure.web.app import PageFirst, page_application
from perdure.web.page_guard import OPEN, PREFIX, PageRules
from perdure.web.sign_in import Admissions

if TYPE_CHECKING:
    from starlette.types import ASGIApp

STATE: Final = "page"
_OPENER: Final = "page-open.html"


def admissions_of(location: StoreLocation, clock: Clock = system_clock) -> Admissions:
    """The links and visits of the servers of a store."""
    return Admissions(location.beside(STATE), clock)


@dataclass(frozen=True, slots=True)
class ServedPage:
    """What puts the page beside an application: `perdure serve --ui`, or alone: `perdure ui`."""

    settings: Settings
    listening: Listening
    tokens: Tokens | None
    alone: bool = False

    @property
    def port(self) -> int:
        return int(self.listening.url.rpartition(":")[2])

    def __call__(self, serving: Serving, rest: ASGIApp) -> ASGIApp:
        admissions = admissions_of(self.settings.store, serving.clock)
        rules = PageRules(self.listening.hosts, self.port, admissions, self.tokens, self.settings.actor, serving.clock)
        return PageFirst(page_application(serving, rules, self.settings), None if self.alone else rest)

    def new_link(self) -> str:
        """What an earlier server on this port let in is not let in any more."""
        admissions = admissions_of(self.settings.store)
        admissions.end(self.port)
        return link_to(self.listening.url, admissions.new_link(self.port))


def link_to(url: str, secret: str) -> str:
    return f"{url}{PREFIX}{OPEN}?link={quote(secret)}"


def open_in_browser(link: str, location: StoreLocation, opener: Callable[[str], bool] = webbrowser.open) -> bool:
    """Through a file that only its owner may read, so that the link is in no list of processes. Whether a browser was
    found.
    """
    path = opener_file(location)
    head = f'<meta charset="utf-8"><meta http-equiv="refresh" content="0; url={escape(link)}">'
    page = f"<!doctype html>{head}<title>Perdure</title>"
    write_private(path, page.encode())
    has_screen = os.name == "nt" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    if not has_screen and os.uname().sysname != "Darwin" and opener is webbrowser.open:
        return False
    return opener(path.as_uri())


def opener_file(location: StoreLocation) -> Path:
    return location.beside(_OPENER)

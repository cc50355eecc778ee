"""`perdure ui`."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import click

from perdure.cli.command import Target, command, option
from perdure.cli.render import View, render
from perdure.cli.terminal import dim, err, safe
from perdure.errors import InvalidInput, StoreRemote
from perdure.installation import install_command

if TYPE_CHECKING:
    from perdure.settings import Settings

_EXAMPLES: Final = ("perdure ui", "perdure ui --no-open --port 9000", "perdure ui --close")
_NEEDED: Final = ("starlette", "uvicorn")


@command("ui", examples=_EXAMPLES, creates=True)
@option("--port", type=click.IntRange(0, 65535), default=0, help="The port.  [default: a free one]")
@option("--no-open", is_flag=True, help="Print the link alone; open no browser.")
@option("--close", is_flag=True, help="End all visits of the page of this store, and the unused links.")
def main(target: Target, *, port: int, no_open: bool, close: bool) -> View:
    """See what is remembered in your browser, correct it, take it back.

    It listens on this machine alone. The link counts once, for ten minutes; whoever opens it is let in for a day, or
    until `perdure ui --close`. Where `perdure serve --ui` runs for this store, give it that server's port: the page is
    opened there. Ctrl-C ends it. docs/web.md shows every screen.
    """
    from perdure.settings import load

    settings = load(store=target.store, namespace=target.namespaces[0] if target.namespaces else None)
    if settings.store.kind == "server":
        raise StoreRemote(
            f"The store is {settings.store.shown}, which has a page of its own if it was started with --ui.",
            remedy=f"Open {settings.store.shown.rstrip('/')}/ui/ and sign in with your token.",
        )
    if any(find_spec(name) is None for name in _NEEDED):
        raise InvalidInput("`perdure ui` needs packages that are not installed.", remedy=install_command("server"))
    if close:
        from perdure.web.server import admissions_of

        ended = admissions_of(settings.store).end()
        return View(json={"closed": ended}, lines=[f"Ended {ended} visit{'' if ended == 1 else 's'} of the page."])
    _serve_page(target, settings, port, opens=not no_open)
    raise click.exceptions.Exit(0)


def _serve_page(target: Target, settings: Settings, port: int, *, opens: bool) -> None:
    from perdure.http.listening import listen
    from perdure.http.rate_limit import RATE
    from perdure.http.server import serve
    from perdure.memory import Memory
    from perdure.services import open_tokens
    from perdure.web.server import ServedPage, admissions_of, link_to, open_in_browser, opener_file

    def tell(link: str) -> None:
        render(View(json={"url": link, "path": settings.store.shown}, lines=[link]), as_json=target.json)
        sys.stdout.flush()
        if opens and not open_in_browser(link, settings.store) and not target.json:
            err(dim("no browser was found: open the link above; it counts once, for ten minutes"))

    try:
        listening = listen("127.0.0.1", port)
    except InvalidInput:
        if not port or not admissions_of(settings.store).serves(port):
            raise
        # A server of this store listens there already: it takes the link from the file that both know.
        tell(link_to(f"http://127.0.0.1:{port}", admissions_of(settings.store).new_link(port)))
        return
    try:
        memory = Memory(settings=settings, surface="web", writer="person")
    except BaseException:
        listening.socket.close()
        raise
    with open_tokens(settings) as tokens:
        page = ServedPage(settings, listening, tokens, alone=True)

        def announce() -> None:
            if not target.json:
                err(dim(f"the page of {safe(settings.store.shown)}; Ctrl-C ends it"))
            tell(page.new_link())

        work = settings.store if settings.background else None
        try:
            serve(memory, settings.namespace, listening, tokens, rate=RATE, work=work, announce=announce, page=page)
        finally:
            admissions_of(settings.store).end(page.port)
            opener_file(settings.store).unlink(missing_ok=True)

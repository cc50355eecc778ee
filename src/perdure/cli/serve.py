"""`perdure serve`."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from perdure.auth.authorise import SCOPES
from perdure.auth.token_file import TokenFile
from perdure.auth.tokens import Tokens
from perdure.cli.command import Target, command, option
from perdure.cli.render import View, render
from perdure.cli.terminal import dim, err, note, safe
from perdure.errors import Conflict, InvalidInput
from perdure.http.rate_limit import RATE
from perdure.installation import install_command
from perdure.location import StoreLocation
from perdure.values import replace

if TYPE_CHECKING:
    from perdure.http.listening import Listening
    from perdure.settings import Settings
    from perdure.web.server import ServedPage

_EXAMPLES: Final = (
    "perdure serve",
    "perdure serve --port 9000",
    "perdure serve --workers 2",
    "perdure serve --no-auth",
)
_NEEDED: Final = ("fastapi", "uvicorn")
_OPEN: Final = (
    "No token is asked for: every program on this machine, of every user, may read, change and forget everything."
)


@command("serve", examples=_EXAMPLES, creates=True)
@option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@option("--port", type=click.IntRange(0, 65535), default=8733, show_default=True, help="The port; 0 takes a free one.")
@option("--allow-host", multiple=True, metavar="NAME", help="A name by which the server is reached. Repeatable.")
@option("--rate", type=click.FloatRange(min=0), default=RATE, show_default=True,
        help="Requests that a token, or a visit of the page, may make in a second; 0: no limit.")  # fmt: skip
@option("--workers", type=click.IntRange(0, 256), default=1, is_flag=False, flag_value=0, metavar="[COUNT]",
        help="Number of processes that answer; without a number, one for each core.")  # fmt: skip
@option("--no-work", is_flag=True, help="Leave outstanding work, such as missing vectors, to `perdure work`.")
@option("--ui", is_flag=True, help="Also serve the page, at /ui/, and print a link to it.")
@option("--no-auth", is_flag=True, help="Serve without tokens; only on this machine.")
def main(  # noqa: PLR0913 - one for each option
    target: Target,
    *,
    host: str,
    port: int,
    allow_host: tuple[str, ...],
    rate: float,
    workers: int,
    no_work: bool,
    ui: bool,
    no_auth: bool,
) -> View:
    """Serve the memory over HTTP, to programs that have a token.

    The first start makes a token, shows it once, and keeps it beside the store for your own programs; `perdure token`
    makes others. docs/serve.md says what can be asked, and /openapi.json says it to programs. Ctrl-C ends it.
    """
    if any(find_spec(name) is None for name in _NEEDED):
        raise InvalidInput("`perdure serve` needs packages that are not installed.", remedy=install_command("server"))
    from perdure.services import open_tokens
    from perdure.settings import load

    settings = load(store=target.store, namespace=target.namespaces[0] if target.namespaces else None)
    with open_tokens(settings) as tokens:
        asked = _Asked(host, port, allow_host, rate, workers or os.cpu_count() or 1, work=not no_work, ui=ui)
        _serve(target, settings, None if no_auth else tokens, asked)
    raise click.exceptions.Exit(0)


class _Asked(NamedTuple):
    """What the command line says about the server."""

    host: str
    port: int
    allow_host: tuple[str, ...]
    rate: float
    workers: int
    work: bool
    ui: bool


def _serve(target: Target, settings: Settings, tokens: Tokens | None, asked: _Asked) -> None:
    """Without `tokens` the server asks for none."""
    from perdure.http.listening import listen
    from perdure.http.server import serve
    from perdure.memory import Memory

    listening = listen(asked.host, asked.port, asked.allow_host)
    if tokens is None and not listening.is_loopback:
        raise InvalidInput(
            f"Without a token the server would be open to everybody who reaches {asked.host}.",
            remedy="Leave --no-auth out, or listen on 127.0.0.1.",
        )
    try:
        memory = Memory(settings=settings, surface="http", writer="person")
    except BaseException:
        listening.socket.close()
        raise
    if asked.workers > 1:
        # It is there, and can be opened; each process opens it for itself.
        memory.close()
    secret = None if tokens is None or tokens.list() else first_token(tokens, settings.store)

    page = served_page(settings, listening, tokens) if asked.ui else None

    def announce() -> None:
        link = page.new_link() if page else None
        _tell(target, settings, listening, secret, link, asks=tokens is not None)

    if asked.workers > 1:
        from perdure.http.workers import plan_of, serve_together

        plan = plan_of(
            listening, target.store, settings.namespace, asks=tokens is not None, rate=asked.rate, works=asked.work
        )
        if page is not None:
            plan = replace(plan, module="perdure.web.workers")
        if not serve_together(plan, asked.workers, announce):
            raise InvalidInput("A process of the server ended before it answered.", remedy="It says why, above.")
        return
    work = settings.store if settings.background and asked.work else None
    serve(memory, settings.namespace, listening, tokens, rate=asked.rate, work=work, announce=announce, page=page)


def _tell(
    target: Target, settings: Settings, listening: Listening, secret: str | None, link: str | None, *, asks: bool
) -> None:
    """Where it listens. `asks`: it asks for tokens."""
    shown = {"url": listening.url, "path": settings.store.shown, "secret": secret}
    shown |= {"page": link} if link else {}
    render(View(json=shown, lines=[f"Perdure listens on {listening.url}"]), as_json=target.json)
    sys.stdout.flush()
    if link and not target.json:
        err(f"The page, by a link that counts once: {link}")
    if not asks:
        err(note(_OPEN))
    if not listening.is_loopback:
        err(note("What is sent can be read on the way: put a proxy with TLS before it."))
    if secret and not target.json:
        err(f"Token, shown once and kept for your own programs: {secret}")
    elif asks and not target.json:
        err(dim(f"a token for a program: {safe(target.hint('token', 'create', 'my-agent'))}"))


def served_page(settings: Settings, listening: Listening, tokens: Tokens | None) -> ServedPage:
    from perdure.web.server import ServedPage

    return ServedPage(settings, listening, tokens)


def first_token(tokens: Tokens, location: StoreLocation) -> str | None:
    """A token for everything, for the one who started the server; also a file of the user's own, wherever tokens are
    kept. None when another server of the same store was quicker.
    """
    try:
        _, secret = tokens.create("local", scopes=SCOPES, namespaces=None, writer="person")
    except Conflict:
        return None
    TokenFile(location).keep_local(secret)
    return secret

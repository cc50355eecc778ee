"""`perdure serve`."""

from __future__ import annotations

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
from perdure.location import StoreLocation

if TYPE_CHECKING:
    from perdure.settings import Settings

_EXAMPLES: Final = ("perdure serve", "perdure serve --port 9000", "perdure serve --no-auth")
_NEEDED: Final = ("fastapi", "uvicorn")
_OPEN: Final = (
    "No token is asked for: every program on this machine, whoever runs it, may read, change and forget everything."
)


@command("serve", examples=_EXAMPLES, creates=True)
@option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@option("--port", type=click.IntRange(0, 65535), default=8733, show_default=True, help="The port; 0 takes a free one.")
@option("--allow-host", multiple=True, metavar="NAME", help="A name by which the server is reached. Repeatable.")
@option("--rate", type=click.FloatRange(min=0), default=100, show_default=True,
        help="How many requests a token may make in a second; 0 is no limit.")  # fmt: skip
@option("--no-work", is_flag=True, help="Leave outstanding work, such as missing vectors, to `perdure work`.")
@option("--no-auth", is_flag=True, help="Ask nobody for a token; only on this machine.")
def main(
    target: Target, *, host: str, port: int, allow_host: tuple[str, ...], rate: float, no_work: bool, no_auth: bool
) -> View:
    """Serve the memory over HTTP, to programs that have a token.

    The first start makes a token, shows it once, and keeps it beside the store for your own programs; `perdure token`
    makes others. docs/serve.md says what can be asked, and /openapi.json says it to programs. Ctrl-C ends it.
    """
    if any(find_spec(name) is None for name in _NEEDED):
        raise InvalidInput(
            "`perdure serve` needs packages that are not installed.", remedy="pip install 'perdure[server]'"
        )
    from perdure.services import open_tokens
    from perdure.settings import load

    settings = load(store=target.store, namespace=target.namespaces[0] if target.namespaces else None)
    with open_tokens(settings) as tokens:
        _serve(target, settings, None if no_auth else tokens, _Asked(host, port, allow_host, rate, work=not no_work))
    raise click.exceptions.Exit(0)


class _Asked(NamedTuple):
    """What the command line says about the server."""

    host: str
    port: int
    allow_host: tuple[str, ...]
    rate: float
    work: bool


def _serve(target: Target, settings: Settings, tokens: Tokens | None, asked: _Asked) -> None:
    """Without `tokens` nobody is asked for one."""
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
    secret = None if tokens is None or tokens.list() else first_token(tokens, settings.store)

    def announce() -> None:
        shown = {"url": listening.url, "path": settings.store.shown, "secret": secret}
        render(View(json=shown, lines=[f"Perdure listens on {listening.url}"]), as_json=target.json)
        sys.stdout.flush()
        if tokens is None:
            err(note(_OPEN))
        if not listening.is_loopback:
            err(note("What is sent can be read on the way: put a proxy with TLS before it."))
        if secret and not target.json:
            err(f"Token, shown once and kept for your own programs: {secret}")
        elif tokens is not None and not target.json:
            err(dim(f"a token for a program: {safe(target.hint('token', 'create', 'my-agent'))}"))

    work = settings.store if settings.background and asked.work else None
    serve(memory, settings.namespace, listening, tokens, rate=asked.rate, work=work, announce=announce)


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

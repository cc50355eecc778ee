"""`perdure token`: create, list, revoke."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import click

from perdure.auth.authorise import SCOPES, AccessToken
from perdure.cli.command import Group, Target, option
from perdure.cli.render import Column, Table, View, empty_answer
from perdure.cli.terminal import dim, safe
from perdure.cli.time_options import age, stamp, time_option
from perdure.clock import format_time, system_clock
from perdure.jsonable import token_document
from perdure.services import open_tokens
from perdure.vocabulary import WRITERS


def _namespaces(token: AccessToken) -> str:
    return "all" if token.namespaces is None else ", ".join(token.namespaces)


def _state(token: AccessToken) -> str:
    if token.revoked_at is not None:
        return "revoked"
    if token.expires_at is None:
        return "valid"
    return "expired" if token.expires_at <= system_clock() else f"expires {age(token.expires_at)}"


_COLUMNS: Final[tuple[Column[AccessToken], ...]] = (
    Column("token", lambda token: token.name, "bold cyan"),
    Column("id", lambda token: token.id, "dim"),
    Column("may", lambda token: ", ".join(token.scopes)),
    Column("in", _namespaces, share=True),
    Column("as", lambda token: token.writer),
    Column("age", lambda token: age(token.created_at), "dim"),
    Column("state", _state),
)


@click.group("token", cls=Group)
@click.pass_context
def main(ctx: click.Context) -> None:
    """Make, list and revoke the tokens that servers ask for.

    They are kept as hashes, beside the store in a file that only you may read, or in its database: a token is shown
    once, when it is made.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@main.part(
    "create",
    examples=(
        "perdure token create my-agent",
        "perdure token create reader --scope read --namespace team --expires-at 30d",
        "perdure token create me --scope read --scope write --scope delete --writer person --all-namespaces",
    ),
    several=True,
)
@click.argument("name")
@option(
    "--scope",
    "scopes",
    type=click.Choice(SCOPES),
    multiple=True,
    help="What it allows. Repeatable.  [default: read, write]",
)
@option("--all-namespaces", is_flag=True, help="Good for every namespace, also for those to come.")
@option(
    "--writer",
    type=click.Choice(WRITERS),
    default="model",
    show_default=True,
    help="As whom it writes: a model may do less.",
)
@option("--expires-at", also=("--expires",), help="Until when it counts, such as 30d.", **time_option("expires_at"))
def create(
    target: Target,
    *,
    name: str,
    scopes: tuple[str, ...],
    all_namespaces: bool,
    writer: str,
    expires_at: datetime | None,
) -> View:
    """Make a token, and show it once.

    What is done with it is written in the log as NAME. It is good for the namespaces that --namespace names, or for
    your own default one.
    """
    if all_namespaces and target.namespaces:
        raise click.UsageError("Use --namespace or --all-namespaces, not both.")
    settings = target.own_settings
    with open_tokens(settings) as tokens:
        token, secret = tokens.create(
            name,
            scopes=scopes or ("read", "write"),
            namespaces=None if all_namespaces else target.namespaces or (settings.namespace,),
            writer=writer,
            expires_at=expires_at,
        )
    until = f", until {stamp(token.expires_at)}" if token.expires_at else ""
    said = f"{token.name} may {', '.join(token.scopes)} in {_namespaces(token)} as a {token.writer}{until}."
    return View(
        json={**token_document(token), "secret": secret},
        lines=[secret],
        after=[safe(said), dim(f"It is not shown again. Revoke it: {target.hint('token', 'revoke', token.name)}")],
    )


@main.part("list", examples=("perdure token list", "perdure token list --json"))
def list_(target: Target) -> View:
    """List the tokens, oldest first, also those that no longer count.

    In a pipe each is one line: name, id, scopes, namespaces, writer, time made, state.
    """
    with open_tokens(target.own_settings) as kept:
        tokens = kept.list()
    make_one = f"Make one: {target.hint('token', 'create', 'my-agent')}"
    return View(
        json={"access_tokens": [token_document(each) for each in tokens]},
        lines=[Table(_COLUMNS, tokens)] if tokens else [],
        rows=[
            (t.name, t.id, ",".join(t.scopes), _namespaces(t), t.writer, format_time(t.created_at), _state(t))
            for t in tokens
        ],
        after=() if tokens else empty_answer("There is no token for this store yet.", make_one),
    )


@main.part("revoke", examples=("perdure token revoke my-agent",))
@click.argument("name")
def revoke(target: Target, *, name: str) -> View:
    """Revoke a token, by its name or its id. Servers refuse it from then on."""
    with open_tokens(target.own_settings) as tokens:
        token = tokens.revoke(name)
    when = "within two seconds" if target.own_settings.store.kind == "database" else "now"
    said = f"Revoked {safe(token.name)} ({token.id}); servers refuse it {when}"
    return View(json=token_document(token), lines=[said])

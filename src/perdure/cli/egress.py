"""`perdure egress`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from perdure.cli.command import Target, command, option
from perdure.cli.render import Column, Table, View
from perdure.cli.terminal import dim, safe
from perdure.cli.time_options import age, time_option
from perdure.clock import format_local, format_time
from perdure.jsonable import egress_document
from perdure.model import Egress, EgressDay
from perdure.providers.call import ProviderCall


def _tokens(one: ProviderCall | EgressDay) -> str:
    return f"{one.input_tokens + one.output_tokens:,}"


def _cost(one: ProviderCall | EgressDay) -> str:
    return "" if one.cost is None else f"{one.cost:.4f}"


_DAYS: Final[tuple[Column[EgressDay], ...]] = (
    Column("day", lambda day: day.day, "bold cyan"),
    Column("model", lambda day: f"{day.provider}:{day.model}", fold=True),
    Column("host", lambda day: day.host, fold=True),
    Column("requests", lambda day: f"{day.requests:,}", number=True),
    Column("failed", lambda day: f"{day.failed:,}" if day.failed else "", number=True, optional=True),
    Column("texts", lambda day: f"{day.texts:,}", number=True),
    Column("bytes", lambda day: f"{day.sent_bytes:,}", number=True),
    Column("tokens", _tokens, number=True),
    Column("cost", _cost, number=True, optional=True),
)
_CALLS: Final[tuple[Column[ProviderCall], ...]] = (
    Column("when", lambda call: age(call.at), "dim"),
    Column("model", lambda call: f"{call.provider}:{call.model}", fold=True),
    Column("purpose", lambda call: call.purpose),
    Column("texts", lambda call: f"{call.items:,}", number=True),
    Column("sent", lambda call: f"{call.sent_bytes:,}", number=True),
    Column("received", lambda call: f"{call.received_bytes:,}", number=True),
    Column("tokens", _tokens, number=True),
    Column("cost", _cost, number=True, optional=True),
    Column("outcome", lambda call: call.outcome),
)


@command("egress", examples=("perdure egress", "perdure egress --since yesterday", "perdure egress --json | jq .today"))
@option("--since", **time_option("since"), help="Only from this time on: 2026-03-14, 3d, 'last week', Monday.")
@option("--limit", "-l", type=int, default=20, show_default=True, help="Maximum number of requests to list.")
def main(target: Target, *, since: datetime | None, limit: int) -> View:
    """List what left this machine.

    Each request to a model elsewhere is listed, with its purpose and its size, and never with a word of what it said.
    In a pipe each is one line: time, provider, model, host, purpose, texts, bytes sent, bytes received, tokens in,
    tokens out, cost, outcome.
    """
    with target.memory() as memory:
        egress = memory.egress(since=since, limit=limit)
    return View(
        json=egress_document(egress),
        lines=_page(egress, since),
        rows=[
            (
                format_time(call.at), call.provider, call.model, call.host, call.purpose, call.items, call.sent_bytes,
                call.received_bytes, call.input_tokens, call.output_tokens, call.cost, call.outcome,
            )
            for call in egress.calls
        ],
        after=_remarks(egress, since),
    )  # fmt: skip


def _page(egress: Egress, since: datetime | None) -> Iterator[str | Table[EgressDay] | Table[ProviderCall]]:
    if not egress.calls:
        return
    yield Table(_DAYS, egress.days)
    yield ""
    requests = sum(day.requests for day in egress.days)
    shown = f"the newest {len(egress.calls):,} of {requests:,}" if len(egress.calls) < requests else "all of them"
    yield dim(f"requests, newest first ({shown}{f', since {format_local(since)}' if since else ''})")
    yield Table(_CALLS, egress.calls)


def _remarks(egress: Egress, since: datetime | None) -> Iterator[str]:
    if not egress.calls:
        yield f"Nothing has left this machine{f' since {format_local(since)}' if since else ''}."
    hosts = ", ".join(egress.allowed)
    yield dim(f"egress is {safe(hosts)}: texts may be sent there" if hosts else "egress is none: nothing may leave")
    today = egress.today
    if egress.calls or today.daily_tokens or today.daily_cost:
        tokens = f"{today.used_tokens:,}{f' of {today.daily_tokens:,}' if today.daily_tokens else ''} tokens"
        cost = f"cost {today.used_cost:.4f}{f' of {today.daily_cost:g}' if today.daily_cost else ''}"
        next_day = format_local(today.resets_at, "%Y-%m-%d %H:%M")
        yield dim(f"today: {tokens}, {cost}; the next day begins {next_day}")

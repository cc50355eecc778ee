"""`perdure parked`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import click

from perdure.cli.command import Target, command, option
from perdure.cli.exit_codes import FAILED, OK
from perdure.cli.render import Column, Table, View, empty_answer
from perdure.cli.terminal import dim, note, number_label, safe
from perdure.cli.time_options import age, stamp
from perdure.clock import format_time
from perdure.errors import NotFound
from perdure.jsonable import parked_document
from perdure.llm.port import Parked

_EXAMPLES: Final = ("perdure parked", "perdure parked 3", "perdure parked --retry", "perdure parked 3 4 --discard")
_COLUMNS: Final[tuple[Column[Parked], ...]] = (
    Column("id", lambda parked: str(parked.id), "bold cyan", number=True),
    Column("for", lambda parked: parked.purpose),
    Column("memory", lambda parked: f"#{parked.memory}" if parked.memory else "", number=True),
    Column("model", lambda parked: parked.model, fold=True),
    Column("asked", lambda parked: f"{parked.attempts:,}", number=True),
    Column("age", lambda parked: age(parked.at), "dim"),
    Column("why it could not be used", lambda parked: parked.error, share=True),
)


@command("parked", examples=_EXAMPLES)
@click.argument("ids", nargs=-1, type=int, metavar="[ID]...")
@option("--retry", is_flag=True, help="Ask the model again: about these, or about all that is parked.")
@option("--discard", is_flag=True, help="Throw these away. The memories stay as they are.")
def main(target: Target, *, ids: tuple[int, ...], retry: bool, discard: bool) -> View:
    """List, retry or discard what a model said that could not be used.

    With ID it shows all that the model said, as data. In a pipe each is one line: id, purpose, number of the memory,
    model, times asked, time, reason, and what the model said. Exit code 1 when a retry leaves something parked.
    """
    if retry and discard:
        raise click.UsageError("Use --retry or --discard, not both.")
    if discard and not ids:
        raise click.UsageError("Say what to throw away: perdure parked ID --discard")
    with target.memory() as memory:
        if retry:
            retried = memory.retry_parked(ids or None)
            left = len(retried.still_parked)
            answered = f"Asked again: {len(retried.answered):,} answered, {left:,} still parked."
            lines = [answered] if retried.answered or left else ["Nothing is parked."]
            after = [*map(note, retried.notes)]
            if retried.batch:
                after.append(dim(f"take it back: {target.hint('undo', retried.batch)}"))
            return View(json=retried, lines=lines, after=after, exit_code=FAILED if left else OK)
        if discard:
            gone = memory.discard_parked(ids)
            return View(json={"discarded": list(gone)}, lines=[f"Discarded {len(gone):,}; no memory was touched."])
        parked = memory.parked()
    by_id = {each.id: each for each in parked}
    if missing := [each for each in ids if each not in by_id]:
        raise NotFound(f"Nothing is parked under {missing[0]}.", remedy=f"List what is: {target.hint('parked')}")
    shown = [by_id[each] for each in ids] if ids else parked
    return View(
        json=parked_document(shown),
        lines=_details(shown) if ids else [Table(_COLUMNS, shown)] if shown else [],
        rows=[(p.id, p.purpose, p.memory, p.model, p.attempts, format_time(p.at), p.error, p.output) for p in shown],
        after=_next_steps(target, shown),
    )


def _details(shown: Sequence[Parked]) -> Iterator[str]:
    for each in shown:
        about = f" about {number_label(each.memory)}" if each.memory else ""
        yield f"{click.style(str(each.id), fg='cyan', bold=True)}  {safe(each.purpose)}{about}"
        yield dim(f"{safe(each.model)}, asked {each.attempts:,} times, {stamp(each.at)}")
        yield safe(each.error)
        # What a model says is data: nothing of it may steer the terminal, or look like ours.
        yield from (f"{dim('|')} {line}" for line in safe(each.output).split("\n"))
        yield ""


def _next_steps(target: Target, shown: Sequence[Parked]) -> Sequence[str]:
    if not shown:
        return empty_answer("Nothing is parked: every answer of a language model could be used.")
    first = shown[0].id
    return (dim(f"ask again: {target.hint('parked', '--retry')}; look at one: {target.hint('parked', first)}"),)

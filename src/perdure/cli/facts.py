"""`perdure facts`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

import click

from perdure.cli.command import Target, command, option
from perdure.cli.field_options import completing
from perdure.cli.render import View, empty_answer
from perdure.cli.terminal import dim, number_label, safe
from perdure.cli.waiting import next_step
from perdure.clock import format_time, local_day
from perdure.jsonable import list_document
from perdure.model import FACT_CATEGORIES, Record

if TYPE_CHECKING:
    from perdure.learn.results import Fact

_EXAMPLES: Final = (
    "perdure facts",
    'perdure facts "where does she live"',
    "perdure facts --about Ada",
    "perdure facts --category guideline --conversation-id support-42",
    "perdure facts --history --json",
)


@command("facts", examples=_EXAMPLES)
@click.argument("query", required=False)
@option("--about", metavar="NAME", help="Only what is known of this person or thing, by category.")
@option(
    "--conversation-id",
    "conversation",
    also=("--conversation",),
    metavar="ID",
    help="Only what was learned in this conversation.",
)
@option("--category", shell_complete=completing(FACT_CATEGORIES), metavar="C", help="Only facts of this category.")
@option("--history", is_flag=True, help="Include facts that are no longer true, and what replaced them.")
@option("--limit", "-l", type=int, default=20, show_default=True, help="Maximum number of results.")
def main(
    target: Target,
    *,
    query: str | None,
    about: str | None,
    conversation: str | None,
    category: str | None,
    history: bool,
    limit: int,
) -> View:
    """List or search what is known, and what was known before.

    Facts are extracted from conversations, or stored by you with a fact category. With QUERY it shows those that
    answer it best, without it the newest. With --about it shows what holds of a person, by whichever name they go by:
    each category with its facts, the newest first, and since when each is true. In a pipe each is one line: number,
    state, category, since when it is true, until when, how many episodes say so, confidence, text.
    """
    with target.memory() as memory:
        facts = memory.facts(
            query, about=about, limit=limit, history=history, conversation_id=conversation, category=category
        )
        missing = "" if facts else next_step(target, memory, conversation)
    unknown = empty_answer("No such fact is known." if about is None else f"Nothing is known of {about}.", missing)
    return View(
        json=list_document("facts", facts),
        lines=fact_lines(facts, history=history) if about is None else profile_lines(facts, history=history),
        rows=(
            (
                each.number, each.state, each.category, format_time(each.valid_at or each.created_at),
                each.invalid_at and format_time(each.invalid_at), len(each.evidence), each.confidence, each.text,
            )
            for fact in facts
            for each in (fact.record, *(fact.earlier if history else ()))
        ),
        after=unknown if missing else next_steps(target, facts, history=history),
    )  # fmt: skip


def fact_lines(facts: Sequence[Fact], *, history: bool) -> Iterator[str]:
    """`#7  [identity] User lives in Tokyo (sources: 1 conversation)`, and below it what was true before."""
    for fact in facts:
        ended = "" if fact.record.state == "active" else dim(f"  {lifetime(fact.record)}")
        yield f"{number_label(fact.record.number)}  {safe(fact.line)}{ended}"
        for earlier in fact.earlier if history else ():
            yield dim(f"      #{earlier.number} {lifetime(earlier)}: {safe(earlier.text)}")


def profile_lines(facts: Sequence[Fact], *, history: bool) -> Iterator[str]:
    """Each category, and below it `#7  since 2026-02-14  Ada lives in Tokyo now`, and what was true before."""
    for category, group in groupby(facts, key=lambda fact: fact.record.category or ""):
        yield click.style(safe(category), bold=True)
        for fact in group:
            yield f"  {number_label(fact.record.number)}  {dim(lifetime(fact.record))}  {safe(fact.record.text)}"
            for earlier in fact.earlier if history else ():
                yield dim(f"      #{earlier.number} {lifetime(earlier)}: {safe(earlier.text)}")


def lifetime(record: Record) -> str:
    """`2026-01-04 to 2026-03-01`, in local time."""
    began = local_day(record.valid_at or record.created_at)
    return f"{began} to {local_day(record.invalid_at)}" if record.invalid_at else f"since {began}"


def next_steps(target: Target, facts: Sequence[Fact], *, history: bool) -> tuple[str, ...]:
    changed = next((fact for fact in facts if fact.earlier), None)
    if changed and not history:
        return (dim(f"what was true before: {target.hint('facts', history=True)}"),)
    return (dim(f"where one comes from: {target.hint('show', facts[0].record.number)}"),)

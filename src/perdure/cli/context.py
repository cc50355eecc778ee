"""`perdure context`."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import click

from perdure.cli.command import command, option
from perdure.cli.fields import completing
from perdure.cli.filters import AS_OF, KNOWN_AT, about_the_past, chosen, filter_options, in_words
from perdure.cli.layout import clip
from perdure.cli.screen import dim, notes, safe, say, tell
from perdure.cli.stdin import words_or_stdin
from perdure.cli.target import Target, with_target
from perdure.jsonable import to_jsonable
from perdure.model import INDEXED_STATES, Context

_EXAMPLES = (
    "perdure context 'how do we release?'",
    "perdure context 'what does Alice like?' --budget 500",
    "perdure context deployment -n alice -n team --tag ops",
    "perdure context deployment --format json",
    "perdure context deployment --json | jq -r '.omitted[].record.number'",
)
_FORMATS: Final = ("text", "json")
_LISTED: Final = 20


@command("context", examples=_EXAMPLES)
@click.argument("query", nargs=-1)
@option("--budget", "-b", type=int, default=2000, show_default=True, metavar="TOKENS", help="At most so many tokens.")
@option("--limit", "-l", type=int, default=50, show_default=True, help="Choose from the best so many memories.")
@option("--concept", "concepts", multiple=True, metavar="WORDS", help="Only of memories that hold this; two to five.")
@option("--format", metavar="NAME", default="text", show_default=True, shell_complete=completing(_FORMATS),
        help="How each memory is written: text, or json for one object per line.")  # fmt: skip
@option("--recipe", metavar="NAME", help="How to weigh the signals.  [default: balanced]")
@AS_OF
@KNOWN_AT
@option("--no-constitutional", is_flag=True, help="Leave out the memories that are always shown.")
@filter_options(INDEXED_STATES)
@with_target(several=True)
def main(
    target: Target,
    *,
    query: tuple[str, ...],
    concepts: tuple[str, ...],
    budget: int,
    limit: int,
    format: Any,
    recipe: str | None,
    no_constitutional: bool,
    **options: Any,
) -> None:
    """Pack what matters for a question into a budget of tokens.

    QUERY is a question or some words; `-`, or nothing with a pipe, reads standard input. The answer is one text to put
    before a model: what is always surfaced, then the best of what was found, each with its date, number and origin,
    as data between two marks that no memory can forge. What is too long speaks in fewer words; what found no room is
    named on stderr.
    """
    question = words_or_stdin(query, "The question")
    past: dict[str, datetime | None] = {name: options.pop(name) for name in ("as_of", "known_at")}
    filters = chosen(options)
    with target.memory() as memory:
        made = memory.context(
            question,
            concepts=concepts or None,
            budget=budget,
            limit=limit,
            format=format,
            namespaces=target.namespaces if len(target.namespaces) > 1 else None,
            recipe=recipe,
            include_constitutional=not no_constitutional,
            **past,
            **filters,
        )
    if target.json:
        target.answer({**to_jsonable({name: moment for name, moment in past.items() if moment}), **to_jsonable(made)})
        return
    notes((*about_the_past(**past), *made.notes))
    if made.text:
        say(safe(made.text))
        tell(dim(f"{made.tokens:,} of {made.budget:,} tokens ({made.token_counter}){_left_out(made)}"))
    else:
        _nothing(target, made, question, filters)


def _left_out(made: Context) -> str:
    over = [f"#{one.record.number}" for one in made.omitted if one.reason == "budget"]
    again = len(made.omitted) - len(over)
    more = f" and {len(over) - _LISTED} more" if len(over) > _LISTED else ""
    parts = [f"no room for {' '.join(over[:_LISTED])}{more}"] if over else []
    parts += [f"{again} said the same as another"] if again else []
    return "".join(f"; {part}" for part in parts)


def _nothing(target: Target, made: Context, question: str, filters: dict[str, Any]) -> None:
    if made.omitted:
        tell(f"{made.budget:,} tokens are too few for any of {len(made.omitted):,} memories.")
        tell(f"  Allow more: {target.hint('context', question, '--budget', 2000)}")
        return
    among = f" among those with {in_words(filters)}" if filters else ""
    tell(safe(f"Nothing found for {clip(question, 60)!r}{among}."))
    tell(f"  See what there is: {target.hint('list')}")

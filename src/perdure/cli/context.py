"""`perdure context`."""

from __future__ import annotations

from typing import Any, Final

import click

from perdure.cli.command import Target, command, option
from perdure.cli.field_options import completing
from perdure.cli.filter_options import about_the_past, filters_in_words, given_options, search_options
from perdure.cli.render import View, empty_answer
from perdure.cli.stdin import words_or_stdin
from perdure.cli.terminal import dim, note, safe
from perdure.cli.text_layout import clip
from perdure.jsonable import past_document

_EXAMPLES: Final = (
    "perdure context 'how do we release?'",
    "perdure context 'what does Alice like?' --budget 500",
    "perdure context deployment -n alice -n team --tag ops",
    "perdure context deployment --format records",
    "perdure context deployment --json | jq -r '.omitted[].record.number'",
)
_FORMATS: Final = ("text", "records")
_LISTED: Final = 20


@command("context", examples=_EXAMPLES, several=True)
@click.argument("query", nargs=-1)
@option("--budget", "-b", type=int, default=2000, show_default=True, metavar="TOKENS", help="Maximum number of tokens.")
@option("--limit", "-l", type=int, default=50, show_default=True, help="Maximum number of memories to choose from.")
@option("--format", metavar="NAME", default="text", show_default=True, shell_complete=completing(_FORMATS),
        help="How each memory is written: text, or records for one JSON object per line.")  # fmt: skip
@search_options
def main(target: Target, *, query: tuple[str, ...], no_constitutional: bool, **options: Any) -> View:
    """Pack what matters for a question into a budget of tokens.

    QUERY is a question or some words; `-`, or nothing with a pipe, reads standard input. The answer is one text to put
    before a model: what is always surfaced, then the best of what was found, each with its date, number and origin,
    as data between two marks that no memory can forge. Long memories are shortened; memories that did not fit are
    listed on stderr.
    """
    question, narrowed = words_or_stdin(query, "The question"), filters_in_words(options)
    times = {"as_of": options["as_of"], "known_at": options["known_at"]}
    with target.memory() as memory:
        context = memory.context(
            question,
            namespaces=target.several,
            include_constitutional=not no_constitutional,
            **given_options(options),
        )
    if context.text:
        used = f"{context.tokens:,} of {context.budget:,} tokens ({context.token_counter})"
        too_long = [f"#{each.record.number}" for each in context.omitted if each.reason == "budget"]
        more = f" and {len(too_long) - _LISTED} more" if len(too_long) > _LISTED else ""
        used += f"; no room for {' '.join(too_long[:_LISTED])}{more}" if too_long else ""
        duplicates = len(context.omitted) - len(too_long)
        used += f"; {duplicates} said the same as another" if duplicates else ""
        after = (dim(used),)
    elif context.omitted:
        after = empty_answer(
            f"{context.budget:,} tokens are too few for any of {len(context.omitted):,} memories.",
            f"Allow more: {target.hint('context', question, budget=2000)}",
        )
    else:
        among = f" among memories{narrowed}" if narrowed else ""
        more = f"See what there is: {target.hint('list')}"
        if context.nearest is not None:
            more = f"Pack it all the same: {target.hint('context', question, min_relevance=0)}"
        after = empty_answer(f"Nothing found for {clip(question, 60)!r}{among}.", more)
    return View(
        json=past_document(context, **times),
        lines=[safe(context.text)] if context.text else [],
        before=(*about_the_past(**times), *map(note, context.notes)),
        after=after,
    )

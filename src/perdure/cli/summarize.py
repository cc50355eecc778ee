"""`perdure summarize`."""

from __future__ import annotations

from typing import Any, Final

import click

from perdure.cli.command import command, option
from perdure.cli.filters import chosen, filter_options, in_words
from perdure.cli.layout import clip, wrap
from perdure.cli.screen import dim, fancy, glyphs, safe, say, tell, width
from perdure.cli.target import Target, with_target
from perdure.jsonable import to_jsonable
from perdure.model import INDEXED_STATES, Summary

_EXAMPLES = (
    "perdure summarize",
    "perdure summarize 'the Osaka flat' --tokens 200",
    "perdure summarize --category preference --since 2w",
    "perdure summarize person:alice --json | jq '[.sources[].number]'",
)
_LISTED: Final = 20


@command("summarize", examples=_EXAMPLES)
@click.argument("scope", nargs=-1)
@option("--tokens", "--token-limit", "tokens", type=int, default=500, show_default=True, help="At most so many tokens.")
@filter_options(INDEXED_STATES)
@with_target()
def main(target: Target, *, scope: tuple[str, ...], tokens: int, **options: Any) -> None:
    """Make one short text of many memories.

    SCOPE is a question, some words or a key; without it everything is summarised. The text is made of sentences of
    the memories themselves, and each line ends with the number of its memory. What it was made from is said on
    stderr; with --json it is in the answer.
    """
    filters = chosen(options)
    with target.memory() as memory:
        made = memory.summarize(" ".join(scope) if scope else None, token_limit=tokens, **filters)
    if target.json:
        target.answer(to_jsonable(made))
        return
    if not made.text:
        _nothing(target, made, " ".join(scope), filters)
        return
    if fancy():
        for line in made.text.split("\n"):
            _paragraph(line)
    else:
        say(safe(made.text))
    _sources(made)


def _paragraph(line: str) -> None:
    if not line.startswith("- "):
        say(click.style(safe(line), bold=True))
        return
    for place, part in enumerate(wrap(safe(line[2:]), width() - 2)):
        say(f"{'  ' if place else glyphs().dot + ' '}{part}")


def _sources(made: Summary) -> None:
    numbers = [f"#{record.number}" for record in made.sources]
    listed = " ".join(numbers[:_LISTED]) + (f" and {len(numbers) - _LISTED} more" if len(numbers) > _LISTED else "")
    left = f", {made.omitted_count:,} left out" if made.omitted_count else ""
    tell(dim(f"{made.tokens:,} of {made.budget:,} tokens ({made.token_counter}), from {listed}{left}"))


def _nothing(target: Target, made: Summary, scope: str, filters: dict[str, Any]) -> None:
    if made.omitted_count:
        tell(f"{made.budget:,} tokens are too few for any of {made.omitted_count:,} memories.")
        tell(f"  Allow more: {target.hint('summarize', *([scope] if scope else []), '--tokens', 500)}")
    elif scope or filters:
        about = f" about {clip(scope, 60)!r}" if scope else ""
        among = f" with {in_words(filters)}" if filters else ""
        tell(safe(f"No memory{about}{among}."))
        tell(f"  Summarise everything: {target.hint('summarize')}")
    else:
        tell("There is no memory here yet.")
        tell(f"  Store one: {target.hint('remember', 'Alice prefers dark mode')}")

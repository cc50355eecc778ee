"""`perdure summarize`."""

from __future__ import annotations

from typing import Any, Final

import click

from perdure.cli.command import Target, command, option
from perdure.cli.filter_options import filter_options, filters_in_words, given_options
from perdure.cli.render import View, empty_answer
from perdure.cli.terminal import dim, glyphs, safe, width
from perdure.cli.text_layout import clip, wrap
from perdure.model import INDEXED_STATES

_EXAMPLES: Final = (
    "perdure summarize",
    "perdure summarize 'the Osaka flat' --budget 200",
    "perdure summarize --category preference --since 2w",
    "perdure summarize person:alice --json | jq '[.sources[].number]'",
)
_LISTED: Final = 20


@command("summarize", examples=_EXAMPLES)
@click.argument("scope", nargs=-1)
@option("--budget", "-b", type=int, metavar="TOKENS", default=500, show_default=True, help="Maximum number of tokens.")
@filter_options(INDEXED_STATES)
def main(target: Target, *, scope: tuple[str, ...], budget: int, **options: Any) -> View:
    """Make one short text of many memories.

    SCOPE is a question, some words or a key; without it everything is summarised. The text is made of sentences of
    the memories themselves, and each line ends with the number of its memory. What it was made from is said on
    stderr; with --json it is in the answer.
    """
    words = " ".join(scope)
    with target.memory() as memory:
        summary = memory.summarize(words if scope else None, token_limit=budget, **given_options(options))
    narrowed = filters_in_words(options)
    if not summary.text and summary.omitted_count:
        few = f"{summary.budget:,} tokens are too few for any of {summary.omitted_count:,} memories."
        again = target.hint("summarize", *([words] if words else []), budget=500)
        return View(json=summary, after=empty_answer(few, f"Allow more: {again}"))
    if not summary.text and not words and not narrowed:
        return View(json=summary, after=empty_answer("There is no memory here yet.", target.first_memory))
    if not summary.text:
        about = f" about {clip(words, 60)!r}" if words else ""
        everything = f"Summarise everything: {target.hint('summarize')}"
        return View(json=summary, after=empty_answer(f"No memories{about}{narrowed}.", everything))
    lines: list[str] = []
    for line in summary.text.split("\n"):
        if line.startswith("- "):
            first, *rest = wrap(safe(line[2:]), width() - 2)
            lines += [f"{glyphs().dot} {first}", *(f"  {part}" for part in rest)]
        else:
            lines.append(click.style(safe(line), bold=True))
    sources = [f"#{record.number}" for record in summary.sources]
    more = f" and {len(sources) - _LISTED} more" if len(sources) > _LISTED else ""
    omitted = f", {summary.omitted_count:,} left out" if summary.omitted_count else ""
    used = f"{summary.tokens:,} of {summary.budget:,} tokens ({summary.token_counter})"
    made_from = dim(f"{used}, from {' '.join(sources[:_LISTED])}{more}{omitted}")
    return View(json=summary, lines=lines, rows=[safe(summary.text)], after=[made_from])

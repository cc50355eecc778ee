"""`perdure triggers`."""

from __future__ import annotations

from typing import Final

import click

from perdure.cli.command import Target, command, option
from perdure.cli.record_view import title_and_text
from perdure.cli.render import View, empty_answer
from perdure.cli.stdin import words_or_stdin
from perdure.cli.terminal import dim, glyphs, number_label, safe, width
from perdure.cli.text_layout import clip
from perdure.jsonable import list_document

_EXAMPLES: Final = (
    "perdure triggers 'please save context for the auth work'",
    "perdure triggers --limit 1 'how do we release?'",
    "perdure triggers 'save context' --json | jq '.triggered[].phrase'",
)


@command("triggers", examples=_EXAMPLES, several=True)
@click.argument("prompt", nargs=-1)
@option("--limit", "-l", type=int, default=3, show_default=True, help="Maximum number of results.")
def main(target: Target, *, prompt: tuple[str, ...], limit: int) -> View:
    r"""Show which memories a prompt brings to mind.

    PROMPT is what somebody is about to say; `-`, or nothing with a pipe, reads standard input. The command finds the
    memories with a trigger phrase that the prompt holds, whatever its case, accents and inflection. In a pipe each is
    one line of fields with tabs between them: number, confidence, namespace, phrase, text. Tab, line break and
    backslash inside a field are written \t, \n and \\.
    """
    words = words_or_stdin(prompt, "The prompt")
    with target.memory() as memory:
        triggered = memory.match_triggers(words, limit=limit, namespaces=target.several)
    more, lines = glyphs().more, list[str]()
    for each in triggered:
        namespace = f"{safe(each.record.namespace)} " if target.several else ""
        confidence = click.style(f"{each.confidence:.2f}", fg="green")
        phrase = dim(safe(clip(each.phrase, width() - 24, more)))
        lines.append(f"{namespace}{number_label(each.record.number)}  {confidence}  {phrase}")
        lines.append(f"    {safe(clip(title_and_text(each.record), width() - 4, more))}")
    give_one = f"Give a memory one: {target.hint('update', 'NUMBER', trigger_phrase='save context')}"
    return View(
        json=list_document("triggered", triggered),
        lines=lines,
        rows=(
            (each.record.number, f"{each.confidence:.2f}", each.record.namespace, each.phrase, each.record.text)
            for each in triggered
        ),
        before=() if triggered else empty_answer(f"No trigger phrase in {clip(words, 60)!r}.", give_one),
    )

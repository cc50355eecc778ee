"""`perdure triggers`."""

from __future__ import annotations

import click

from perdure.cli.command import command, option
from perdure.cli.layout import clip
from perdure.cli.screen import dim, fancy, glyphs, row, safe, say, tell, width
from perdure.cli.stdin import words_or_stdin
from perdure.cli.target import Target, with_target
from perdure.jsonable import to_jsonable
from perdure.model import Triggered

_EXAMPLES = (
    "perdure triggers 'please save context for the auth work'",
    "perdure triggers --limit 1 'how do we release?'",
    "perdure triggers 'save context' --json | jq '.triggered[].phrase'",
)


@command("triggers", examples=_EXAMPLES)
@click.argument("prompt", nargs=-1)
@option("--limit", "-l", type=int, default=3, show_default=True, help="At most so many.")
@with_target(several=True)
def main(target: Target, *, prompt: tuple[str, ...], limit: int) -> None:
    r"""Show which memories a prompt brings to mind.

    PROMPT is what somebody is about to say; `-`, or nothing with a pipe, reads standard input. Found are the memories
    with a trigger phrase in it, whatever its case, accents and inflection. In a pipe each is one line of fields with
    tabs between them: number, confidence, namespace, phrase, text. Tab, line break and backslash inside a field are
    written \t, \n and \\.
    """
    said = words_or_stdin(prompt, "The prompt")
    several = target.namespaces if len(target.namespaces) > 1 else None
    with target.memory() as memory:
        found = memory.match_triggers(said, limit=limit, namespaces=several)
    if target.json:
        target.answer({"triggered": to_jsonable(found)})
        return
    if not found:
        tell(safe(f"No trigger phrase in {clip(said, 60)!r}."))
        tell(f"  Give a memory one: {target.hint('update', 'NUMBER', '--trigger-phrase', 'save context')}")
    for one in found:
        if fancy():
            _paragraph(one, several=several is not None)
        else:
            row(one.record.number, f"{one.confidence:.2f}", one.record.namespace, one.phrase, one.record.text)


def _paragraph(one: Triggered, *, several: bool) -> None:
    record, more = one.record, glyphs().more
    place = f"{safe(record.namespace)} " if several else ""
    name = click.style(f"#{record.number}", fg="cyan", bold=True)
    confidence = click.style(f"{one.confidence:.2f}", fg="green")
    say(f"{place}{name}  {confidence}  {dim(safe(clip(one.phrase, width() - 24, more)))}")
    said = f"{record.title}: {record.text}" if record.title else record.text
    say(f"    {safe(clip(said, width() - 4, more))}")

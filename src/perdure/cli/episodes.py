"""`perdure episodes`."""

from __future__ import annotations

from typing import Final

import click

from perdure.cli.command import Target, command, option
from perdure.cli.render import Column, Table, View, empty_answer
from perdure.cli.terminal import dim
from perdure.cli.time_options import age
from perdure.clock import format_time
from perdure.episodes.metadata import SURPRISE, UNTIL
from perdure.ids import EPISODE
from perdure.model import Record

_EXAMPLES: Final = (
    "perdure episodes",
    'perdure episodes "the move to Osaka"',
    "perdure episodes --conversation-id support-42 --json",
)
_COLUMNS: Final[tuple[Column[Record], ...]] = (
    Column("#", lambda record: str(record.number), "bold cyan", number=True),
    Column("episode", lambda record: record.title or record.text, share=True),
    Column("conversation", lambda record: record.conversation_id or "", fold=True),
    Column("surprise", lambda record: str(record.metadata.get(SURPRISE, "")), number=True),
    Column("age", lambda record: age(record.valid_at or record.created_at), "dim"),
)


@command("episodes", examples=_EXAMPLES)
@click.argument("query", required=False)
@option(
    "--conversation-id",
    "conversation",
    also=("--conversation",),
    metavar="ID",
    help="Only episodes of this conversation.",
)
@option("--limit", "-l", type=int, default=10, show_default=True, help="Maximum number of results.")
def main(target: Target, *, query: str | None, conversation: str | None, limit: int) -> View:
    """List or search the episodes of conversations.

    With QUERY it shows those that answer it best and are remembered best, without it the newest. In a pipe each is one
    line: number, conversation, beginning, end, surprise, title, summary.
    """
    with target.memory() as memory:
        if query is None:
            answer = memory.list(limit=limit, key_type=EPISODE, conversation_id=conversation)
            found = list(answer.records)
        else:
            answer = memory.episodes(query, limit=limit, conversation_id=conversation)
            found = [hit.record for hit in answer]
    return View(
        json=answer,
        lines=[Table(_COLUMNS, found)] if found else [],
        rows=(
            (
                each.number, each.conversation_id, format_time(each.valid_at or each.created_at),
                each.metadata.get(UNTIL), each.metadata.get(SURPRISE), each.title, each.text,
            )
            for each in found
        ),
        after=(dim(f"all of it: {target.hint('show', found[0].number)}"),) if found else empty_answer(
            "There is no such episode.", f"Make episodes of what was said: {target.hint('work')}"
        ),
    )  # fmt: skip

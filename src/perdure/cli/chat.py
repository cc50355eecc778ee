"""`perdure chat`: import, list."""

from __future__ import annotations

import click

from perdure.cli.command import FilePath, Group, Target
from perdure.cli.confirm import DRY_RUN
from perdure.cli.imported_view import imported_view, source_file
from perdure.cli.progress import Bar
from perdure.cli.render import View, empty_answer
from perdure.cli.terminal import safe
from perdure.jsonable import list_document


@click.group("chat", cls=Group)
@click.pass_context
def main(ctx: click.Context) -> None:
    """Read conversations from a file, and list them.

    Every message of a conversation is a memory of its own: recall finds it, and it can be forgotten and taken back.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@main.part(
    "import",
    examples=(
        "perdure chat import chats.jsonl",
        "perdure chat import chats.jsonl --dry-run",
        """echo '{"conversation_id": "c1", "role": "user", "content": "I moved to Osaka"}' | perdure chat import -""",
    ),
    creates=True,
)
@click.argument("file", type=FilePath(dir_okay=False, allow_dash=True))
@DRY_RUN
def import_(target: Target, *, file: str, dry_run: bool) -> View:
    """Read the messages of conversations from a file.

    FILE has one JSON object per line: `conversation_id`, `role`, `content` and, if there are any, `at` or `timestamp`
    (ISO 8601, or seconds since 1970), `speaker`, `session_id` and `id`; `-` is standard input. All of it is checked
    first: one bad line, and nothing is stored. Importing the same file again, or a longer one, stores only what is new:
    a message with an id is known by it, the others by their order.
    """
    source = source_file(file)
    with target.memory(dry_run=dry_run) as memory, Bar("Importing") as bar:
        imported = memory.import_messages(source, dry_run=dry_run, progress=bar)
    total = imported.inserted + imported.present
    counts = f"{imported.inserted:,} new, {imported.present:,} known"
    words, noun = "Would import" if dry_run else "Imported", "message" if total == 1 else "messages"
    return imported_view(target, imported, f"{words} {total:,} {noun}: {counts}.")


@main.part("list", examples=("perdure chat list", "perdure chat list --json"))
def list_(target: Target) -> View:
    """List the conversations that have messages.

    In a pipe each is one line, its id.
    """
    with target.memory() as memory:
        ids = memory.conversations()
    return View(
        json=list_document("conversations", ids),
        lines=map(safe, ids),
        rows=((id,) for id in ids),
        after=() if ids else empty_answer("There is no conversation here yet."),
    )

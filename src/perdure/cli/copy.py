"""`perdure copy`."""

from __future__ import annotations

from typing import Final

from perdure.cli.command import Target, command, option
from perdure.cli.render import View
from perdure.cli.terminal import dim, err, safe

_EXAMPLES: Final = (
    "perdure copy --from memory.db --to postgresql://perdure_app@db/team",
    "perdure copy --from postgresql://perdure_app@db/team --to memory.db",
    "perdure copy --from memory.db --to postgresql://perdure_app@db/team --only alice --only bob",
)


@command("copy", examples=_EXAMPLES)
@option("--from", "source", required=True, metavar="STORE", help="The store to copy: a file, or a database.")
@option("--to", "goal", required=True, metavar="STORE", help="Where to: a file, which may be new, or a database.")
@option("--only", multiple=True, metavar="NAME", help="Copy this namespace alone. Repeat it for several.")
@option("--without-tokens", is_flag=True, help="Leave out the tokens of its servers, as for a backup.")
@option("--dry-run", is_flag=True, help="Show what would be copied, and copy nothing.")
def main(target: Target, *, source: str, goal: str, only: tuple[str, ...], without_tokens: bool, dry_run: bool) -> View:
    """Copy a whole store, with its history, into another one, and prove the copy.

    Versions, log, tombstones, checkpoints, vectors and use arrive as they are. Each namespace is there whole or not at
    all, and what is there already is not copied again: so copy while others write, stop them, copy again, and change
    the setting `store`. Tokens are copied with the whole store: those that count here count there, and what is revoked
    on one side stays revoked. In a pipe: name, new lines, new vectors, with tabs.
    """
    from perdure.services import copy_stores, copy_tokens

    def told(name: str, lines: int, vectors: int) -> None:
        if not target.json:
            err(dim(f"{safe(name)}: {lines:,} lines and {vectors:,} vectors"))

    copied = copy_stores(source, goal, only or None, told, dry_run=dry_run)
    tokens = 0 if only or without_tokens else copy_tokens(source, goal, dry_run=dry_run)
    lines = sum(each.new_lines for each in copied)
    what = "Would copy" if dry_run else "Copied and checked"
    besides = f", and {tokens:,} tokens of its servers" if tokens else ""
    return View(
        json={"copied": not dry_run, "namespaces": copied, "tokens": tokens},
        lines=[f"{what} {len(copied):,} namespaces: {lines:,} lines of their logs{besides}."],
        rows=[(each.name, each.new_lines, each.new_vectors) for each in copied],
    )

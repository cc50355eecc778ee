"""`perdure promote`."""

from __future__ import annotations

from typing import Final

import click

from perdure.cli import stored_names
from perdure.cli.command import Target, command, option
from perdure.cli.field_options import completing
from perdure.cli.record_view import remembered_view
from perdure.cli.render import Column, Table, View
from perdure.cli.terminal import dim
from perdure.model import TIERS, Record
from perdure.tiers import offered_tier

_EXAMPLES: Final = ("perdure promote", "perdure promote 7", "perdure promote 7 --tier constitutional")
_COLUMNS: Final[tuple[Column[Record], ...]] = (
    Column("#", lambda record: str(record.number), "bold cyan", number=True),
    Column("memory", lambda record: record.title or record.text, share=True),
    Column("tier", lambda record: record.tier),
    Column("offered", lambda record: offered_tier(record) or "", "green"),
    Column("confidence", lambda record: f"{record.confidence:.2f}", number=True),
    Column("judged", lambda record: str(record.validation_count), number=True),
)


@command("promote", examples=_EXAMPLES)
@click.argument("ref", required=False, shell_complete=stored_names.keys)
@option("--tier", metavar="TIER", shell_complete=completing(TIERS), help=f"Another tier: {', '.join(TIERS)}.")
@option("--limit", "-l", type=int, default=20, show_default=True, help="Maximum number of offers, without REF.")
def main(target: Target, *, ref: str | None, tier: str | None, limit: int) -> View:
    """Give a memory the tier it was offered, or another.

    REF is its number, id, content hash or key; without one, the memories with an offer are listed. In a pipe each is
    one line: number, tier, offered tier, confidence, validations, text.
    """
    if ref is None and tier is not None:
        raise click.UsageError("Say which memory should have that tier.")
    with target.memory() as memory:
        if ref is not None:
            return remembered_view(memory.promote(ref, tier))
        page = memory.offers(limit=limit)
    if not page:
        return View(json=page, after=["No memory has an offer."])
    return View(
        json=page,
        lines=[Table(_COLUMNS, page.records)],
        rows=(
            (each.number, each.tier, offered_tier(each), f"{each.confidence:.2f}", each.validation_count, each.text)
            for each in page
        ),
        after=[dim(f"accept one: {target.hint('promote', page.records[0].number)}")],
    )

"""`perdure promote`."""

from __future__ import annotations

import click

from perdure.cli.command import command, option
from perdure.cli.fields import completing
from perdure.cli.layout import clip
from perdure.cli.receipt import acknowledge
from perdure.cli.screen import dim, fancy, glyphs, notes, row, tell, width
from perdure.cli.table import Column, show_table
from perdure.cli.target import Target, with_target
from perdure.jsonable import to_jsonable
from perdure.model import TIERS, Page
from perdure.tiers import offered_tier

_EXAMPLES = ("perdure promote", "perdure promote 7", "perdure promote 7 --tier constitutional")


@command("promote", examples=_EXAMPLES)
@click.argument("ref", required=False)
@option("--tier", metavar="TIER", shell_complete=completing(TIERS), help=f"Another tier: {', '.join(TIERS)}.")
@option("--limit", "-l", type=int, default=20, show_default=True, help="So many offers at once, without REF.")
@with_target()
def main(target: Target, *, ref: str | None, tier: str | None, limit: int) -> None:
    """Give a memory the tier it was offered, or another.

    REF is its number, id, content hash or key; without one, the memories with an offer are listed. In a pipe each is
    one line: number, tier, offered tier, confidence, validations, text.
    """
    if ref is None:
        if tier is not None:
            raise click.UsageError("Say which memory should have that tier.")
        _offers(target, limit)
        return
    with target.memory() as memory:
        promoted = memory.promote(ref, tier)
    if target.json:
        target.answer(to_jsonable(promoted))
    else:
        acknowledge(promoted)
        notes(promoted.notes)


def _offers(target: Target, limit: int) -> None:
    with target.memory() as memory:
        page = memory.offers(limit=limit)
    if target.json:
        target.answer(to_jsonable(page))
    elif not page:
        tell("No memory has an offer.")
    elif fancy():
        _table(page)
        tell(dim(f"accept one: {target.hint('promote', page.records[0].number)}"))
    else:
        for one in page:
            row(one.number, one.tier, offered_tier(one), f"{one.confidence:.2f}", one.validation_count, one.text)


def _table(page: Page) -> None:
    columns = (
        Column("#", "bold cyan", number=True),
        Column("memory", share=True),
        Column("tier"),
        Column("offered", "green"),
        Column("confidence", number=True),
        Column("judged", number=True),
    )
    show_table(
        columns,
        [
            [
                str(one.number), clip(one.title or one.text, width(), glyphs().more), one.tier, offered_tier(one) or "",
                f"{one.confidence:.2f}", str(one.validation_count),
            ]
            for one in page
        ],
    )  # fmt: skip

"""How proposals are shown, by each command that lists some."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import click

from perdure.cli.terminal import dim, number_label, safe
from perdure.clock import format_time
from perdure.text.preview import one_line_preview

if TYPE_CHECKING:
    from perdure.learn.results import Proposal

_QUESTIONS: Final = {"merge": "do these two say the same?", "conflict": "which of these two is true?"}


def proposal_lines(proposals: Sequence[Proposal]) -> Iterator[str]:
    for each in proposals:
        alike = "" if each.cosine is None else dim(f"  cosine {each.cosine:.2f}")
        yield f"{number_label(each.number)}  {click.style(each.kind, bold=True)}: {_QUESTIONS[each.kind]}{alike}"
        yield from (f"  {safe(one_line_preview(record))}" for record in (each.first, each.second))
        if each.reasons:
            yield dim(f"  {safe('; '.join(each.reasons))}")
        yield ""


def proposal_rows(proposals: Sequence[Proposal]) -> Iterator[tuple[object, ...]]:
    for each in proposals:
        pair = (each.first, each.second)
        numbers, texts = (record.number for record in pair), (record.text for record in pair)
        yield each.number, each.kind, *numbers, each.cosine, format_time(each.created_at), *texts

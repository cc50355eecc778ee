"""Why a hit was found: a bar for each signal, as long as its part in the best hit, and the sum it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import click

from perdure.cli.terminal import dim, glyphs, safe, width
from perdure.cli.text_layout import cells, clip, pad
from perdure.model import Signal

_INDENT: Final = 4
_GAP: Final = "  "
_LONGEST_BAR: Final = 24
_SHORTEST_BAR: Final = 8
_LONGEST_NAME: Final = 16
_ROUNDING: Final = 1e-3
# These signals say in words which other memory they come from.
_ABOUT_OTHERS: Final = ("supersedes", "outdated", "newer", "same_place")


def score_bars(signals: Mapping[str, Signal], score: float, best: float) -> Iterator[str]:
    """The columns are as wide as they need to be; on a narrow terminal the sum goes below its bar. What all of them
    come to stands last, and `best` is what speaks for the best hit.
    """
    marks = glyphs()
    names = _column([clip(safe(name), _LONGEST_NAME, marks.more) for name in signals])
    gains = _column([f"{signal.contribution:.3f}" for signal in signals.values()], right=True)
    weights = _column([f"{signal.weight:.2f}" for signal in signals.values()], right=True)
    raws = _column([f"{signal.raw:.3f}" for signal in signals.values()], right=True)
    # `= 0.50 x 1.00  raw 12.345  rank 1`, each part below its like.
    sums = _column(
        [
            f"= {weight} x {signal.normalised:.2f}{_GAP}raw {raw}"
            + (f"{_GAP}rank {signal.rank}" if signal.rank is not None else "")
            if signal.contribution or signal.raw
            else "no match"
            for signal, weight, raw in zip(signals.values(), weights, raws, strict=True)
        ]
    )
    taken = _INDENT + len(_GAP) * 2 + sum(max(map(cells, column), default=0) for column in (names, gains))
    beside = width() - taken - len(_GAP) - max(map(cells, sums), default=0)
    below = beside < _SHORTEST_BAR
    length = min(_LONGEST_BAR, max(1, width() - taken) if below else beside)
    for name, gain, sum_, signal in zip(names, gains, sums, signals.values(), strict=True):
        share = signal.contribution / best if best > 0 else 0.0
        filled = round(length * min(max(share, 0.0), 1.0))
        bar = click.style(marks.full * filled, fg="green") + dim(marks.rest * (length - filled))
        line = f"{' ' * _INDENT}{name}{_GAP}{bar}{_GAP}{gain}"
        yield line if below else f"{line}{_GAP}{dim(sum_.rstrip())}"
        if below:
            yield " " * 2 * _INDENT + dim(clip(sum_, width() - 2 * _INDENT, marks.more))
    for signal in signals.values():
        if signal.passage:
            start, end = signal.passage
            yield " " * _INDENT + dim(clip(f"passage: characters {start:,} to {end:,} of the text", width() - _INDENT))
    for name, signal in signals.items():
        if name in _ABOUT_OTHERS:
            yield " " * _INDENT + dim(clip(signal.about, width() - _INDENT, marks.more))
    evidence = sum(signal.contribution for signal in signals.values())
    is_sum = abs(evidence - score) < _ROUNDING
    told = f"score {score:.3f}, to compare with the others of this answer"
    told = told if is_sum else f"evidence {evidence:.3f}; the score is the relevance, {score:.2f}"
    yield " " * _INDENT + dim(clip(told, width() - _INDENT))


def signals_field(signals: Mapping[str, Signal], score: float) -> str:
    """The same as plain numbers, the score first, then one signal after each comma."""
    return f"score={score:.4f}" + "".join(
        f",{name}={signal.contribution:.4f} weight={signal.weight:.4f} normalised={signal.normalised:.4f}"
        f" raw={signal.raw:.4f} rank={signal.rank or '-'}"
        + (f" passage={signal.passage[0]}-{signal.passage[1]}" if signal.passage else "")
        for name, signal in signals.items()
    )


def _column(texts: Sequence[str], *, right: bool = False) -> list[str]:
    most = max(map(cells, texts), default=0)
    return [" " * (most - cells(text)) + text if right else pad(text, most) for text in texts]

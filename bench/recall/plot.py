"""nDCG@10 of each set as a picture: what is compared, side by side, as an SVG without any tool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from bench.recall.results import SetResult
from bench.recall.systems import DEFAULT, FTS5, MEANING, SUM, WORDS

_LABEL, _PLOT, _ROW, _TOP = 330, 420, 28, 88
_STEP: Final = 0.1
_DOTS: Final = (
    (WORDS, "#f59f00"),
    (MEANING, "#7048e8"),
    (SUM, "#adb5bd"),
    (FTS5, "#495057"),
    (DEFAULT, "#0b7285"),
)


def plot(sets: Sequence[SetResult]) -> str:
    width, height = _LABEL + _PLOT + 30, _TOP + len(sets) * _ROW + 16
    size = f'width="{width}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="Arial" font-size="12">',
        f'<rect {size} fill="#fff"/>',
        '<text x="12" y="22" font-size="15" font-weight="600">nDCG@10 of each set</text>',
        *_legend(),
        *_scale(height),
        *_rows(sets),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _legend() -> Iterator[str]:
    for place, (system, colour) in enumerate(_DOTS):
        x = 18 + place * 120
        yield f'<circle cx="{x}" cy="44" r="5" fill="{colour}"/>'
        yield f'<text x="{x + 10}" y="48">{escape(system.about)}</text>'


def _scale(height: int) -> Iterator[str]:
    for tenth in range(11):
        x = _x(tenth * _STEP)
        yield f'<line x1="{x:.0f}" x2="{x:.0f}" y1="{_TOP - 12}" y2="{height - 12}" stroke="#e9ecef"/>'
        yield f'<text x="{x:.0f}" y="{_TOP - 18}" text-anchor="middle" fill="#868e96">{tenth * _STEP:.1f}</text>'


def _rows(sets: Sequence[SetResult]) -> Iterator[str]:
    for place, result in enumerate(sets):
        y = _TOP + place * _ROW + 8
        yield f'<text x="{_LABEL - 8}" y="{y + 4}" text-anchor="end">{escape(result.judging_set.about)}</text>'
        for system, colour in _DOTS:
            radius = 6 if system is DEFAULT else 4
            yield f'<circle cx="{_x(result.answers[system.name].ndcg):.1f}" cy="{y}" r="{radius}" fill="{colour}"/>'


def _x(value: float) -> float:
    return _LABEL + _PLOT * value

"""The ladder as a picture: nDCG@10 of each rung with its interval, as an SVG without any tool."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

from bench.recall.ladder import LADDER, OURS
from bench.recall.results import Results

_LABEL, _PLOT, _ROW, _TOP = 330, 400, 26, 66
_OURS, _BEFORE = "#0b7285", "#adb5bd"
_STEP: Final = 0.1


def plot(results: Results) -> str:
    low = min(answers.interval[0] for answers in results.ladder.values()) // _STEP
    high = max(answers.interval[1] for answers in results.ladder.values()) // _STEP + 1
    width, height = _LABEL + _PLOT + 70, _TOP + len(LADDER) * _ROW + 16
    size = f'width="{width}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="Arial" font-size="12">',
        f'<rect {size} fill="#fff"/>',
        '<text x="12" y="22" font-size="15" font-weight="600">LoCoMo, evidence by turn: nDCG@10, 95 %</text>',
        *_scale(int(low), int(high), height),
        *_rows(results, low * _STEP, high * _STEP),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _scale(low: int, high: int, height: int) -> Iterator[str]:
    for tenth in range(low, high + 1):
        x = _x(tenth * _STEP, low * _STEP, high * _STEP)
        yield f'<line x1="{x:.0f}" x2="{x:.0f}" y1="{_TOP - 12}" y2="{height - 12}" stroke="#e9ecef"/>'
        yield f'<text x="{x:.0f}" y="{_TOP - 18}" text-anchor="middle" fill="#868e96">{tenth * _STEP:.1f}</text>'


def _rows(results: Results, low: float, high: float) -> Iterator[str]:
    for place, rung in enumerate(LADDER):
        y = _TOP + place * _ROW + 8
        answers = results.ladder[rung.name]
        colour = _OURS if rung is OURS else _BEFORE
        x = _x(answers.ndcg, low, high)
        left, right = (_x(end, low, high) for end in answers.interval)
        about = escape(rung.about.replace("`", ""))
        yield f'<text x="{_LABEL - 8}" y="{y + 4}" text-anchor="end">{about}</text>'
        yield f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="3"/>'
        yield f'<circle cx="{x:.1f}" cy="{y}" r="5" fill="{colour}"/>'
        yield f'<text x="{right + 8:.1f}" y="{y + 4}" fill="#495057">{answers.ndcg:.3f}</text>'


def _x(value: float, low: float, high: float) -> float:
    return _LABEL + _PLOT * (value - low) / (high - low)

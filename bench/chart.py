"""One picture: hybrid recall of everyone at every size, on a logarithmic scale, as an SVG without any tool."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bench.goals import OURSELVES
from bench.report import short
from bench.run import Results

_LABEL, _PLOT, _ROW, _GAP, _TOP = 190, 520, 18, 26, 60
_OURS, _THEIRS = "#0b7285", "#adb5bd"


def chart(results: Results) -> str:
    timings = [timing.p50 for at in results.sizes for timing in at.recall.values()]
    low = math.floor(math.log10(min(timings)))
    high = math.ceil(math.log10(max(timings)))
    rows = sum(len(at.recall) for at in results.sizes)
    height = _TOP + rows * _ROW + len(results.sizes) * _GAP + 20
    width = _LABEL + _PLOT + 70
    size = f'width="{width}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="Arial" font-size="12">',
        f'<rect {size} fill="#fff"/>',
        '<text x="12" y="22" font-size="15" font-weight="600">Hybrid recall, p50, milliseconds (logarithmic)</text>',
        *_scale(low, high, height),
        *_bars(results, low, high),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _scale(low: int, high: int, height: int) -> Iterator[str]:
    for power in range(low, high + 1):
        x = _x(10.0**power, low, high)
        yield f'<line x1="{x:.0f}" x2="{x:.0f}" y1="{_TOP - 12}" y2="{height - 12}" stroke="#e9ecef"/>'
        yield f'<text x="{x:.0f}" y="{_TOP - 18}" text-anchor="middle" fill="#868e96">{10.0**power:g}</text>'


def _bars(results: Results, low: int, high: int) -> Iterator[str]:
    y = _TOP
    for at in results.sizes:
        yield f'<text x="12" y="{y + 12}" font-weight="600">{at.size:,} memories</text>'
        y += _GAP
        for name, timing in sorted(at.recall.items(), key=lambda item: item[1].p50):
            end = _x(timing.p50, low, high)
            colour = _OURS if name in OURSELVES else _THEIRS
            yield f'<text x="{_LABEL - 8}" y="{y + 10}" text-anchor="end">{name}</text>'
            yield f'<line x1="{_LABEL}" x2="{end:.1f}" y1="{y + 6}" y2="{y + 6}" stroke="{colour}"/>'
            yield f'<circle cx="{end:.1f}" cy="{y + 6}" r="5" fill="{colour}"/>'
            yield f'<text x="{end + 9:.1f}" y="{y + 10}" fill="#495057">{short(timing.p50)}</text>'
            y += _ROW


def _x(milliseconds: float, low: int, high: int) -> float:
    return _LABEL + _PLOT * (math.log10(milliseconds) - low) / (high - low)

"""Pictures as SVG, made here: how well a memory fits, when it was true and known, and what is around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import cos, pi, sin
from typing import Final

from perdure.clock import local_day
from perdure.web.markup import Markup, PageLink, element
from perdure.web.visit import Visit

_WIDTH: Final = 560
_LEFT: Final = 76
_ROW: Final = 26
# A circle of so many is full; more stand on a wider one.
_FIRST_RING: Final = 12
_INNER: Final = 70
_RING: Final = 40
_ZOOM: Final = 1.3
MOST_AROUND: Final = 150


def relevance_bar(relevance: float) -> Markup:
    width = round(60 * min(max(relevance, 0), 1), 1)
    bar = (
        element("rect", width=60, height=8, rx=4, class_="groove"),
        element("rect", width=width, height=8, rx=4, class_="fill"),
    )
    return element("svg", *bar, width=60, height=8, viewBox="0 0 60 8", aria_hidden="true", class_="bar")


@dataclass(frozen=True, slots=True)
class TimeBar:
    """A line of the two axes: from when to when; None is open."""

    title: str
    start: datetime
    end: datetime | None


def time_bars(spans: Sequence[TimeBar], now: datetime) -> Markup:
    """When it was true, and when it was known, one below the other on one axis."""
    first = min(span.start for span in spans)
    last = max((now, *(span.end for span in spans if span.end)))
    whole = max((last - first).total_seconds(), 1.0)

    def place(moment: datetime) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - 8) * (moment - first).total_seconds() / whole, 1)

    rows: list[Markup] = []
    for row, span in enumerate(spans):
        y, start, end = 4 + row * _ROW, place(span.start), place(span.end or last)
        rows += (
            element("text", span.title, x=0, y=y + 12, class_="name"),
            element("rect", x=start, y=y + 2, width=max(end - start, 3), height=12, rx=3,
                    class_="fill" if span.end is None else "fill ended"),
        )  # fmt: skip
    bottom = 4 + len(spans) * _ROW + 14
    rows += (
        element("text", local_day(first), x=_LEFT, y=bottom, class_="tick"),
        element(
            "text", "now" if last == now else local_day(last), x=_WIDTH, y=bottom, class_="tick", text_anchor="end"
        ),
    )
    told = "; ".join(f"{span.title} {local_day(span.start)} to {_until(span.end)}" for span in spans)
    return element(
        "svg", element("title", told), *rows, viewBox=f"0 0 {_WIDTH} {bottom + 6}", role="img", class_="times"
    )


def _until(end: datetime | None) -> str:
    return "now" if end is None else local_day(end)


@dataclass(frozen=True, slots=True)
class GraphNode:
    number: int
    text: str
    kind: str


def graph_around(visit: Visit, number: int, neighbours: Sequence[GraphNode]) -> Markup:
    """The memory in the middle, what it is tied to on circles around it."""
    rings, left = list[Sequence[GraphNode]](), list(neighbours[:MOST_AROUND])
    while left:
        full = _FIRST_RING * (len(rings) + 1)
        rings, left = [*rings, left[:full]], left[full:]
    centre = _INNER + _RING * len(rings)
    drawn, nodes = list[Markup](), list[Markup]()
    for ring, here in enumerate(rings):
        radius = _INNER + _RING * ring
        for place, each in enumerate(here):
            angle = 2 * pi * place / len(here) - pi / 2
            x, y = round(centre + radius * cos(angle), 1), round(centre + radius * sin(angle), 1)
            drawn.append(element("line", x1=centre, y1=centre, x2=x, y2=y, class_="edge"))
            nodes.append(_node(visit.link("memory", n=each.number), x, y, each.number, each.kind, each.text))
    middle = _node(visit.link("memory", n=number), centre, centre, number, "itself", "this memory")
    told = f"Memory #{number} and {len(neighbours)} others that it is tied to; the table says the same."
    size = 2 * centre
    return element(
        "svg", *drawn, *nodes, middle, width=round(size * _ZOOM), viewBox=f"0 0 {size} {size}", role="group",
        aria_label=told, class_="graph",
    )  # fmt: skip


def _node(link: PageLink, x: float, y: float, number: int, kind: str, text: str) -> Markup:
    return element(
        "a",
        element("circle", cx=x, cy=y, r=16, class_=f"node {kind}"),
        element("text", f"#{number}", x=x, y=y + 3, text_anchor="middle"),
        element("title", f"#{number} {kind}: {text[:200]}"),
        href=link,
    )

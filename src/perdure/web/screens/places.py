"""What several screens ask of the store."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from perdure.clock import format_local
from perdure.model import STATES, Page
from perdure.web.layout import now_link
from perdure.web.markup import Child, Markup, join, p, span
from perdure.web.visit import PAGE, BackThen, Visit, when


def page_then(visit: Visit, past: BackThen, **filters: Any) -> Page:
    """A page of a list as it was. Numbers are given in their order: what was written later is not even looked at."""
    after = visit.number("after")
    if past.known_at is None:
        return visit.memory.list(limit=PAGE, after=after, **filters)
    newest = visit.memory.log(until=past.known_at, operation="insert", limit=1)
    if not newest:
        return Page((), None)
    first = newest[0].number + 1 if after is None else after
    return visit.memory.list(limit=PAGE, after=first, known_at=past.known_at, **filters)


def oldest_of(visit: Visit) -> datetime | None:
    """When the first memory of the namespace was made: where the sliders begin."""
    page = visit.memory.list(limit=1, newest=False, states=STATES)
    return min((record.created_at for record in page), default=None)


def past_line(visit: Visit, past: BackThen) -> Child:
    told = [
        span(f"as it was {word} on {format_local(moment)} (", when(moment, visit.now), ")")
        for word, moment in (("known", past.known_at), ("true", past.as_of))
        if moment
    ]
    return p("This is not now: ", join(told, Markup(", ")), ". ", now_link(visit), class_="note") if told else None

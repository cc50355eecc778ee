from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from clocks import NOON, HandClock
from web.pages import Page, page_of
from web.stories import tell

from perdure import Memory


@pytest.fixture
def clock() -> HandClock:
    return HandClock(NOON)


@pytest.fixture
def remembered(tmp_path: Path, clock: HandClock) -> Iterator[Memory]:
    """The memory that the page shows: a file, without a model."""
    with Memory(tmp_path / "memory.db", embedder="none", clock=clock, actor="ada") as opened:
        yield opened


@pytest.fixture
def numbers(remembered: Memory, clock: HandClock) -> dict[str, int]:
    return tell(remembered, clock)


@pytest.fixture
def page(remembered: Memory, tmp_path: Path, clock: HandClock) -> Page:
    """The owner."""
    page = page_of(remembered, tmp_path, clock=clock)
    page.owner = True
    return page

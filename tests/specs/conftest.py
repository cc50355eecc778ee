from __future__ import annotations

from collections.abc import Iterator

import pytest
from clocks import HandClock

from perdure import Memory, SemanticMemoryStore
from perdure.testing.embedder import WordEmbedder


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def store(clock: HandClock) -> Iterator[SemanticMemoryStore]:
    """S0's façade, with meaning as far as words share it."""
    with SemanticMemoryStore(":memory:", embedder=WordEmbedder(), clock=clock, actor="si") as opened:
        yield opened


@pytest.fixture
def memory(clock: HandClock) -> Iterator[Memory]:
    with Memory(":memory:", embedder=WordEmbedder(), clock=clock, actor="ana") as opened:
        yield opened

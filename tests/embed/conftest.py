from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from perdure.embed.port import Embedder
from perdure.embed.registry import open_embedder
from perdure.providers.access import Access
from perdure.settings import Settings

if TYPE_CHECKING:
    from embed.wires import Open


@pytest.fixture
def opened() -> Iterator[Open]:
    """Embedders without a memory around them, closed after the test."""
    with ExitStack() as used:

        def open_it(chosen: Settings) -> Embedder:
            access = Access(redact=str, egress=chosen.egress)
            used.callback(access.close)
            return open_embedder(chosen.embedder, chosen, access)

        yield open_it

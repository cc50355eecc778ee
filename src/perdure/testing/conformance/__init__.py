"""The store's contract as tests. A backend passes when a class that inherits `StoreConformance` and opens it passes.

class TestMyStore(StoreConformance):
    def open_store(self) -> Store:
        return MyStore(...)
"""

from __future__ import annotations

from perdure.testing.conformance.checkpoints import Checkpoints
from perdure.testing.conformance.deadlines import Deadlines
from perdure.testing.conformance.erasing import Erasing
from perdure.testing.conformance.feeding import Feeding
from perdure.testing.conformance.finding import Finding
from perdure.testing.conformance.isolation import Isolation
from perdure.testing.conformance.keeping import Keeping
from perdure.testing.conformance.linking import Linking
from perdure.testing.conformance.merits import Merits
from perdure.testing.conformance.past import Past
from perdure.testing.conformance.room import Room
from perdure.testing.conformance.searching import Searching
from perdure.testing.conformance.vectors import Vectors
from perdure.testing.conformance.writing import Writing

__all__ = ["StoreConformance"]


class StoreConformance(
    Writing,
    Finding,
    Isolation,
    Searching,
    Feeding,
    Vectors,
    Linking,
    Merits,
    Past,
    Room,
    Deadlines,
    Checkpoints,
    Erasing,
    Keeping,
):
    """Everything that the port promises."""

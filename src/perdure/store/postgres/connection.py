"""One connection in pipeline mode: statements are sent at once, and waited for only where an answer is needed."""

from __future__ import annotations

import struct
import sys
import time
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, LiteralString, TypeAlias, cast

import psycopg
from psycopg import Cursor, RawCursor, generators
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
from psycopg.types.numeric import Int8BinaryDumper
from psycopg.types.string import StrBinaryDumper

from perdure.errors import StoreUnreadable
from perdure.store.postgres.address import Address

Row: TypeAlias = tuple[Any, ...]
Bindings: TypeAlias = "Mapping[str, Any] | Sequence[Any] | None"

_OLDEST_SERVER: Final = 150_000
# What the server calls these types, and how a list of them begins.
_REAL: Final = 700
_REAL_ARRAY: Final = 1021
_LENGTH_OF_REAL: Final = struct.pack(">i", 4)
_ARRAY_HEAD: Final = struct.Struct(">5i")
_DURABLE: Final = ("on", "remote_write", "remote_apply")
# The statements that may wait to be sent. Without an end a server that nobody listens to would stop listening, too.
_MOST_UNANSWERED: Final = 64


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


class _BinaryCursor(Cursor[Row]):
    """Answers come as they are stored, which spares both sides the text."""

    def __init__(self, connection: psycopg.Connection[Any], **options: Any) -> None:
        super().__init__(connection, **options)
        self.format = Format.BINARY


class _NumberedCursor(RawCursor[Row]):
    """Takes a statement as the server does: the driver reads others for their places, long ones each time anew."""

    def __init__(self, connection: psycopg.Connection[Any], **options: Any) -> None:
        super().__init__(connection, **options)
        self.format = Format.BINARY


class Session:
    """A connection with its pipeline. It keeps no state between transactions, so a pooler may stand in between."""

    def __init__(self, connection: psycopg.Connection[Row], *, durable: bool, waits: bool = False) -> None:
        """`waits`: for every answer before the next transaction begins. PgBouncer before 1.21 hands the connection to
        another client when the first answer comes, and the next transaction is lost.
        """
        self._connection = connection
        self._waits = waits
        self._manager = connection.pipeline()
        # Of the driver's own there is no public call that queues a statement and sends nothing, nor one that sends a
        # sync and waits for nothing.
        self._pipeline = cast("Any", self._manager.__enter__())
        self._exchange = self._pipeline._communicate_gen  # noqa: SLF001
        self._pipeline._communicate_gen = self._queued  # noqa: SLF001
        self.opened_at = time.monotonic()
        self.is_durable = durable

    def _queued(self) -> Iterator[Any]:
        """Instead of what the driver does after each statement, which is to send it. What is said together is sent
        together when an answer is wanted: each packet wakes the server, which takes the processor for one statement.
        """
        self._queue()
        if len(self._pipeline.result_queue) >= _MOST_UNANSWERED:
            yield from self._exchange()

    def send(self, sql: str, bindings: Bindings = None, *, prepare: bool | None = None) -> Cursor[Row]:
        return self._connection.execute(cast("LiteralString", sql), bindings, prepare=prepare)

    def send_numbered(self, sql: str, values: Sequence[Any]) -> None:
        """A statement whose places are $1, $2 and so on."""
        _NumberedCursor(self._connection).execute(cast("LiteralString", sql), values)

    def ask(self, sql: str, bindings: Bindings = None, *, prepare: bool | None = None) -> list[Row]:
        """Everything that was sent before is answered with it."""
        return self.send(sql, bindings, prepare=prepare).fetchall()

    def sync(self) -> None:
        """Wait until everything that was sent is done."""
        self._send_sync()
        self._connection.wait(self._pipeline._fetch_gen(flush=False))  # noqa: SLF001

    def end_reading(self) -> None:
        """End a transaction that changed nothing. Its answer comes with the next one's: nobody has to wait for it."""
        self.send("COMMIT", prepare=False)
        self._send_sync()
        if self._waits:
            self._connection.wait(self._pipeline._fetch_gen(flush=False))  # noqa: SLF001

    def _send_sync(self) -> None:
        self._pipeline._enqueue_sync()  # noqa: SLF001
        # The sync goes out with what is before it, in one packet; all of it, however slowly the other side reads.
        self._queue()
        self._connection.wait(generators.send(self._connection.pgconn))

    def _queue(self) -> None:
        commands = self._pipeline.command_queue
        while commands:
            commands.popleft()()

    @property
    def is_usable(self) -> bool:
        return not self._connection.closed

    def close(self) -> None:
        """Without a word to the server: whatever it was doing is rolled back."""
        self._connection.close()
        # What it still waits for does not come any more, and that is no error here.
        with suppress(psycopg.Error):
            self._manager.__exit__(None, None, None)


def connect(address: Address) -> Session:
    from perdure import __version__

    connection = psycopg.connect(
        address.conninfo,
        autocommit=True,
        prepare_threshold=5 if address.prepares else None,
        client_encoding="UTF8",
        application_name=f"perdure/{__version__}",
    )
    try:
        _require_fit(connection)
        rows = connection.execute("SHOW synchronous_commit").fetchall()
        adapters = connection.adapters
        adapters.register_loader("uuid", _BytesOfUuid)
        # One type for all numbers, and one for all texts: otherwise a statement would be prepared for each.
        adapters.register_dumper(int, Int8BinaryDumper)
        adapters.register_dumper(str, StrBinaryDumper)
        take_number_arrays(connection)
        connection.cursor_factory = cast("Any", _BinaryCursor)
        return Session(connection, durable=rows[0][0] in _DURABLE, waits=not address.prepares)
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

"""The connections of one open store, and the transactions that they serve.

No connection is opened before it is needed, none is shared, and no thread keeps them: a command and a fork want none.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from time import monotonic, sleep
from typing import Any, Final, Literal, TypeAlias
from uuid import UUID
from weakref import WeakSet

import psycopg

from perdure.errors import OutcomeUnknown, PerdureError, StoreBusy, StoreClosed, StoreRolledBack
from perdure.store.postgres.address import Address
from perdure.store.postgres.connection import Bindings, Row, Session, connect
from perdure.store.postgres.errors import OF_THE_DRIVER, error_of, is_full, lost_for_now

# A connection that is older is closed when it comes back: after a failover, and behind a balancer, others take turns.
MAX_AGE_SECONDS: Final = 1800.0
# So long a server may be away that was there before. A server that was killed takes connections again after a second
# or two, and a standby that takes over within some more.
MOST_AWAY_SECONDS: Final = 10.0
RECONNECT_PAUSE_SECONDS: Final = 0.1
# So long a server may say nothing, besides the time that it may wait for a lock; and where it may have to read all
# rows, for doctor, statistics and work.
MOST_SILENT_SECONDS: Final = 60.0
MOST_SILENT_SECONDS_OF_SCANS: Final = 600.0
# So many rows a reader keeps in mind, in case that it loses its connection.
MOST_ROWS_ASKED_AGAIN: Final = 1000
EVERYWHERE: Final = "everywhere"
SHARED: Final = "shared"
# The namespace whose rows a transaction may see, or all of them; or none, for the small tables that belong to none.
Scope: TypeAlias = "UUID | Literal['everywhere', 'shared']"
Question: TypeAlias = tuple[str, Bindings]

_BEGIN_READ: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_BEGIN_WRITE: Final = "BEGIN ISOLATION LEVEL READ COMMITTED"
_DURABLE: Final = "SET LOCAL synchronous_commit = on"
# A machine that falls asleep in the middle of a write must not lock a namespace until it wakes up.
_PATIENCE_WITH_US: Final = "SET LOCAL idle_in_transaction_session_timeout = '60s'"
_IDLE_TOO_LONG: Final = "25P03"

# Inherited through a fork, and never closed by this process: the parent uses them.
_inherited: Final[list[Session]] = []


class Transaction:
    """Begins with its first statement, so that one that asks nothing costs nothing."""

    def __init__(self, pool: PostgresPool, opening: Sequence[str], *, writes: bool, silent_seconds: float) -> None:
        """`silent_seconds`: after which a server that says nothing is taken for one that is gone."""
        self._pool = pool
        self._silent_seconds = silent_seconds
        self.schema = pool.address.schema
        self._opening = opening
        self._writes = writes
        self._session: Session | None = None
        self._ended = False
        # What was answered so far, in case that it has to be asked again. None when that cannot be done.
        self._heard: list[tuple[Sequence[Question], list[list[Row]]]] | None = []
        self._rows_heard = 0

    def send(self, sql: str, bindings: Bindings = None, *, prepare: bool | None = None) -> None:
        """The answer is not waited for; an error shows with a later statement or the commit."""
        self._heard = None
        try:
            self._begun().send(sql, bindings, prepare=prepare)
        except OF_THE_DRIVER as error:
            raise self._failed(error) from error

    def send_numbered(self, sql: str, values: Sequence[Any]) -> None:
        """The same for a statement whose places are $1, $2 and so on."""
        self._heard = None
        try:
            self._begun().send_numbered(sql, values)
        except OF_THE_DRIVER as error:
            raise self._failed(error) from error

    def ask(self, sql: str, bindings: Bindings = None, *, prepare: bool | None = None) -> list[Row]:
        (rows,) = self.ask_all([(sql, bindings)], prepare=prepare)
        return rows

    def ask_all(self, questions: Sequence[Question], *, prepare: bool | None = None) -> list[list[Row]]:
        """Several questions in one trip to the server."""
        try:
            return self._answers(questions, prepare=prepare)
        except OF_THE_DRIVER as error:
            raise self._failed(error) from error

    def ask_and_commit(self, questions: Sequence[Question]) -> list[list[Row]]:
        """The last questions, in one trip with the end of the transaction."""
        try:
            answers = self._answers(questions, prepare=None, ends=True)
        except OF_THE_DRIVER as error:
            raise self._failed(error) from error
        self._end(usable=True)
        return answers

    def _answers(self, questions: Sequence[Question], *, prepare: bool | None, ends: bool = False) -> list[list[Row]]:
        try:
            answers = self._asked_now(questions, prepare=prepare, ends=ends)
        except psycopg.OperationalError as error:
            session = self._session
            if self._heard is None or session is None or not _is_cut(error):
                raise
            # A connection that was idle may have been cut meanwhile, or a reader lost it. Nothing was changed, so
            # another one is tried. A reader sees one moment: what it has heard must be what it would hear now.
            self._pool.give_back(session, usable=False)
            self._pool.note_loss()
            self._session = None
            for earlier, heard in self._heard:
                if self._asked_now(earlier, prepare=prepare, ends=False) != heard:
                    raise
            answers = self._asked_now(questions, prepare=prepare, ends=ends)
        self._hear(questions, answers)
        return answers

    def _hear(self, questions: Sequence[Question], answers: list[list[Row]]) -> None:
        self._rows_heard += sum(map(len, answers))
        if self._writes or self._rows_heard > MOST_ROWS_ASKED_AGAIN:
            self._heard = None
        elif self._heard is not None:
            self._heard.append((questions, answers))

    def _asked_now(self, questions: Sequence[Question], *, prepare: bool | None, ends: bool) -> list[list[Row]]:
        session = self._begun()
        cursors = [session.send(sql, bindings, prepare=prepare) for sql, bindings in questions]
        if ends:
            session.send("COMMIT", prepare=False)
            session.sync()
        return [cursor.fetchall() for cursor in cursors]

    def _begun(self) -> Session:
        if self._ended:
            raise RuntimeError("the transaction has ended")
        if self._session is None:
            self._session = session = self._pool.take()
            session.silent_seconds = self._silent_seconds
            for statement in self._opening:
                session.send(statement, prepare=False)
            if self._writes and not session.is_durable:
                session.send(_DURABLE, prepare=False)
        return self._session

    def _failed(self, error: Exception) -> PerdureError:
        """Statements that the server never saw would be taken for prepared: so the connection ends with the error. With
        the connection a change is rolled back that was not to be committed yet.
        """
        session = self._session
        self._end(usable=False)
        if session is not None and isinstance(error, psycopg.OperationalError) and _is_cut(error):
            self._pool.note_loss()
            if self._writes:
                return StoreRolledBack()
        return error_of(error)

    def commit(self) -> None:
        session = self._session
        if session is None:
            self._ended = True
            return
        if not self._writes:
            # Everything that was asked is answered, so the end of the connection is nothing to the reader.
            usable = False
            with suppress(psycopg.OperationalError):
                session.end_reading()
                usable = True
            self._end(usable=usable)
            return
        try:
            session.send("COMMIT", prepare=False)
            session.sync()
        except psycopg.OperationalError as error:
            failed = self._failed(error)
            raise (OutcomeUnknown() if _is_cut(error) else failed) from error
        except OF_THE_DRIVER as error:
            raise self._failed(error) from error
        self._end(usable=True)

    def roll_back(self) -> None:
        """Whatever happens, nothing of it is kept: a connection that cannot say so is closed."""
        session = self._session
        usable = False
        if session is not None and session.is_usable:
            with suppress(*OF_THE_DRIVER):
                session.send("ROLLBACK", prepare=False)
                session.sync()
                usable = True
        self._end(usable=usable)

    def _end(self, *, usable: bool) -> None:
        session, self._session, self._ended = self._session, None, True
        if session is not None:
            self._pool.give_back(session, usable=usable)


class PostgresPool:
    """The last connection that came back is the first to go out, so that few of them stay warm. Who has to wait is
    served in order.
    """

    def __init__(self, address: Address, *, most: int, busy_seconds: float) -> None:
        self.address = address
        self._most = most
        self.busy_seconds = busy_seconds
        self._most_away = min(busy_seconds, MOST_AWAY_SECONDS)
        self._idle: list[Session] = []
        self._count = 0
        self._waiting: deque[threading.Event] = deque()
        self._gate = threading.Lock()
        self._closed = False
        self._lost_at: float | None = None
        _alive.add(self)

    @contextmanager
    def reading(self, scope: Scope, *, scans: bool = False) -> Generator[Transaction]:
        """Everything in it is seen at one moment. `scans`: one question may read a whole namespace."""
        yield from self._transaction(scope, (_BEGIN_READ,), writes=False, scans=scans)

    @contextmanager
    def writing(self, scope: Scope, patience: float | None = None, *, scans: bool = False) -> Generator[Transaction]:
        """Commits at the end. `patience`: seconds to wait for a lock that somebody else has."""
        seconds = self.busy_seconds if patience is None else patience
        # Zero is no limit to PostgreSQL.
        limit = f"SET LOCAL lock_timeout = {max(1, round(min(seconds, 86_400.0) * 1000))}"
        yield from self._transaction(
            scope, (_BEGIN_WRITE, limit, _PATIENCE_WITH_US), writes=True, waits=seconds, scans=scans
        )

    def _transaction(
        self, scope: Scope, opening: Sequence[str], *, writes: bool, waits: float = 0.0, scans: bool = False
    ) -> Generator[Transaction]:
        """`waits`: the seconds that the server may wait for a lock."""
        self._require_open()
        silent = MOST_SILENT_SECONDS_OF_SCANS if scans or scope == EVERYWHERE else MOST_SILENT_SECONDS
        transaction = Transaction(self, (*opening, *_scope(scope)), writes=writes, silent_seconds=waits + silent)
        try:
            yield transaction
        except UnicodeEncodeError as error:
            transaction.roll_back()
            raise error_of(error) from error
        except BaseException:
            transaction.roll_back()
            raise
        transaction.commit()

    def ask(self, scope: Scope, *questions: Question) -> list[list[Row]]:
        """Questions that are a transaction of their own, in one trip."""
        with self.reading(scope) as transaction:
            return transaction.ask_and_commit(questions)

    def take(self) -> Session:
        """A connection of one's own, until it is given back. Where the server takes no more of them, one that somebody
        here or elsewhere needs no longer is waited for.
        """
        deadline = monotonic() + self.busy_seconds
        while True:
            session = self._idle_one(deadline)
            if session is not None:
                return session
            try:
                return self._connected()
            except BaseException as error:
                with self._gate:
                    self._count -= 1
                    self._wake()
                if not isinstance(error, OF_THE_DRIVER):
                    raise
                if not is_full(error) or monotonic() > deadline:
                    raise error_of(error) from None
            sleep(RECONNECT_PAUSE_SECONDS)

    def _idle_one(self, deadline: float) -> Session | None:
        """None where another one may be made: it is counted already."""
        while True:
            with self._gate:
                self._require_open()
                if self._idle:
                    return self._idle.pop()
                if self._count < self._most:
                    self._count += 1
                    return None
                turn = threading.Event()
                self._waiting.append(turn)
            if not turn.wait(max(0.0, deadline - monotonic())):
                with self._gate, suppress(ValueError):
                    self._waiting.remove(turn)
                raise StoreBusy("Every connection to the database is in use.", remedy="Raise store_connections.")

    def _connected(self) -> Session:
        """A new connection. Where one was lost a moment ago, the next server may need some seconds to take over."""
        while True:
            session: Session | None = None
            try:
                session = connect(self.address)
                session.meet_server(prepares=self.address.prepares)
            except BaseException as error:
                if session is not None:
                    session.close()
                if not isinstance(error, psycopg.OperationalError):
                    raise
                if session is not None:
                    # It had let us in.
                    self._lost_at = self._lost_at or monotonic()
                lost_at = self._lost_at
                if lost_at is None or monotonic() > lost_at + self._most_away or not lost_for_now(error):
                    raise
                sleep(RECONNECT_PAUSE_SECONDS)
            else:
                self._lost_at = None
                return session

    def give_back(self, session: Session, *, usable: bool) -> None:
        kept = usable and session.is_usable and monotonic() - session.opened_at < MAX_AGE_SECONDS
        with self._gate:
            if kept and not self._closed:
                self._idle.append(session)
            else:
                self._count -= 1
                kept = False
            self._wake()
        if not kept:
            session.close()

    def _wake(self) -> None:
        if self._waiting:
            self._waiting.popleft().set()

    def note_loss(self) -> None:
        """After a connection was found cut, the others were cut as well."""
        if self._lost_at is None:
            self._lost_at = monotonic()
        self.close_idle()

    def close_idle(self) -> None:
        with self._gate:
            idle, self._idle = self._idle, []
            self._count -= len(idle)
        for session in idle:
            session.close()

    def close(self) -> None:
        with self._gate:
            self._closed = True
        self.close_idle()

    def _require_open(self) -> None:
        if self._closed:
            raise StoreClosed

    def after_fork_in_child(self) -> None:
        _inherited.extend(self._idle)
        self._idle = []
        self._count = 0
        self._waiting = deque()
        self._gate = threading.Lock()


def _is_cut(error: psycopg.Error) -> bool:
    """Whether the connection is gone, and the statement was not refused."""
    return error.sqlstate is None or error.sqlstate.startswith("57P") or error.sqlstate == _IDLE_TOO_LONG


def _scope(scope: Scope) -> tuple[str, ...]:
    if scope == SHARED:
        return ()
    if scope == EVERYWHERE:
        return ("SET LOCAL perdure.everywhere = 'on'",)
    return (f"SET LOCAL perdure.namespace = '{scope}'",)


_alive: Final[WeakSet[PostgresPool]] = WeakSet()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: [pool.after_fork_in_child() for pool in list(_alive)])

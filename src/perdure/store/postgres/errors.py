"""What the driver raises, as the errors of Perdure. No sentence quotes an address or a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import psycopg

from perdure.errors import (
    Conflict,
    InvalidInput,
    PerdureError,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreMissing,
    StoreReadOnly,
    StoreRolledBack,
    StoreUnreachable,
)
from perdure.remedies import Remedy, Run

MIGRATE: Final = Remedy("Run ", Run("migrate"), " with a role that may make tables.")
_REACH: Final = "Check that the database runs, can be reached, and knows the role, then try again."
_PROVE: Final = "Name the authority of its certificate with ?sslrootcert=, or say otherwise with ?sslmode=."
_ENCRYPT: Final = "Turn TLS on in the database, or say that it may do without: ?sslmode=prefer."
_OPTION: Final = "Write it as libpq does: disable, prefer, require, verify-ca or verify-full."
_UNPREPARED: Final = "Take ?prepare=on out of the address, or set max_prepared_statements in PgBouncer 1.21 or newer."
_GRANT: Final = Remedy("Give the role its rights with ", Run("migrate", role="NAME"), ".")


def no_store() -> StoreMissing:
    return StoreMissing("This database has no tables of Perdure.", remedy=MIGRATE)


def unreachable() -> StoreUnreachable:
    return StoreUnreachable("The database did not answer, or ended the connection.", remedy=_REACH)


_READ_ONLY: Final = "25006"
_NO_MORE_CONNECTIONS: Final = "53300"


def _pooled() -> StoreUnreachable:
    return StoreUnreachable("A pooler before the database does not know prepared statements.", remedy=_UNPREPARED)


_BY_STATE: Final[dict[str, Callable[[], PerdureError]]] = {
    "22021": lambda: InvalidInput("A text with a NUL character cannot be stored."),
    "23505": lambda: Conflict("That contradicts what is stored: a key or an id is taken."),
    "26000": _pooled,
    "42P05": _pooled,
    _READ_ONLY: lambda: StoreReadOnly("The database takes no changes.", remedy="Connect to the server that writes."),
    "40001": StoreRolledBack,
    "40P01": StoreRolledBack,
    "42501": lambda: StoreReadOnly("The role of the database may not do that.", remedy=_GRANT),
    "53100": lambda: StoreFull("The disk of the database is full, so nothing was written."),
    "53200": lambda: StoreBusy("The database has no memory left for that."),
    _NO_MORE_CONNECTIONS: lambda: StoreBusy(
        "The database takes no more connections.", remedy="Lower store_connections, or use a pooler."
    ),
    # An index of the database takes rows of up to 2,704 bytes.
    "54000": lambda: InvalidInput(
        "A tag, a spec_folder, an idempotency key, or the id of a session or conversation is too long for a database.",
        remedy="Let it have at most 2,600 bytes; nothing was changed.",
    ),
    "55P03": StoreBusy,
    "57014": lambda: StoreBusy("The database took too long."),
    "3F000": no_store,
    "42P01": no_store,
    "XX001": lambda: StoreDamaged("The database found a damaged page."),
    "XX002": lambda: StoreDamaged("The database found a damaged index."),
}
_AWAY: Final = "08"
_BY_CLASS: Final[dict[str, Callable[[], PerdureError]]] = {
    _AWAY: unreachable,
    "57": unreachable,
    "28": lambda: StoreUnreachable("The database does not let this role in.", remedy=_REACH),
    "3D": lambda: StoreUnreachable("There is no such database.", remedy=_REACH),
    "plain": lambda: StoreUnreachable("The database does not encrypt, and its address asks for that.", remedy=_ENCRYPT),
    "option": lambda: InvalidInput("The sslmode of the database's address is none that there is.", remedy=_OPTION),
    "proof": lambda: StoreUnreachable("The database did not prove who it is.", remedy=_PROVE),
}
# A connection that was never made has no state, only the sentence of the server, in English on most of them.
_BY_SENTENCE: Final = (
    ("too many c", _NO_MORE_CONNECTIONS),
    ("connection slots are reserved", _NO_MORE_CONNECTIONS),
    ("no more connections allowed", _NO_MORE_CONNECTIONS),
    ("session is read-only", _READ_ONLY),
    ("invalid sslmode", "option"),
    ("does not support SSL", "plain"),
    ("certificate", "proof"),
    ("password", "28"),
    ("pg_hba.conf", "28"),
    ('role "', "28"),
    ('database "', "3D"),
)


def error_of(error: Exception) -> PerdureError:
    if isinstance(error, UnicodeEncodeError):
        return InvalidInput("Half of a surrogate pair cannot be stored as text.")
    if isinstance(error, OverflowError):
        return InvalidInput("A value is too large to be stored.")
    state = error.sqlstate if isinstance(error, psycopg.Error) else None
    if state is not None:
        make = _BY_STATE.get(state) or _BY_CLASS.get(state[:2])
        return make() if make else StoreError(f"The database refused a statement (SQLSTATE {state}).")
    if isinstance(error, psycopg.DataError):
        return InvalidInput("A text with a NUL character, or a value that is too large, cannot be stored.")
    if isinstance(error, psycopg.OperationalError):
        found = _kind_of_sentence(error)
        return (_BY_STATE.get(found) or _BY_CLASS[found])()
    return StoreError(f"The driver of the database failed: {type(error).__name__}.")


def lost_for_now(error: psycopg.OperationalError) -> bool:
    """Whether a server that let us in before may do so again in a moment."""
    if error.sqlstate is None:
        return _kind_of_sentence(error) in _IN_A_MOMENT
    return error.sqlstate in _IN_A_MOMENT or error.sqlstate[:2] in (_AWAY, "57")


def is_full(error: Exception) -> bool:
    """Whether the server takes no more connections: somebody has to close one."""
    if not isinstance(error, psycopg.OperationalError):
        return False
    return (error.sqlstate or _kind_of_sentence(error)) == _NO_MORE_CONNECTIONS


def _kind_of_sentence(error: psycopg.OperationalError) -> str:
    """A state, or a class of states."""
    return next((number for said, number in _BY_SENTENCE if said in str(error)), _AWAY)


# Where a standby takes over, it is read-only at first, and everybody comes at once.
_IN_A_MOMENT: Final = (_AWAY, _READ_ONLY, _NO_MORE_CONNECTIONS)
# What a statement can raise.
OF_THE_DRIVER: Final = (psycopg.Error, UnicodeEncodeError, OverflowError)

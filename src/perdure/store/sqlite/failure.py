"""The driver's exceptions as our own. Nothing above the store ever sees an exception of apsw."""

from __future__ import annotations

import errno
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Final, TypeAlias

import apsw

from perdure.errors import (
    Conflict,
    InvalidInput,
    PerdureError,
    StoreBusy,
    StoreClosed,
    StoreDamaged,
    StoreError,
    StoreForeign,
    StoreFull,
    StoreReadOnly,
    StoreUnreadable,
)
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.file import Place, can_write
from perdure.store.sqlite.fork import forked

ErrorFactory: TypeAlias = Callable[[Exception, Place], PerdureError]

_NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT)

_TRANSLATIONS: Final[tuple[tuple[type[Exception], ErrorFactory], ...]] = (
    (apsw.BusyError, lambda _, __: StoreBusy()),
    (apsw.LockedError, lambda _, __: StoreBusy()),
    (apsw.FullError, lambda _, __: StoreFull()),
    (apsw.ReadOnlyError, lambda _, place: _read_only(place)),
    (apsw.CorruptError, lambda error, place: StoreDamaged(f"{place.path} is damaged: {error}.")),
    (UnicodeDecodeError, lambda error, place: StoreDamaged(f"{place.path} is damaged: {error}.")),
    (apsw.NotADBError, lambda _, place: StoreForeign(f"{place.path} is not a Perdure store, nor any database.")),
    (apsw.ConnectionClosedError, lambda _, __: StoreClosed()),
    # Only a connection that was inherited through a fork is denied anything.
    (apsw.AuthError, lambda _, __: forked()),
    (apsw.ConstraintError, lambda error, _: Conflict(f"That contradicts what is stored: {error}.")),
    (apsw.TooBigError, lambda _, __: InvalidInput("A value is too large to be stored.")),
    (OverflowError, lambda _, __: InvalidInput("A value is too large to be stored.")),
    (UnicodeEncodeError, lambda _, __: InvalidInput("Half of a surrogate pair is no text that can be stored.")),
)
_SYSTEM: Final = (apsw.CantOpenError, apsw.IOError, apsw.PermissionsError)


@contextmanager
def translating(place: Place, database: Database | None = None) -> Generator[None]:
    try:
        yield
    except (apsw.Error, UnicodeError, OverflowError) as error:
        system_error = 0
        with suppress(apsw.ConnectionClosedError):
            system_error = database.system_errno if database else 0
        raise _translated(error, place, system_error) from error


def _translated(error: Exception, place: Place, system_error: int) -> PerdureError:
    if not isinstance(error, _SYSTEM):
        matching = (make(error, place) for kind, make in _TRANSLATIONS if isinstance(error, kind))
        return next(matching, StoreError(f"SQLite refused: {error}."))
    if system_error in _NO_SPACE:
        return StoreFull()
    if system_error == errno.EROFS or _is_closed(place):
        return _read_only(place)
    if isinstance(error, apsw.CantOpenError):
        return StoreUnreadable(f"{place.path} cannot be opened: {error}.")
    return StoreError(
        f"Reading or writing {place.path} failed: {error}.",
        remedy="Check the disk, then try again; everything reported as stored is safe.",
    )


def _is_closed(place: Place) -> bool:
    return place.identity is not None and not can_write(place.directory)


def _read_only(place: Place) -> StoreReadOnly:
    if not _is_closed(place):
        return StoreReadOnly(f"{place.path} cannot be written.")
    return StoreReadOnly(
        f"{place.path} is in a directory that cannot be written, and SQLite needs its side files there.",
        remedy=f"Give yourself write permission on {place.directory}, or copy the store to another directory.",
    )

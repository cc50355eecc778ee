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
from perdure.store.sqlite.file import StoreFile, can_write
from perdure.store.sqlite.fork import forked

ErrorFactory: TypeAlias = Callable[[Exception, StoreFile], PerdureError]

_NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT)

_TRANSLATIONS: Final[tuple[tuple[type[Exception], ErrorFactory], ...]] = (
    (apsw.BusyError, lambda _, __: StoreBusy()),
    (apsw.LockedError, lambda _, __: StoreBusy()),
    (apsw.FullError, lambda _, __: StoreFull()),
    (apsw.ReadOnlyError, lambda _, file: _read_only(file)),
    (apsw.CorruptError, lambda error, file: StoreDamaged(f"{file.path} is damaged: {error}.")),
    (UnicodeDecodeError, lambda error, file: StoreDamaged(f"{file.path} is damaged: {error}.")),
    (apsw.NotADBError, lambda _, file: StoreForeign(f"{file.path} is not a Perdure store, nor any database.")),
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
def translating(file: StoreFile, database: Database | None = None) -> Generator[None]:
    try:
        yield
    except (apsw.Error, UnicodeError, OverflowError) as error:
        system_error = 0
        with suppress(apsw.ConnectionClosedError):
            system_error = database.system_errno if database else 0
        if not isinstance(error, _SYSTEM):
            matching = (make(error, file) for kind, make in _TRANSLATIONS if isinstance(error, kind))
            raise next(matching, StoreError(f"SQLite refused: {error}.")) from error
        if system_error in _NO_SPACE:
            raise StoreFull from error
        if system_error == errno.EROFS or _is_closed(file):
            raise _read_only(file) from error
        if isinstance(error, apsw.CantOpenError):
            raise StoreUnreadable(f"{file.path} cannot be opened: {error}.") from error
        raise StoreError(
            f"Reading or writing {file.path} failed: {error}.",
            remedy="Check the disk, then try again; everything reported as stored is safe.",
        ) from error


def _is_closed(file: StoreFile) -> bool:
    return file.identity is not None and not can_write(file.directory)


def _read_only(file: StoreFile) -> StoreReadOnly:
    if not _is_closed(file):
        return StoreReadOnly(f"{file.path} cannot be written.")
    return StoreReadOnly(
        f"{file.path} is in a directory that cannot be written, and SQLite needs its side files there.",
        remedy=f"Give yourself write permission on {file.directory}, or copy the store to another directory.",
    )

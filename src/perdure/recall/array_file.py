"""Arrays in one file, which any number of processes map: they share its pages, and what one of them changes, in rows
that it adds or replaces, is its own.

A file is written under another name, and gets its own when it is whole: neither a kill nor a full disk leaves half of
one. What a power failure may leave is another matter: the name may be on disk before the content. And somebody may
write into it. So a file says during which start of the machine it was written, and as of which moment it was left,
which every later write changes; where one of them is another, whoever opens it first checks all of its sums. Otherwise
only the head is checked, because reading all of a large file is what a new process has no time for. Where the start
cannot be told, the content is on disk before the name.
"""

from __future__ import annotations

import ctypes
import errno
import json
import mmap
import os
import sys
import weakref
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from perdure.buggify import point
from perdure.store.index_folder import boot_id, open_own

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perdure.store.index_folder import IndexFolder, WritingTurn

_MAGIC: Final = b"perdure index 2\n"
# As large as the largest page that a processor of today has, so that every array can be mapped by itself.
_ALIGNMENT: Final = 1 << 16
# Room behind an array that grows: address space alone, until something is written there.
_LEAST_ROOM: Final = 8192
_ROOM_SHARE: Final = 2
_AT_ONCE: Final = 8 << 20
_MAP_FIXED: Final = 0x10
_FAILED: Final = ctypes.c_void_p(-1).value
_MOST_HEAD: Final = 1 << 24
# Nanoseconds. No file system tells moments less exactly, so that this much earlier is another moment on all of them.
_GRAIN: Final = 2 * 10**9


class ArrayFileUnusable(Exception):
    """It is no such file, not whole, or not what it was when it was written."""


class WritingStopped(Exception):
    """Somebody cleared the folder while the file was written, because something was erased."""


class _Section(NamedTuple):
    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    checksum: int

    @property
    def size(self) -> int:
        return np.dtype(self.dtype).itemsize * prod(self.shape)


class ArrayFile(NamedTuple):
    """`about` is what its writer said about it. `state` tells whether it is another file by now, or another content."""

    about: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]
    state: FileState


class FileState(NamedTuple):
    """Which file it is, and of which size and moment."""

    identity: tuple[int, int]
    size: int
    moment: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileState:
        return cls((status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns)


class SelectedRows(NamedTuple):
    """Some rows of an array that is too large to be copied at once."""

    array: NDArray[Any]
    rows: NDArray[np.intp]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.rows), *self.array.shape[1:])

    @property
    def nbytes(self) -> int:
        return len(self.rows) * self.array.strides[0]

    def pieces(self) -> Iterator[NDArray[Any]]:
        step = max(1, _AT_ONCE // max(1, self.array.strides[0]))
        for start in range(0, len(self.rows), step):
            yield self.array.take(self.rows[start : start + step], axis=0)


def write_arrays(
    folder: IndexFolder,
    turn: WritingTurn,
    path: Path,
    about: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any] | SelectedRows],
) -> None:
    """Only for whoever has the turn to write. An OSError, or WritingStopped, leaves what was there."""
    folder.remove_unfinished()
    if folder.most_bytes is not None and sum(_aligned(each.nbytes) for each in arrays.values()) > folder.most_bytes:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    staged = folder.unfinished(path)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(staged, flags, 0o600)
    try:
        try:
            os.fchmod(descriptor, 0o600)
            moment = os.fstat(descriptor).st_mtime_ns // _GRAIN * _GRAIN - _GRAIN
            # The head is written last, over zeros: its size is known once all others are.
            room = len(_head(about, moment, [_Section(name, each.dtype.str, each.shape, 1 << 62, 1 << 32)
                                             for name, each in arrays.items()]))  # fmt: skip
            offset, sections = _aligned(room), list[_Section]()
            for name, array in arrays.items():
                pieces = array.pieces() if isinstance(array, SelectedRows) else [np.ascontiguousarray(array)]
                sections.append(
                    _Section(name, array.dtype.str, array.shape, offset, _write(descriptor, offset, pieces, turn))
                )
                offset += _aligned(sections[-1].size)
                point("index: section written")
            os.ftruncate(descriptor, offset)
            _finish(descriptor, _head(about, moment, sections), moment)
            if not boot_id():
                os.fsync(descriptor)
            point("index: written")
        finally:
            os.close(descriptor)
        staged.replace(path)
        point("index: switched")
    except FileNotFoundError as error:
        raise WritingStopped from error
    except BaseException:
        staged.unlink(missing_ok=True)
        raise


def open_arrays(path: Path, without_room: Collection[str]) -> ArrayFile:
    """All but some have room behind their end, for rows that come later. ArrayFileUnusable, or an OSError."""
    descriptor = open_own(path)
    try:
        head, sections = _read_head(descriptor)
        status = os.fstat(descriptor)
        if status.st_size != max((each.offset + _aligned(each.size) for each in sections), default=0):
            raise ArrayFileUnusable("its size is wrong")
        if (head["boot"], head["moment"]) != (boot_id(), status.st_mtime_ns):
            _check(descriptor, sections)
            with suppress(OSError):
                _renew(path, head, sections, status)
                status = os.fstat(descriptor)
        return ArrayFile(head["about"], _map(descriptor, sections, without_room), FileState.of(status))
    finally:
        os.close(descriptor)


def read_about(path: Path) -> Mapping[str, Any]:
    descriptor = open_own(path)
    try:
        return _read_head(descriptor)[0]["about"]
    finally:
        os.close(descriptor)


def check_arrays(path: Path) -> None:
    """Read all of it. ArrayFileUnusable, or an OSError."""
    descriptor = open_own(path)
    try:
        _check(descriptor, _read_head(descriptor)[1])
    finally:
        os.close(descriptor)


def release(array: NDArray[Any], rows: int) -> None:
    """Unmap the first rows of an array until they are looked at again. Whatever was written to them is lost."""
    size = rows * array.strides[0] // mmap.PAGESIZE * mmap.PAGESIZE
    advice = getattr(mmap, "MADV_DONTNEED", None)
    if size and advice is not None:
        _libc().madvise(array.ctypes.data, size, advice)


def release_unused() -> None:
    """Give back to the system what was freed, some megabytes after a question, which the C library keeps for later."""
    with suppress(AttributeError):  # Only the GNU library has it.
        _libc().malloc_trim(0)


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _head(about: Mapping[str, Any], moment: int, sections: Sequence[_Section]) -> bytes:
    told = {"about": about, "boot": boot_id(), "moment": moment, "byteorder": sys.byteorder, "sections": sections}
    content = json.dumps(told, separators=(",", ":")).encode("utf-8", "surrogatepass")
    return _MAGIC + len(content).to_bytes(8, "little") + zlib.crc32(content).to_bytes(8, "little") + content


def _read_head(descriptor: int) -> tuple[dict[str, Any], list[_Section]]:
    first = os.pread(descriptor, len(_MAGIC) + 16, 0)
    size, checksum = (int.from_bytes(first[at : at + 8], "little") for at in (len(_MAGIC), len(_MAGIC) + 8))
    if not first.startswith(_MAGIC) or size > _MOST_HEAD:
        raise ArrayFileUnusable("it is not an index of this version")
    content = os.pread(descriptor, size, len(first))
    if len(content) != size or zlib.crc32(content) != checksum:
        raise ArrayFileUnusable("its head is damaged")
    head: dict[str, Any] = json.loads(content)
    if head["byteorder"] != sys.byteorder:
        raise ArrayFileUnusable("it is of another kind of machine")
    sections = [_Section(name, dtype, tuple(shape), *rest) for name, dtype, shape, *rest in head["sections"]]
    return head, sections


def _finish(descriptor: int, head: bytes, moment: int) -> None:
    os.pwrite(descriptor, head, 0)
    os.utime(descriptor, ns=(os.fstat(descriptor).st_atime_ns, moment))


def _write(descriptor: int, offset: int, arrays: Iterable[NDArray[Any]], turn: WritingTurn) -> int:
    checksum = 0
    for array in arrays:
        content = memoryview(array.reshape(-1).view(np.uint8).data)
        for start in range(0, len(content), _AT_ONCE):
            # The file is in the folder by now: whoever clears it later finds it.
            if turn.is_over():
                raise WritingStopped
            piece = content[start : start + _AT_ONCE]
            checksum = zlib.crc32(piece, checksum)
            while piece:
                done = os.pwrite(descriptor, piece, offset)
                piece, offset = piece[done:], offset + done
    return checksum


def _check(descriptor: int, sections: Sequence[_Section]) -> None:
    for section in sections:
        checksum = 0
        for start in range(0, section.size, _AT_ONCE):
            piece = os.pread(descriptor, min(_AT_ONCE, section.size - start), section.offset + start)
            checksum = zlib.crc32(piece, checksum)
        if checksum != section.checksum:
            raise ArrayFileUnusable(f"{section.name} is damaged")


def _renew(path: Path, head: Mapping[str, Any], sections: Sequence[_Section], checked: os.stat_result) -> None:
    """Say that it was checked, since the machine started and as it is. A head that is torn meanwhile makes a file of no
    use.
    """
    content = _head(head["about"], head["moment"], sections)
    descriptor = open_own(path, os.O_RDWR)
    try:
        is_same = FileState.of(os.fstat(descriptor)) == FileState.of(checked)
        if is_same and len(content) <= min(each.offset for each in sections):
            _finish(descriptor, content, head["moment"])
    finally:
        os.close(descriptor)


def _map(descriptor: int, sections: Sequence[_Section], without_room: Collection[str]) -> dict[str, NDArray[Any]]:
    """All in one span of addresses: first reserved, then the arrays laid over it."""
    places: list[tuple[_Section, int, int]] = []
    total = 0
    for section in sections:
        rows = section.shape[0]
        more = max(_LEAST_ROOM, rows // _ROOM_SHARE) if section.name not in without_room else 0
        places.append((section, total, rows + more))
        total += _aligned((rows + more) * _width(section))
    private = mmap.MAP_PRIVATE
    base = _mmap(None, total, private | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0), -1, 0)
    span: Any = (ctypes.c_char * total).from_address(base)
    weakref.finalize(span, _libc().munmap, base, total)
    arrays: dict[str, NDArray[Any]] = {}
    for section, start, rows in places:
        if section.size:
            _mmap(base + start, section.size, private | _MAP_FIXED, descriptor, section.offset)
        shape = (rows, *section.shape[1:])
        arrays[section.name] = np.frombuffer(span, section.dtype, prod(shape), start).reshape(shape)
    return arrays


def _width(section: _Section) -> int:
    return np.dtype(section.dtype).itemsize * prod(section.shape[1:])


@lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    """Python's own module maps a file wherever there is room, and not behind an address."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_int64)
    libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return libc


def _mmap(address: int | None, size: int, flags: int, descriptor: int, offset: int) -> int:
    mapped = _libc().mmap(address, max(size, 1), mmap.PROT_READ | mmap.PROT_WRITE, flags, descriptor, offset)
    if mapped == _FAILED:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return mapped

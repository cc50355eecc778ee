"""A zip file, a folder or a single file, as named streams. Nothing is unpacked to disk."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final, Protocol, cast

from perdure.errors import ImportFailed, shown
from perdure.files import open_regular

ZIP_MAGIC: Final = b"PK\x03\x04"
# Text is packed to a tenth of its size; a member that claims a thousand times its own is made to fill a disk.
_MAX_PACKING: Final = 1000
_PACKING_MATTERS_FROM: Final = 64 << 20
# Takeout has three folders around its files; a project may have thousands.
_MAX_DEPTH: Final = 4


class Archive(Protocol):
    """Named streams. `path` is what a person calls the archive."""

    @property
    def path(self) -> Path: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    def size(self, name: str) -> int: ...

    def open(self, name: str) -> BinaryIO: ...


def member(archive: Archive, filename: str) -> str | None:
    """The name of the member that is called so, in whatever folder of the archive it stands; the uppermost first."""
    named = (name for name in archive.names if PurePosixPath(name).name == filename)
    return min(named, key=lambda name: (name.count("/"), name), default=None)


def single_json(archive: Archive) -> str | None:
    """The name of a JSON file that is alone: it may be called as its owner likes."""
    (name, *more) = archive.names or ("",)
    return name if name.lower().endswith(".json") and not more else None


class FolderArchive:
    """The files of a folder, or a single file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._root = path if path.is_dir() else path.parent
        files = sorted(self._files()) if path.is_dir() else [path]
        self.names = tuple(file.relative_to(self._root).as_posix() for file in files)

    def _files(self) -> Iterator[Path]:
        patterns = ("/".join("*" * depth) for depth in range(1, _MAX_DEPTH + 1))
        found = (file for pattern in patterns for file in self.path.glob(pattern))
        return (file for file in found if file.is_file() and not file.is_symlink())

    def size(self, name: str) -> int:
        return (self._root / name).stat().st_size

    def open(self, name: str) -> BinaryIO:
        return cast("BinaryIO", open_regular(self._root / name))


class ZipArchive:
    def __init__(self, path: Path, file: zipfile.ZipFile) -> None:
        self.path = path
        self._file = file
        self._infos = {info.filename: info for info in file.infolist() if not info.is_dir()}
        self.names = tuple(sorted(self._infos))

    def size(self, name: str) -> int:
        return self._infos[name].file_size

    def open(self, name: str) -> BinaryIO:
        info = self._infos[name]
        if info.file_size > max(_PACKING_MATTERS_FROM, info.compress_size * _MAX_PACKING):
            raise ImportFailed(
                f"{shown(name)} in {self.path} claims {info.file_size:,} bytes, packed into {info.compress_size:,}.",
                remedy="No export is packed like this; nothing of it was read.",
            )
        return cast("BinaryIO", self._file.open(info))


@contextmanager
def open_archive(path: Path) -> Generator[Archive]:
    """ImportFailed says what is wrong with the archive, also if that shows only while it is read."""
    try:
        if path.is_dir() or not is_zip(path):
            yield FolderArchive(path)
        else:
            with zipfile.ZipFile(path) as file:
                yield ZipArchive(path, file)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ImportFailed(f"{path} is damaged: {error}.", remedy="Download it again.") from error
    except (RuntimeError, NotImplementedError) as error:
        # The library says so of what is encrypted, and of what it cannot unpack.
        if not isinstance(error, NotImplementedError) and "encrypted" not in str(error):
            raise
        raise ImportFailed(
            f"{path} cannot be unpacked: {error}.", remedy="Unpack it yourself, and import the folder."
        ) from error
    except OSError as error:
        raise ImportFailed(f"{path} cannot be read: {error.strerror or error}.") from error


def is_zip(path: Path) -> bool:
    with open_regular(path) as stream:
        return stream.read(len(ZIP_MAGIC)) == ZIP_MAGIC

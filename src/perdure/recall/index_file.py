"""The index of one namespace as a file beside the store, which all processes map."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from perdure import __version__
from perdure.embed.port import Generation
from perdure.recall.array_file import ArrayFileUnusable, WritingStopped, open_arrays, read_about, write_arrays

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perdure.recall.array_file import SelectedRows
    from perdure.store.index_folder import IndexFolder

# To be raised whenever the same memory gives other arrays than before: a file of other rules is not used.
_FORMAT: Final = 3
_WITHOUT_ROOM: Final = (
    "vocabulary", "vectors.mean", "vectors.windows.mean", "vectors.owner",
    *(f"vectors.{windows}cells.{name}" for windows in ("", "windows.") for name in ("means", "starts", "rows")),
    "lexical.terms", "lexical.starts", "lexical.rows", "lexical.frequencies",
)  # fmt: skip


class IndexFile(NamedTuple):
    """One that is open. `about` holds what the index said of itself."""

    path: Path
    about: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]
    identity: tuple[int, int]

    @classmethod
    def open(cls, folder: IndexFolder, namespace: str, generation: Generation | None) -> IndexFile | None:
        """None where there is none that can be used."""
        path = folder.file(namespace, generation)
        try:
            file = open_arrays(path, _WITHOUT_ROOM)
        except (OSError, ArrayFileUnusable):
            return None
        if file.about.get("made") != _made(namespace, generation):
            return None
        if folder.most_bytes is not None:
            with suppress(OSError):
                # Read-only as it is for everybody else, this tells which were used last.
                os.utime(path)
        return cls(path, file.about, file.arrays, file.identity)

    @staticmethod
    def position(folder: IndexFolder, namespace: str, generation: Generation | None) -> tuple[int, int] | None:
        """Where in the log and among the vectors the file ends, if there is one."""
        try:
            about = read_about(folder.file(namespace, generation))
        except (OSError, ArrayFileUnusable):
            return None
        return (
            (about["position"][0], about["position"][1]) if about.get("made") == _made(namespace, generation) else None
        )

    @staticmethod
    def write(
        folder: IndexFolder,
        namespace: str,
        generation: Generation | None,
        about: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any] | SelectedRows],
    ) -> None:
        """Only for whoever may write in the folder. Nothing happens when the disk is full, or something is erased
        meanwhile: the next one who finds the file missing or behind writes it.
        """
        path = folder.file(namespace, generation)
        try:
            write_arrays(folder, path, {**about, "made": _made(namespace, generation)}, arrays)
            folder.prune(path)
        except (OSError, WritingStopped):
            return

    def part(self, prefix: str) -> dict[str, NDArray[Any]]:
        return {name.removeprefix(prefix): each for name, each in self.arrays.items() if name.startswith(prefix)}

    def is_replaced(self) -> bool:
        """Whether there is a newer one. While there is none at all, this one serves on."""
        try:
            status = self.path.stat()
        except OSError:
            return False
        return (status.st_dev, status.st_ino) != self.identity


def _made(namespace: str, generation: Generation | None) -> list[Any]:
    return [_FORMAT, __version__, namespace, generation.name if generation else None]

"""The index of one namespace as a file beside the store, which all processes map."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from perdure import __version__
from perdure.embed.port import Generation
from perdure.recall.array_file import (
    ArrayFileUnusable,
    FileState,
    WritingStopped,
    open_arrays,
    read_about,
    write_arrays,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perdure.recall.array_file import SelectedRows
    from perdure.store.index_folder import IndexFolder, WritingTurn

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
    state: FileState

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
        opened = cls(path, file.about, file.arrays, file.state)
        opened.note_use(folder)
        return opened

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
        turn: WritingTurn,
        namespace: str,
        generation: Generation | None,
        about: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any] | SelectedRows],
    ) -> bool:
        """Only for whoever has the turn to write; whether that was done. It is not when the disk is full, the file
        would be larger than the folder may be, or something is erased meanwhile: the next one who finds the file
        missing or behind writes it.
        """
        path = folder.file(namespace, generation)
        try:
            write_arrays(folder, turn, path, {**about, "made": _made(namespace, generation)}, arrays)
            folder.prune(path)
        except (OSError, WritingStopped):
            return False
        return True

    def part(self, prefix: str) -> dict[str, NDArray[Any]]:
        return {name.removeprefix(prefix): each for name, each in self.arrays.items() if name.startswith(prefix)}

    def is_changed(self) -> bool:
        """Whether there is a newer one, or somebody wrote into this one. While there is none at all, this serves on."""
        now = state_of(self.path)
        return now is not None and now != self.state

    def note_use(self, folder: IndexFolder) -> None:
        """For whoever removes those that were used least."""
        if folder.most_bytes is not None and not self.is_changed():
            with suppress(OSError):
                os.utime(self.path, ns=(time.time_ns(), self.state.moment))


def state_of(path: Path) -> FileState | None:
    """None where there is no file."""
    try:
        return FileState.of(path.stat())
    except OSError:
        return None


def _made(namespace: str, generation: Generation | None) -> list[Any]:
    return [_FORMAT, __version__, namespace, generation.name if generation else None]

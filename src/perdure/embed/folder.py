"""What embedders that run a model from a folder have in common. Nothing is downloaded: the folder has it all."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from hashlib import file_digest, sha256
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Final, Literal, TypeAlias

from perdure.embed.model_cache import read_cached, write_cached
from perdure.embed.port import Generation, Progress, Vectors, import_runtime
from perdure.errors import EmbedderUnavailable
from perdure.files import open_regular
from perdure.remedies import Remedy, Run

# Texts embedded between two reports of progress.
_BATCH_SIZE: Final = 64
# No model has more: a folder with more is something else, and looking through it would take for ever.
MAX_FILES: Final = 1000
MAX_BYTES: Final = 64 << 30
_DIGITS: Final = 12

# Texts, and what they are for, to vectors.
Encode: TypeAlias = Callable[[Sequence[str], Literal["query", "passage"]], Vectors]


class FolderEmbedder:
    """Runs a model in this process, by a library that is not installed with Perdure: `module` of the package `needed`.
    `load` opens the model; it is called when the first text comes.
    """

    def __init__(
        self, provider: str, model: str, cache: Path, load: Callable[[Path], Encode], module: str, needed: str
    ) -> None:
        folder = Path(model).expanduser()
        if not folder.is_absolute():
            raise EmbedderUnavailable(
                f"{provider} needs the folder of a model, and {model!r} is not one.",
                remedy=f"Download the model yourself, and write `{provider}:/the/folder/it/is/in`.",
            )
        self._provider = provider
        self._folder = folder
        self._cache = cache
        self._load = load
        self._library = (module, needed)
        self._lock = Lock()
        self._process = os.getpid()
        self._encode: Encode | None = None
        self._generation: Generation | None = None

    @property
    def generation(self) -> Generation:
        """What is in the folder belongs to it: another model in the same place makes other vectors."""
        if self._generation is None:
            if find_spec(self._library[0]) is None:
                # Said before the folder is looked through, which may be any.
                import_package(*self._library)
            files = self._files()
            stamps = [f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in files]
            if not stamps:
                raise EmbedderUnavailable(
                    f"There is no model in {self._folder}.",
                    remedy=Remedy("Put one there, then run ", Run("work"), "."),
                )
            place = f"{self._provider}:{self._folder}\n" + "\n".join(stamps)
            known = read_cached(self._cache, place)
            if known is None:
                dimensions = len(self._run(["How long?"], "passage")[0])
                digest = sha256()
                for name, _ in files:
                    with open_regular(self._folder / name) as file:
                        digest.update(f"{name}\n{file_digest(file, 'sha256').hexdigest()}\n".encode())
                known = f"{dimensions} {digest.hexdigest()[:_DIGITS]}"
                write_cached(self._cache, place, known)
            dimensions, version = known.split(" ")
            self._generation = Generation(self._provider, str(self._folder), int(dimensions), version)
        return self._generation

    def embed_query(self, text: str) -> Vectors:
        return self._run([text], "query")[0]

    def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        import numpy as np

        made: list[Vectors] = [np.empty((0, self.generation.dimensions), np.float32)]
        for start in range(0, len(texts), _BATCH_SIZE):
            made.append(self._run(texts[start : start + _BATCH_SIZE], "passage"))
            if progress:
                progress(min(start + _BATCH_SIZE, len(texts)), len(texts))
        return np.concatenate(made)

    def _run(self, texts: Sequence[str], task: Literal["query", "passage"]) -> Vectors:
        import numpy as np

        if self._process != os.getpid():
            # A forked child has neither the threads of the model nor the one that may have held the lock.
            self._process, self._lock, self._encode = os.getpid(), Lock(), None
        with self._lock:
            try:
                if self._encode is None:
                    self._encode = self._load(self._folder)
                return np.asarray(self._encode(texts, task))
            except EmbedderUnavailable:
                raise
            except Exception as error:
                raise EmbedderUnavailable(
                    f"{self._provider} could not run the model in {self._folder}: {type(error).__name__}: {error}.",
                    remedy=Remedy(
                        "Check what is in the folder; ", Run("work"), " then makes the vectors that are missing."
                    ),
                ) from error

    def _files(self) -> list[tuple[str, os.stat_result]]:
        """The regular files of the folder, in the order of their names."""
        found: list[tuple[str, os.stat_result]] = []
        seen = size = 0
        for directory, folders, names in os.walk(self._folder):
            seen += len(folders) + len(names)
            for path in map(Path(directory).joinpath, names if seen <= MAX_FILES else ()):
                if path.is_file():
                    found.append((path.relative_to(self._folder).as_posix(), path.stat()))
                    size += found[-1][1].st_size
            if seen > MAX_FILES or size > MAX_BYTES:
                raise EmbedderUnavailable(
                    f"{self._folder} is not the folder of a model: it has more than {MAX_FILES:,} files, or "
                    f"{MAX_BYTES >> 30} GiB.",
                    remedy="Name the folder that holds the model alone.",
                )
        return sorted(found)


def import_package(module: str, package: str) -> Any:
    """A library that is not installed with Perdure."""
    try:
        return import_runtime(module)
    except ImportError as error:
        raise EmbedderUnavailable(
            f"{module} cannot be imported: {error}.",
            remedy=Remedy(f"Install it with `pip install '{package}'`, then run ", Run("work"), "."),
        ) from error

"""What a store may be able to do besides the port. A store without it is a whole store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from perdure.embed.port import Generation
from perdure.errors import StoreUnable
from perdure.model import Filter, Finding
from perdure.remedies import Remedy, Run
from perdure.store.port import IndexRow, Reader

if TYPE_CHECKING:
    from perdure.auth.tokens import Tokens
    from perdure.model import Backup, BackupRestored
    from perdure.store.index_folder import IndexFolder
    from perdure.store.port import Progress, Store


class Scrubbed(NamedTuple):
    """Not `done`: somebody is in the way, and the next one who can does the rest. `left` names for people where the
    store itself cannot look, so that bytes of what was erased may still be there.
    """

    done: bool
    left: tuple[str, ...] = ()


@runtime_checkable
class Scrub(Protocol):
    """A store that keeps bytes of what was erased until it removes them."""

    def scrub(self, *, patience: float) -> Scrubbed:
        """Make sure that what was erased is in no file of the store any more, waiting at most `patience` seconds."""
        ...


@runtime_checkable
class Doctor(Protocol):
    """A store that can be examined, and rebuilt from its log."""

    def check(self) -> Iterator[Finding]:
        """Look at everything that can be wrong, one finding per check."""
        ...

    def repair(self) -> Iterator[Finding]:
        """Bring damaged memories back from the log, where it is proved by its chain, and rebuild what is derived
        (index, counters). Never touches the log, nor a memory that agrees with it.
        """
        ...


@runtime_checkable
class FileBackups(Protocol):
    """A store that can be copied into a file."""

    def backup(self, path: str, progress: Progress | None = None, *, overwrite: bool = False) -> Backup:
        """A copy of the whole store, made while others read and write, and checked before it gets its name. The note
        `backups` lists where copies are, or were begun, newest first, as JSON.
        """
        ...

    def restore_backup(
        self, path: str, *, keep: bool, erased: str | None = None, progress: Progress | None = None
    ) -> BackupRestored:
        """Become what the backup was, all or nothing. StoreBusy while anyone else has the store open. What was erased
        here since is erased again, and what another store's `-erased` file lists. With `keep`, a backup of what was
        there is made first.
        """
        ...


@runtime_checkable
class KeepsTokens(Protocol):
    """A store that several machines share, so that the tokens of their servers have to be in it."""

    def access_tokens(self) -> Tokens: ...


class VectorPage(NamedTuple):
    """Vectors by the hashes of their passages, and the position of the last."""

    vectors: dict[bytes, bytes]
    last: int


@runtime_checkable
class VectorScan(Protocol):
    """A store that reads vectors quicker in a scan of their own than beside their memories. Its `index_rows` is asked
    without vectors when a whole namespace is read.
    """

    def index_vectors(self, namespace: str, generation: Generation, after: int, limit: int) -> VectorPage:
        """The vectors of a generation whose position in the namespace is above `after`, by position. A page without a
        vector is the end.
        """
        ...


class NamespaceSize(NamedTuple):
    """How many memories a namespace has, and whether the store finds the nearest of them by meaning."""

    memories: int
    finds_nearest: bool


class Chances(NamedTuple):
    """What several windows of a memory cost: so much for each e times as many, up to `most`."""

    cost: float
    most: int


class SearchReader(Reader, Protocol):
    """A namespace at one moment, searched where it is."""

    def totals(self) -> tuple[int, int]:
        """How many memories there are, and how many words they have together."""
        ...

    def nearest(
        self, generation: Generation, question: bytes, chances: Chances, filter: Filter, now: datetime, limit: int
    ) -> list[int]:
        """The numbers of the memories nearest to a vector that a search may show, nearest first, about as exactly as
        half precision tells. The best window of a memory counts.
        """
        ...

    def not_compared(self, generation: Generation, limit: int) -> list[int]:
        """Memories whose vectors the store itself cannot compare."""
        ...

    def waiting(self, generation: Generation, hidden: Sequence[str]) -> tuple[int, int]:
        """How many memories have a vector, and how many wait for theirs, but for those of kinds that are hidden."""
        ...

    def speakers(self) -> list[tuple[int, str]]:
        """Everybody who speaks here, after the number of one memory that they say. Who has no name is ''."""
        ...

    def around(self, numbers: Sequence[int], reach: int, *, facts: bool) -> list[int]:
        """The `reach` turns before and after each of these in its session; with `facts`, also what may have been
        learned from these.
        """
        ...

    def most_observed(self) -> list[int]:
        """Of each trust, the memory that was observed most."""
        ...

    def index_rows_of(self, numbers: Sequence[int], generation: Generation) -> list[IndexRow]:
        """Rows of a recall index, by number."""
        ...

    def taken(self, generation: Generation, step: int, wide_step: int) -> list[tuple[int, bytes]]:
        """The vectors of memories at equal steps, in the order of their numbers, after the place of each in it."""
        ...


@runtime_checkable
class SearchesInside(Protocol):
    """A store that can be searched without an index of the whole namespace."""

    def size_of(self, namespace: str, generation: Generation | None) -> NamespaceSize: ...

    def searching(self, namespace: str) -> AbstractContextManager[SearchReader]: ...


@runtime_checkable
class KeepsIndexFiles(Protocol):
    """A store with a folder for the files of recall indexes; None where it has no place for one."""

    @property
    def index_folder(self) -> IndexFolder | None: ...


def scrub(store: Store, *, patience: float) -> Scrubbed:
    """Where nothing is left after an erasure, nothing has to be removed."""
    return store.scrub(patience=patience) if isinstance(store, Scrub) else Scrubbed(done=True)


def examine(store: Store, *, repair: bool = False) -> Iterator[Finding]:
    """What a store finds out about itself. A repair is done at once, and its findings come first."""
    if isinstance(store, Doctor):
        return chain(list(store.repair()) if repair else [], store.check())
    if repair:
        raise StoreUnable(f"{store.address} cannot be repaired by Perdure.", remedy="Restore a backup of it.")
    sentence = f"{store.address} has no checks of its own, so nothing was looked at."
    return iter([Finding("store", "warning", sentence, "Use the checks of the database that it is in.")])


def backups_of(store: Store) -> FileBackups:
    """StoreUnable for a store that cannot be copied into a file."""
    if isinstance(store, FileBackups):
        return store
    raise StoreUnable(
        f"{store.address} is not a file, so a backup is no copy of it.",
        remedy=Remedy(
            "Use the backups of the database, or copy it into a file: ", Run("copy", **{"from": "STORE", "to": "FILE"})
        ),
    )


def vector_scan_of(store: Store) -> VectorScan | None:
    return store if isinstance(store, VectorScan) else None


def index_folder_of(store: Store) -> IndexFolder | None:
    return store.index_folder if isinstance(store, KeepsIndexFiles) else None


def listed(left: Sequence[str]) -> str:
    """Where bytes may still be, for people."""
    return f"Bytes of it may still be in {', '.join(left)}." if left else ""

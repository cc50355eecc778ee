"""What the processes of one server have in common: how many requests a token may make, what is counted, and the tasks
that were handed out. It is in a folder of its own, and goes with the server. Everything else is in the store.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

from perdure.files import write_private
from perdure.http.metrics import RUNNING
from perdure.http.rate_limit import RateLimit, SharedRateLimit
from perdure.http.streams import STREAM
from perdure.http.tallies import SharedTallies, Tallies


class SharedState:
    """`place` is the number of this process among those of the server."""

    def __init__(self, folder: Path, place: int) -> None:
        self._folder = folder
        self._place = place

    @cached_property
    def tallies(self) -> Tallies:
        return SharedTallies(self._folder, self._place, (RUNNING, STREAM))

    def tasks(self, token: str) -> MutableMapping[str, str]:
        return _Tasks(self._folder / f"tasks-{blake2b(token.encode(), digest_size=16).hexdigest()}")

    def rate_limit(self, rate: float, burst: int) -> RateLimit:
        return SharedRateLimit(rate, burst, self._folder / "limits")


class _Tasks(MutableMapping[str, str]):
    """One file for each task, the oldest first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _path(self, handle: str) -> Path:
        return self._folder / blake2b(handle.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def __getitem__(self, handle: str) -> str:
        try:
            return self._path(handle).read_text(encoding="utf-8").partition("\n")[2]
        except FileNotFoundError:
            raise KeyError(handle) from None

    def __setitem__(self, handle: str, token: str) -> None:
        write_private(self._path(handle), f"{handle}\n{token}".encode())

    def __delitem__(self, handle: str) -> None:
        try:
            self._path(handle).unlink()
        except FileNotFoundError:
            raise KeyError(handle) from None

    def __iter__(self) -> Iterator[str]:
        files = sorted(self._files(), key=lambda path: path.stat().st_mtime_ns)
        return iter([path.read_text(encoding="utf-8").partition("\n")[0] for path in files])

    def __len__(self) -> int:
        return len(self._files())

    def _files(self) -> list[Path]:
        return list(self._folder.iterdir()) if self._folder.is_dir() else []

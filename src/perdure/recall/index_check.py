"""`perdure doctor` about the index files beside a store: whether each is whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from perdure.model import Finding
from perdure.store.capabilities import index_folder_of

if TYPE_CHECKING:
    from perdure.store.port import Store

_REMEDY: Final = "`perdure doctor --repair` removes it. The next process that asks something makes it anew."


def check_index_files(store: Store, *, repair: bool) -> Iterator[Finding]:
    """Read all of every file. A damaged one is removed by a repair: whatever it holds is in the store."""
    folder = index_folder_of(store)
    paths = [] if folder is None else folder.index_files()
    if not paths:
        yield Finding("index_files", "ok", "There is no index file; questions are answered from the store.")
        return
    from perdure.recall.array_file import ArrayFileUnusable, check_arrays

    whole, size = 0, 0
    for path in paths:
        try:
            check_arrays(path)
            size += path.stat().st_size
            whole += 1
        except FileNotFoundError:
            continue
        except (ArrayFileUnusable, OSError) as error:
            if repair:
                path.unlink(missing_ok=True)
                yield Finding("index_files", "ok", f"Removed {path}, which could not be used: {error}.")
            else:
                yield Finding("index_files", "problem", f"{path} cannot be used: {error}.", _REMEDY)
    if whole:
        files = "1 index file is" if whole == 1 else f"{whole} index files are"
        yield Finding("index_files", "ok", f"{files} whole, {size / 1e6:,.1f} MB.")

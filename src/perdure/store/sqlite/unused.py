"""A store that was made for a memory which was then refused: nothing is in it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from perdure.store.index_folder import IndexFolder
from perdure.store.sqlite.file import StoreFile, file_identity
from perdure.store.sqlite.pool import Pool
from perdure.store.sqlite.sidecar import SIDECAR_SQL
from perdure.store.sqlite.sql import SQL

# Beside a store whose file is of use to somebody, though no memory is in it.
_OF_USE: Final = ("-erased", "-tokens", "-local-token", "-spool")
# As apsw takes it.
_BY_FORCE: Final = True
_MADE_WITH_IT: Final = ("-head", "-reserve", "-journal")


def remove_if_unused(pool: Pool, file: StoreFile) -> bool:
    """StoreBusy when somebody else has it open."""
    if file.identity is None or any(file_identity(file.path + end) for end in _OF_USE):
        return False
    with pool.alone() as connection:
        kept = (SQL["namespace_names"], SIDECAR_SQL["all_calls"])
        if any(connection.execute(statement).fetchall() for statement in kept):
            return False
        IndexFolder(Path(file.path + "-index")).remove()
        # The file itself last: from then on others may make a store here, and files beside it are theirs.
        for end in (*_MADE_WITH_IT, ""):
            Path(file.path + end).unlink(missing_ok=True)
        # Before it goes back to a write-ahead log, which would stand beside a store of somebody else.
        connection.close(_BY_FORCE)
    return True

"""Where copies of the whole store are, as far as it knows: an erasure does not reach them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, cast

from perdure.store.port import Store

NOTE: Final = "backups"


def known(store: Store) -> tuple[str, ...]:
    """Those that are still there, newest first. `restore-backup` erases in them again what was erased since."""
    try:
        listed: object = json.loads(store.note(NOTE) or "[]")
    except ValueError:
        return ()
    paths = cast("list[object]", listed) if isinstance(listed, list) else []
    return tuple(path for path in paths if isinstance(path, str) and _is_there(path))


def _is_there(path: str) -> bool:
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False

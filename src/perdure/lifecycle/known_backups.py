"""Where copies of the whole store are, as far as it knows: an erasure does not reach them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, cast

from perdure.store.port import Store

NOTE: Final = "backups"
_BEGUN: Final = ".partial-"


def known(store: Store) -> tuple[str, ...]:
    """Those that are there, are being made or cannot be looked at, newest first."""
    try:
        listed: object = json.loads(store.note(NOTE) or "[]")
    except ValueError:
        return ()
    paths = cast("list[object]", listed) if isinstance(listed, list) else []
    return tuple(path for path in paths if isinstance(path, str) and (_is_begun(path) or _is_there(path)))


def _is_begun(path: str) -> bool:
    """Asked first: a copy that is finished meanwhile is there afterwards."""
    begun = f"{Path(path).name}{_BEGUN}"
    try:
        return any(entry.name.startswith(begun) for entry in Path(path).parent.iterdir())
    except (OSError, ValueError):
        return False


def _is_there(path: str) -> bool:
    try:
        return Path(path).is_file()
    except ValueError:
        return False
    except OSError:
        return True

"""Where copies of the whole store are, as far as it knows: an erasure does not reach them."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

from perdure.store.port import Store

NOTE: Final = "backups"
_PARTIAL: Final = ".partial-"


def known(store: Store) -> tuple[str, ...]:
    """The copies that exist, are being made or cannot be looked at, newest first."""
    try:
        parsed: object = json.loads(store.note(NOTE) or "[]")
    except ValueError:
        return ()
    paths = cast("list[object]", parsed) if isinstance(parsed, list) else []
    return tuple(path for path in paths if isinstance(path, str) and _exists(path))


def _exists(path: str) -> bool:
    partial = f"{Path(path).name}{_PARTIAL}"
    # A copy in the making is asked for first: if it is finished meanwhile, the copy itself exists afterwards.
    with suppress(OSError, ValueError):
        if any(entry.name.startswith(partial) for entry in Path(path).parent.iterdir()):
            return True
    try:
        return Path(path).is_file()
    except ValueError:
        return False
    except OSError:
        return True

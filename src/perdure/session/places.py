"""Where the marks are kept about the sessions of projects."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

# Which session went on with one that was cleared.
CONTINUED: Final = "continued"


def session_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Where what is known about sessions is kept: `sessions` in the user's data directory."""
    from perdure.files import directory

    return directory("data", os.environ if environ is None else environ) / "sessions"

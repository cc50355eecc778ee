"""Which project an agent or a person works in. Every start asks that, so that nothing else is imported for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

_PROJECT: Final = ("PERDURE_PROJECT", "CLAUDE_PROJECT_DIR")


def project_directory(environ: Mapping[str, str]) -> Path | None:
    """The directory of the project that a host or a person works in: what the host says, else the repository around the
    working directory, else that itself.
    """
    named = (Path(environ[name]) for name in _PROJECT if environ.get(name))
    told = next((path for path in named if path.is_absolute() and path.is_dir()), None)
    if told is not None:
        return told
    try:
        here = Path.cwd()
    except OSError:
        return None
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)

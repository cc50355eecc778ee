"""The command that adds an extra to Perdure, in the words of the tool that installed it."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

# One package of each extra, which nothing else brings.
_MARKS: Final = {"local": "onnxruntime", "postgres": "psycopg", "server": "fastapi"}
# What these tools write into an environment of their own. There, `pip install` would reach another Python.
_TOOLS: Final = {"uv-receipt.toml": "uv tool install", "pipx_metadata.json": "pipx install --force"}


def install_command(extra: str) -> str:
    """Of uv and pipx it names the extras that are there, too: they install anew what they are told and nothing else."""
    for file, tool in _TOOLS.items():
        if (Path(sys.prefix) / file).is_file():
            present = {name for name, package in _MARKS.items() if find_spec(package) is not None}
            return f"{tool} 'perdure[{','.join(sorted(present | {extra}))}]'"
    return f"pip install 'perdure[{extra}]'"

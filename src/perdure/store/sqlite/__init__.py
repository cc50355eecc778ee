"""The store in one SQLite file."""

from __future__ import annotations

try:
    import fcntl as fcntl
except ImportError as error:
    from perdure.errors import StoreUnreadable

    raise StoreUnreadable(
        "Perdure runs on Linux and macOS; this system has no file locks that it knows.",
        remedy="On Windows, use it inside the Windows Subsystem for Linux (WSL).",
    ) from error

"""Where the figures were taken, without saying whose machine it was."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def description(directory: Path) -> dict[str, str]:
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "file system": _file_system(directory),
        "python": platform.python_version(),
        "load before": _load(),
        "revision": _revision(),
    }


def versions(packages: Iterable[str]) -> dict[str, str]:
    return {name: _version(name) for name in dict.fromkeys(packages)}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "from this checkout"


def _processor() -> str:
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def _memory() -> str:
    try:
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return "unknown"
    return f"{size / (1 << 30):.0f} GiB"


def _load() -> str:
    """How busy it was with other things."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def _revision() -> str:
    command = ("git", "describe", "--always", "--dirty", "--exclude=*")
    try:
        found = subprocess.run(  # noqa: S603
            command, cwd=Path(__file__).parent, capture_output=True, check=True, text=True, encoding="utf-8"
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip()


def _file_system(directory: Path) -> str:
    """The type of the mount that holds the directory: the one with the longest matching path."""
    place = directory.resolve()
    mounts = [line.split()[1:3] for line in _lines("/proc/mounts")]
    holding = [(len(mount), kind) for mount, kind in mounts if place.is_relative_to(mount)]
    return max(holding)[1] if holding else "unknown"


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []

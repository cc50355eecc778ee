"""Checks of what a store stands on: the engine, the file system, the permissions, the log beside the file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import apsw

from perdure.model import Finding
from perdure.store.sqlite.connection import WAL_LIMIT
from perdure.store.sqlite.file import Place, size_of
from perdure.store.sqlite.filesystem import is_local
from perdure.store.sqlite.sqlite_version import engine_is_safe, version_number

_MEBIBYTE: Final = 1024 * 1024


def check_environment(place: Place, engine: str, last_engine: str, journal: str) -> Iterator[Finding]:
    """`last_engine` is the version of SQLite that wrote the store last."""
    yield check_engine(engine, last_engine)
    yield check_file_system(place.file_system, journal)
    if place.identity is not None:
        yield check_permissions(place.path)
        yield check_log(size_of(place.log))


def running_engine() -> str:
    return apsw.sqlite_lib_version()


def check_engine(version: str, last_engine: str) -> Finding:
    if engine_is_safe(version_number(version)):
        if engine_is_safe(version_number(last_engine)):
            return Finding("engine", "ok", f"SQLite {version} writes ahead safely.")
        return Finding(
            "engine",
            "warning",
            f"Another program wrote to the store with SQLite {last_engine}, which can damage what others write ahead.",
            "Upgrade apsw to 3.51.3 or newer in every program that uses the store.",
        )
    return Finding(
        "engine",
        "warning",
        f"SQLite {version} can damage a file that several processes write ahead to, so a rollback journal is used.",
        "Upgrade apsw to 3.51.3 or newer.",
    )


def check_file_system(file_system: str, journal: str) -> Finding:
    if is_local(file_system):
        return Finding("file_system", "ok", f"The store is on {file_system}, its journal is {journal}.")
    level = "problem" if journal == "wal" else "warning"
    return Finding(
        "file_system",
        level,
        f"The store is on {file_system}, which may be shared between machines; its journal is {journal}.",
        "Keep the store on a local disk: it is faster there, and locks can be trusted.",
    )


def check_permissions(path: str) -> Finding:
    others = stat.S_IRWXG | stat.S_IRWXO
    sides = ("", "-wal", "-shm", "-head", "-erased")
    files = [each for each in (path + side for side in sides) if Path(each).exists()]
    loose = [each for each in files if stat.S_IMODE(os.lstat(each).st_mode) & others]
    if not loose:
        return Finding("permissions", "ok", "Only you can read the store.")
    names = " ".join(loose)
    return Finding("permissions", "warning", f"Others may read {names}.", f"Run: chmod 600 {names}")


def check_log(size: int) -> Finding:
    mebibytes = size / _MEBIBYTE
    if size <= WAL_LIMIT:
        return Finding("log", "ok", f"The write-ahead log has {mebibytes:.1f} MiB.")
    return Finding(
        "log",
        "warning",
        f"The write-ahead log has grown to {mebibytes:.0f} MiB.",
        "Some process keeps a read open; end it, or close all Perdure processes once.",
    )

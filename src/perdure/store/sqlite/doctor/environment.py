"""Checks of a store's environment: SQLite's version, the file system, the permissions, the write-ahead log."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import apsw

from perdure.files import directory
from perdure.model import Finding
from perdure.store.sqlite.connection import WAL_LIMIT, engine_is_safe, version_number
from perdure.store.sqlite.file import StoreFile, size_of
from perdure.store.sqlite.filesystem import is_local

_MEBIBYTE: Final = 1024 * 1024


def running_engine() -> str:
    return apsw.sqlite_lib_version()


def check_environment(file: StoreFile, last_engine: str, journal: str) -> Iterator[Finding]:
    """`last_engine` is the version of SQLite that wrote the store last."""
    yield check_engine(running_engine(), last_engine)
    yield check_file_system(file.file_system, journal)
    if file.identity is not None:
        yield check_permissions(file.path)
        yield check_wal(size_of(file.wal_path))


def check_engine(version: str, last_engine: str) -> Finding:
    if not engine_is_safe(version_number(version)):
        sentence = (
            f"SQLite {version} can damage a write-ahead log that several processes use; a rollback journal is used."
        )
        return Finding("engine", "warning", sentence, "Upgrade apsw to 3.51.3 or newer.")
    if not engine_is_safe(version_number(last_engine)):
        sentence = (
            f"Another program wrote to the store with SQLite {last_engine}, which can damage the write-ahead log."
        )
        remedy = "Upgrade apsw to 3.51.3 or newer in every program that uses the store."
        return Finding("engine", "warning", sentence, remedy)
    return Finding("engine", "ok", f"SQLite {version} is safe for several processes.")


def check_file_system(file_system: str, journal: str) -> Finding:
    if is_local(file_system):
        return Finding("file_system", "ok", f"The store is on a local disk ({file_system}, journal mode {journal}).")
    level = "problem" if journal == "wal" else "warning"
    sentence = f"The store is on {file_system}, which several machines may share; its journal mode is {journal}."
    return Finding("file_system", level, sentence, "Keep the store on a local disk: it is faster and its locks work.")


def check_permissions(path: str) -> Finding:
    others = stat.S_IRWXG | stat.S_IRWXO
    files = [path + side for side in ("", "-wal", "-shm", "-head", "-erased") if Path(path + side).exists()]
    loose = " ".join(file for file in files if stat.S_IMODE(os.lstat(file).st_mode) & others)
    if loose:
        return Finding("permissions", "warning", f"Other users may read {loose}.", f"Run: chmod 600 {loose}")
    data = directory("data", os.environ)
    for folder in dict.fromkeys((Path(path).parent, data)):
        if may := open_to_others(folder, is_ours=folder == data):
            return Finding("permissions", "warning", f"Other users may {may} {folder}.", f"Run: chmod 700 {folder}")
    return Finding("permissions", "ok", "Only you can read the store.")


def open_to_others(folder: Path, *, is_ours: bool) -> str:
    """What others may do with a folder that they should not. One that a person chose, others may look into: its files
    are closed to them.
    """
    try:
        mode = folder.stat().st_mode
    except OSError:
        return ""
    if mode & (stat.S_IWGRP | stat.S_IWOTH) and not mode & stat.S_ISVTX:
        return "put files into"
    return "look into" if is_ours and mode & (stat.S_IRWXG | stat.S_IRWXO) else ""


def check_wal(size: int) -> Finding:
    if size <= WAL_LIMIT:
        return Finding("log", "ok", f"The write-ahead log has {size / _MEBIBYTE:.1f} MiB.")
    sentence = f"The write-ahead log has grown to {size / _MEBIBYTE:.0f} MiB."
    remedy = "A process keeps a read transaction open; end it, or close all Perdure processes once."
    return Finding("log", "warning", sentence, remedy)

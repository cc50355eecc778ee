"""Vectors of the questions that sessions asked, each with the cosines of the learnings: the project is often still what
it was, and then no model is loaded and no vector read.

Each is a small file in the user's data directory, named by a hash, so that it says nothing of the question.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final
from zlib import crc32

from perdure.files import private_folder, write_private
from perdure.marks import mark_name
from perdure.session.places import session_folder

_FOLDER: Final = "asked"
# With ten thousand learnings each takes 120 kB.
_MOST: Final = 50
_CHECKSUM_BYTES: Final = 4


class AskedBefore:
    """A file ends with the checksum of what is before it: half of a file is none."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._folder = session_folder(environ) / _FOLDER

    def get(self, generation: str, question: str) -> bytes | None:
        try:
            content = self._path(generation, question).read_bytes()
        except OSError:
            return None
        known, checksum = content[:-_CHECKSUM_BYTES], content[-_CHECKSUM_BYTES:]
        return known if checksum == crc32(known).to_bytes(_CHECKSUM_BYTES) else None

    def put(self, generation: str, question: str, content: bytes) -> None:
        with suppress(OSError):
            private_folder(self._folder)
            files = sorted(os.scandir(self._folder), key=lambda file: file.stat().st_mtime_ns, reverse=True)
            for old in files[_MOST - 1 :]:
                Path(old.path).unlink(missing_ok=True)
            checksum = crc32(content).to_bytes(_CHECKSUM_BYTES)
            write_private(self._path(generation, question), content + checksum)

    def _path(self, generation: str, question: str) -> Path:
        return self._folder / mark_name(f"{generation}\n{question}")

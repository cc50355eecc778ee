"""Files of text that are read and written whole."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO, cast

from perdure.errors import ExportFailed, ImportFailed, shown
from perdure.files import open_regular
from perdure.validation import refuse_address


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Generator[TextIO]:
    """A file that takes the place of `path` when all of it is on disk; on any failure `path` stays as it was."""
    refuse_address(path, "The path")
    try:
        target = Path(path)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=target.parent, prefix=f".{target.name}.", delete=False
        ) as stream:
            try:
                yield cast("TextIO", stream)
                stream.flush()
                os.fsync(stream.fileno())
                Path(stream.name).replace(target)
            except BaseException:
                Path(stream.name).unlink()
                raise
        # The new name is on disk only when its directory is.
        directory = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    except (OSError, ValueError, TypeError) as error:
        # The system names the file that stands in for this one until it is whole.
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise ExportFailed(f"{shown(path)} cannot be written: {reason}.") from error


@contextmanager
def rereadable(source: str | os.PathLike[str] | TextIO) -> Generator[TextIO]:
    """The source as a file that can be read twice: once to check everything, once to store it."""
    refuse_address(source, "The path")
    with ExitStack() as stack:
        try:
            if isinstance(source, str | os.PathLike):
                stream = stack.enter_context(TextIOWrapper(open_regular(source), encoding="utf-8-sig"))
            else:
                spool = stack.enter_context(tempfile.SpooledTemporaryFile(1 << 24, "w+", encoding="utf-8"))
                shutil.copyfileobj(source, spool)
                spool.seek(0)
                stream = cast("TextIO", spool)
        except (OSError, ValueError, TypeError) as error:
            raise ImportFailed(
                f"{shown(source)} cannot be read as text: {error}.", remedy="Check the path, and that it is UTF-8."
            ) from error
        yield stream

"""How the command line says that something went wrong: a sentence, what to do about it, an exit code.

With `--json` stdout holds one document or nothing, and a failure is one document on stderr.
"""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress

import click

from perdure.cli.exits import FAILED, INTERRUPTED, READER_GONE
from perdure.cli.screen import safe, tell
from perdure.errors import NeedsConfirmation, PerdureError

_TRACEBACK = "PERDURE_TRACEBACK"


def report(error: BaseException, *, as_json: bool) -> int:
    """Say what happened, once, and answer the exit code."""
    try:
        return _report(error, as_json=as_json)
    except BrokenPipeError:
        return reader_gone()


def _report(error: BaseException, *, as_json: bool) -> int:
    if isinstance(error, BrokenPipeError):
        return reader_gone()
    if isinstance(error, KeyboardInterrupt | click.Abort):
        _tell(_shape("interrupted", "Interrupted.", "What was acknowledged is stored."), as_json=as_json)
        return INTERRUPTED
    if os.environ.get(_TRACEBACK) and not isinstance(error, click.ClickException):
        traceback.print_exception(error)
    shape, code = _described(error)
    _tell(shape, as_json=as_json)
    return code


def _described(error: BaseException) -> tuple[dict[str, object], int]:
    if isinstance(error, NeedsConfirmation) and error.preview is not None:
        from perdure.jsonable import to_jsonable

        return {**error.as_dict(), "preview": to_jsonable(error.preview)}, error.exit_code
    if isinstance(error, PerdureError):
        return error.as_dict(), error.exit_code
    if isinstance(error, click.UsageError):
        path = error.ctx.command_path if error.ctx is not None else "perdure"
        return _shape("usage", error.format_message(), f"`{path} --help` shows how it is used."), error.exit_code
    if isinstance(error, click.ClickException):
        return _shape("usage", error.format_message(), "`perdure --help` shows how it is used."), error.exit_code
    if isinstance(error, OSError) and error.strerror:
        place = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
        return _shape("file", f"{place}{error.strerror}.", "Check the disk, the path and its permissions."), FAILED
    return (
        _shape(
            "unexpected",
            f"Something unexpected happened in Perdure: {type(error).__name__}: {error}",
            f"Run it again with {_TRACEBACK}=1 to see where, and report it. What was stored before is safe.",
        ),
        FAILED,
    )


def _shape(code: str, sentence: str, remedy: str) -> dict[str, object]:
    return {"code": code, "error": sentence, "remedy": remedy, "retryable": False}


def _tell(shape: dict[str, object], *, as_json: bool) -> None:
    if as_json:
        from perdure.cli.document import document

        tell(document(shape))
        return
    tell(f"{click.style('error:', fg='red', bold=True)} {safe(str(shape['error']))}")
    for line in safe(str(shape["remedy"])).splitlines():
        tell(f"  {line}")


def reader_gone() -> int:
    # The interpreter flushes stdout once more when it ends, and would complain.
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return READER_GONE

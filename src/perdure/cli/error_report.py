"""How the command line says that something went wrong: a sentence, what to do about it, an exit code.

With `--json` stdout holds one document or nothing, and a failure is one document on stderr.
"""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress

import click

from perdure.cli.exit_codes import FAILED, INTERRUPTED, READER_GONE
from perdure.cli.terminal import err, safe
from perdure.errors import NeedsConfirmation, PerdureError

_TRACEBACK = "PERDURE_TRACEBACK"


def report(error: BaseException, *, as_json: bool) -> int:
    """Say what happened, once, and return the exit code."""
    try:
        if isinstance(error, BrokenPipeError):
            return broken_pipe()
        if os.environ.get(_TRACEBACK) and not isinstance(error, click.ClickException | click.Abort | KeyboardInterrupt):
            traceback.print_exception(error)
        document, code = _describe(error)
        if as_json:
            from perdure.cli.render import json_document

            err(json_document(document))
            return code
        err(f"{click.style('error:', fg='red', bold=True)} {safe(str(document['error']))}")
        for line in safe(str(document["remedy"])).splitlines():
            err(f"  {line}")
    except BrokenPipeError:
        return broken_pipe()
    return code


def _describe(error: BaseException) -> tuple[dict[str, object], int]:
    """The document of a failure, as `PerdureError.as_dict` makes it, and its exit code. A note on the error, such as
    how far an import came, is part of the remedy.
    """
    # Click raises an Abort of its own for a KeyboardInterrupt.
    notes = getattr(error.__cause__ if isinstance(error, click.Abort) else error, "__notes__", [])
    if isinstance(error, PerdureError):
        preview = error.preview if isinstance(error, NeedsConfirmation) else None
        document = {**error.as_dict("cli"), "remedy": "\n".join((error.cli_remedy, *notes))}
        return {**document, **({} if preview is None else {"preview": preview})}, error.exit_code
    code, exit_code = "unexpected", FAILED
    sentence = f"Something unexpected happened in Perdure: {type(error).__name__}: {error}"
    remedy = f"Run it again with {_TRACEBACK}=1 to see where, and report it. What was stored before is safe."
    if isinstance(error, KeyboardInterrupt | click.Abort):
        code, exit_code = "interrupted", INTERRUPTED
        sentence, remedy = "Interrupted.", "" if notes else "Everything reported as stored is saved."
    elif isinstance(error, click.ClickException):
        from perdure.cli.wrong_use import remedy_of_wrong_use, sentence_of_wrong_use

        code, exit_code, sentence = "usage", error.exit_code, sentence_of_wrong_use(error)
        remedy = remedy_of_wrong_use(error)
    elif isinstance(error, OSError) and error.strerror:
        path = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
        code, sentence = "file", f"{path}{error.strerror}."
        remedy = "Check the disk, the path and its permissions."
    remedy = "\n".join((*([remedy] if remedy else []), *notes))
    return {"code": code, "error": sentence, "remedy": remedy, "retryable": False}, exit_code


def broken_pipe() -> int:
    # The interpreter flushes stdout once more when it ends, and would complain.
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return READER_GONE

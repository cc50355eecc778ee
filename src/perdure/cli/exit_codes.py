"""Every exit code of `perdure`, in one place: the help, the reference page and the tests read this table."""

from __future__ import annotations

from typing import Final

OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2
NOT_FOUND: Final = 3
CONFLICT: Final = 4
STORE: Final = 5
BUSY: Final = 6
PROBLEM_FOUND: Final = 7
NO_ANSWER: Final = 8
INTERRUPTED: Final = 130
READER_GONE: Final = 141

EXIT_CODES: Final = {
    OK: "done; an empty answer is an answer",
    FAILED: "something unexpected went wrong",
    USAGE: "a bad option, value, file or setting; nothing was changed",
    NOT_FOUND: "no memory goes by that reference, or more than one does",
    CONFLICT: "the memory or file is not in a state that allows this",
    STORE: "the store cannot be opened, read or written",
    BUSY: "another process held the store for too long; try again",
    PROBLEM_FOUND: "`doctor` found a problem",
    NO_ANSWER: "a model or its server does not answer, or may not be asked",
    INTERRUPTED: "interrupted with Ctrl-C",
    READER_GONE: "the reader of the output went away, as in `perdure list | head -1`",
}
